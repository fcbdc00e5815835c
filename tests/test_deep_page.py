"""The page on deep Boltzmann machines: its Python runs unchanged, and its likelihood is exact."""

import re

from answers import run_lines


def test_the_page_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_lines("docs/deep.md")
    out = capsys.readouterr().out
    assert "Bernoulli(size=16" in out
    score = float(re.search(r"log-likelihood = (-\d+\.\d+)", out)[1])
    assert "exact, 256 states" in out
    assert score > -3.8  # 30 of 2¹⁶ pictures, of which two are twice as frequent: −3.4 at best
