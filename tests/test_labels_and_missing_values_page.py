"""The page on labels and missing values: all its Python runs, in order and unchanged."""

from answers import run_page


def test_the_python_runs(capsys):
    assert run_page("docs/labels_and_missing_values.md") == 3
    labels, likelihood, imputed = capsys.readouterr().out.splitlines()
    assert labels.startswith("exact, 10 terms: 0.")
    assert float(labels.split()[3]) > 0.85
    assert likelihood.startswith("log-likelihood = -")
    assert imputed.startswith("exact, 1,024 terms: 0.")
