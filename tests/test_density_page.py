"""The page on tables of 0 and 1: all its Python runs, in order and unchanged."""

from answers import run_page


def test_the_python_runs(capsys):
    assert run_page("docs/density.md") == 2
    broken, _, _, others = capsys.readouterr().out.split()[:4]
    assert -30 < float(broken) < float(others) - 3
