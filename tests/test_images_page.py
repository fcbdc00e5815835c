"""The page on shared filters: its Python runs unchanged, and the filters learn."""

from answers import run_lines


def test_the_page_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_lines("docs/images.md")
    assert "(8, 3, 3, 1)" in capsys.readouterr().out
    assert (tmp_path / "filters.png").stat().st_size > 5_000
