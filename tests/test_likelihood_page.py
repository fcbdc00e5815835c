"""The page on likelihoods: all its Python runs, in order and unchanged."""

from answers import run_page


def test_the_python_runs(capsys):
    assert run_page("docs/likelihood.md") == 5
    said = capsys.readouterr().out
    assert said.startswith("log-likelihood = -")
    for words in ("exact, 256 states", "annealed both ways", "tempered", "PCD-1", "perfect"):
        assert words in said
