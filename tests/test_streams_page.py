"""The page on more rows than memory: its Python and its command run, in order and unchanged."""

from answers import run_lines, strict


def test_the_page_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(run_lines("docs/streams.md")) == 1
    out = capsys.readouterr().out
    assert "19,000 rows, finished after 285 updates (3 epochs)" in out
    assert "20,000 rows, read while training, 4,000 at a time" in out
    config = strict((tmp_path / "streamed" / "config.json").read_text())
    assert (config["window"], config["source"]) == (4000, "rows-*.npy")
