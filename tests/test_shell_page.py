"""The page for shells: every line runs, in order and unchanged."""

from pathlib import Path

import numpy as np

from answers import run_lines


def test_every_line_runs(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(run_lines("docs/shell.md")) == 9
    out = capsys.readouterr().out
    assert "behind the best" in out
    new = np.load("new.npy")
    assert new.shape == (500, 64)
    assert set(np.unique(new)) == {0, 1}
    assert all(Path(name).is_file() for name in ("new.png", "shapes.npz", "compared.html"))
