"""Pictures drawn by a process of their own."""

import jax
import numpy as np

import harmonium as hm
from harmonium.runs.painter import Painter


def folder_with_a_model(path):
    rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(2), key=jax.random.key(0))
    hm.save(rbm, path / "model.safetensors")
    (path / "metrics.jsonl").write_text('{"update": 1, "epoch": 1.0, "reconstruction": 0.5}\n')
    return path


def test_pictures_are_drawn_and_nothing_else_is_left(tmp_path):
    rows = np.eye(4, dtype=np.int8)
    with Painter(folder_with_a_model(tmp_path)) as painter:
        painter.paint(rows, rows, (2, 2))
        found = painter.finished()
    assert found.reason == ""
    assert sorted(found.paths) == sorted(str(p) for p in (tmp_path / "pictures").iterdir())
    assert len(found.paths) == 5
    assert painter.process.returncode == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"model.safetensors", "metrics.jsonl", "pictures"}


def test_rows_that_no_picture_can_show_are_a_reason(tmp_path):
    with Painter(folder_with_a_model(tmp_path)) as painter:
        painter.paint(np.full((3, 4), 7), np.eye(4), None)
        found = painter.finished()
    assert found.paths == []
    assert found.reason.startswith("samples: ")


def test_a_folder_without_a_model_is_a_reason(tmp_path):
    with Painter(tmp_path) as painter:
        painter.paint(np.eye(4), np.eye(4), None)
        assert "found no such file" in painter.finished().reason


def test_a_process_that_dies_is_a_reason(tmp_path):
    with Painter(tmp_path) as painter:
        painter.process.kill()
        painter.process.wait()
        painter.paint(np.eye(4), np.eye(4), None)
        assert painter.finished() == ([], "drawing failed, -9")


def test_a_process_that_is_asked_for_nothing_is_ended(tmp_path):
    with Painter(tmp_path) as painter:
        pass
    assert painter.process.returncode is not None
