"""The page on sequences: every line runs, in order and unchanged, but for the number of updates."""

from pathlib import Path

from answers import run_lines


def test_every_line_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # Of 10,000 and more, these are enough to find the pairs of a stem among 1,000 sequences.
    for name in ("FEWEST_UPDATES", "MOST_UPDATES"):  # else few sequences have 1,000 epochs
        monkeypatch.setattr(f"harmonium.training.arguments.{name}", 2_000)
    assert len(run_lines("docs/sequences.md")) == 8
    out = capsys.readouterr().out
    assert "1,000 sequences of 24 sites (RNA: -ACGU)" in out
    pair = next(line for line in out.splitlines() if line.startswith("strongest pair:"))
    i, j = map(int, pair.split(":")[1].split())
    assert i + j == 25  # a pair of the stem
    assert "effective number of sequences: e^" in out
    assert all(Path(name).is_file() for name in ("contacts.png", "motifs.png", "new.fasta"))
