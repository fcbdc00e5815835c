"""The page on Python: its blocks run, and both methods learn its rows."""

import re

from answers import run_page


def test_the_page_runs(capsys):
    assert run_page("docs/python.md") == 3
    out = capsys.readouterr().out
    scores = [float(score) for score in re.findall(r"(-[\d.]+) nats per row", out)]
    assert len(scores) == 2
    assert all(score > -5.0 for score in scores)  # 16 fair coins have −11.09, at best it is −3.47
