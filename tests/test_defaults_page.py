"""The page on what a run chooses by itself: all its Python runs, in order and unchanged."""

from answers import run_page


def test_the_python_runs(capsys):
    assert run_page("docs/defaults.md") == 2
    broken, _, _, others = capsys.readouterr().out.split()[:4]
    assert -30 < float(broken) < float(others) - 3
