"""The page on tables: all its Python runs, in order and unchanged."""

from answers import run_page


def test_the_python_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_page("docs/tables.md") == 2
    out = capsys.readouterr().out
    for words in (
        "coffee, tea",
        "discrete",
        "continuous",
        "2024-01-01 … 2024-12-28",
        "log-likelihood =",
    ):
        assert words in out
    drinks = next(line for line in out.splitlines() if line.startswith("drink ["))
    assert set(drinks[7:-1].replace("'", "").split()) <= {"coffee", "tea"}
