"""The page on labels and holes: all its Python runs, in order, as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "labels_and_holes.md"


def test_the_python_runs(capsys):
    scope: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), scope)
    assert len(blocks) == 3
    labels, likelihood, imputed = capsys.readouterr().out.splitlines()
    assert labels.startswith("exact, 10 terms: 0.")
    assert float(labels.split()[3]) > 0.85
    assert likelihood.startswith("log-likelihood = -")
    assert imputed.startswith("exact, 1,024 terms: 0.")
