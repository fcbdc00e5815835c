"""The page on conditional models: its Python runs unchanged, and learns the period."""

import re

from answers import run_lines


def test_the_page_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_lines("docs/conditional.md")
    out = capsys.readouterr().out
    score = float(re.search(r"log-likelihood = (-\d+\.\d+)", out)[1])
    assert score > -0.2
    assert "[[0 1]\n [1 1]\n [1 0]]" in out
