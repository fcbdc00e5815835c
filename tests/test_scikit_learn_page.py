"""The page for scikit-learn's users: all its Python runs, in order, as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "scikit_learn.md"


def test_the_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), scope)
    assert len(blocks) == 6
    said = capsys.readouterr().out.splitlines()
    assert float(said[0]) > 0.8
    theirs, ours = map(float, said[1].split())
    assert ours > theirs
