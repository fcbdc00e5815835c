"""The page on formats: its Python runs unchanged, and its table names every suffix."""

import re
from importlib.util import find_spec
from pathlib import Path

from harmonium.io.storage import SUFFIXES

PAGE = (Path(__file__).parents[1] / "docs" / "formats.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
WITH_TORCH = "# with torch\n"


def test_the_python_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    scope: dict = {}
    assert sum(block.startswith(WITH_TORCH) for block in BLOCKS) == 1
    for block in BLOCKS:
        if find_spec("torch") or not block.startswith(WITH_TORCH):
            exec(compile(block, "formats.md", "exec"), scope)
    said = capsys.readouterr().out.splitlines()
    assert said[:3] == ["RBM(Bernoulli(3) – Bernoulli(2))"] * 3
    before, after = map(float, said[-1].split())
    assert abs(before - after) < 1e-5


def test_the_table_names_every_suffix():
    for suffix in SUFFIXES:
        assert f"`{suffix}`" in PAGE
