"""The page for Keras users: all its Python runs, in order and unchanged."""

import re
from pathlib import Path

import keras

PAGE = Path(__file__).parents[3] / "docs" / "keras.md"


def test_the_page_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    # A run that is not told its length makes 10,000 updates, which takes minutes on TensorFlow.
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 200)
    monkeypatch.setattr("harmonium.training.arguments.MANY_EPOCHS", 10)
    blocks = re.findall(r"```python ?(\w*)\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 9
    scope: dict = {}
    for backend, block in blocks:
        if backend in ("", keras.backend.backend()):
            exec(compile(block, PAGE.name, "exec"), scope)
    assert "exact" in capsys.readouterr().out
    assert scope["features"].shape == (1797, 32)
    assert (tmp_path / "plain.keras").exists()
