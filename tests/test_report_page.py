"""The page on reports: its Python runs, and writes what it says."""

from pathlib import Path

from answers import run_page


def test_the_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run_page("docs/report.md") == 3
    assert "Play with the model" in Path("bars.html").read_text("utf-8")
