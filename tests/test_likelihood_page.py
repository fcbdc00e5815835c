"""The page on likelihoods: all its Python runs, in order, as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "likelihood.md"


def test_the_python_runs(capsys):
    scope: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), scope)
    assert len(blocks) == 5
    said = capsys.readouterr().out
    assert said.startswith("log-likelihood = -")
    for words in ("exact, 256 states", "annealed both ways", "tempered", "PCD-1", "perfect"):
        assert words in said
