"""The pages on likelihoods and on log Z: all their Python runs, in order and unchanged."""

from answers import run_page


def test_the_python_of_likelihoods_runs(capsys):
    assert run_page("docs/likelihood.md") == 3
    said = capsys.readouterr().out
    assert said.startswith("log-likelihood = -")
    for words in ("exact, 256 states", "PCD-1", "perfect"):
        assert words in said


def test_the_python_of_log_z_runs(capsys):
    assert run_page("docs/log_z.md") == 3
    said = capsys.readouterr().out
    for words in ("exact, 256 states", "annealed both ways", "tempered"):
        assert words in said
