"""The figure process, a separate process that draws pictures."""

import jax
import numpy as np

import harmonium as hm
from harmonium.runs.figure_process import FigureProcess


def folder_with_a_model(path):
    rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(2), key=jax.random.key(0))
    hm.save(rbm, path / "model.safetensors")
    (path / "metrics.jsonl").write_text('{"update": 1, "epoch": 1.0, "reconstruction": 0.5}\n')
    return path


def test_pictures_are_drawn_and_nothing_else_is_left(tmp_path):
    rows = np.eye(4, dtype=np.int8)
    with FigureProcess() as figure_process:
        figure_process.paint(folder_with_a_model(tmp_path), rows, rows, (2, 2))
        found = figure_process.finished()
    assert found.reason == ""
    assert sorted(found.paths) == sorted(str(p) for p in (tmp_path / "pictures").iterdir())
    assert len(found.paths) == 5
    assert figure_process.process.returncode == 0
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"model.safetensors", "metrics.jsonl", "pictures"}


def test_rows_that_no_picture_can_show_are_a_reason(tmp_path):
    with FigureProcess() as figure_process:
        figure_process.paint(folder_with_a_model(tmp_path), np.full((3, 4), 7), np.eye(4), None)
        found = figure_process.finished()
    assert found.paths == []
    assert found.reason.startswith("samples: ")


def test_a_folder_without_a_model_is_a_reason(tmp_path):
    with FigureProcess() as figure_process:
        figure_process.paint(tmp_path, np.eye(4), np.eye(4), None)
        assert "found no such file" in figure_process.finished().reason


def test_a_process_that_dies_is_a_reason(tmp_path):
    with FigureProcess() as figure_process:
        process = figure_process.start()
        process.kill()
        process.wait()
        figure_process.paint(tmp_path, np.eye(4), np.eye(4), None)
        assert figure_process.finished() == ([], "drawing failed, -9")


def test_a_full_disk_is_a_reason(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with FigureProcess() as figure_process:
        figure_process.paint(tmp_path, np.eye(4), np.eye(4), None)
        found = figure_process.finished()
    assert found.paths == []
    assert found.reason.endswith("rows.npz cannot be written, No space left on device")


def test_a_process_that_draws_nothing_is_ended(tmp_path):
    with FigureProcess() as figure_process:
        process = figure_process.start()
    assert process.returncode is not None


def test_one_that_was_stopped_starts_anew(tmp_path):
    with FigureProcess() as figure_process:
        first = figure_process.start()
        figure_process.stop()
        figure_process.stop()
        rows = np.eye(4, dtype=np.int8)
        figure_process.paint(folder_with_a_model(tmp_path), rows, rows, (2, 2))
        assert figure_process.finished().reason == ""
    assert first.returncode is not None
    assert figure_process.process is not first


def test_without_a_request_no_process_is_started(tmp_path):
    with FigureProcess() as figure_process:
        pass
    assert figure_process.process is None
