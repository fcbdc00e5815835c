"""The folder of a run: how it is chosen, what is cleared, and what remains after a crash."""

import errno
import json
import math
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from harmonium.errors import InputError
from harmonium.io.formats.base import write_new, write_whole
from harmonium.io.formats.native import save_tree
from harmonium.runs.folder import RunFolder, check_target
from harmonium.runs.jsonable import jsonable, to_json
from harmonium.runs.train_options import RunConfig

CONFIG = RunConfig(source="bars")


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def claim(out=None, name="bars", overwrite=False) -> RunFolder:
    return RunFolder.claim(out, name, overwrite, CONFIG)


def test_a_new_folder_has_its_options_metrics_and_place_for_checkpoints():
    folder = claim()
    assert folder.path == Path("runs/bars")
    names = {path.name for path in folder.path.iterdir()}
    assert names == {"config.json", "metrics.jsonl", "checkpoints"}
    assert (folder.config(), folder.metrics()) == (CONFIG, [])


def test_runs_that_begin_together_get_folders_of_their_own():
    with ThreadPoolExecutor(8) as threads:
        paths = list(threads.map(lambda _: claim().path, range(24)))
    numbers = [f"runs/bars-{number}" for number in range(2, 25)]
    assert sorted(map(str, paths)) == sorted(["runs/bars", *numbers])


def test_only_one_of_two_runs_gets_the_same_out():
    def attempt(_):
        try:
            return claim("mine").path
        except InputError as error:
            return str(error)

    with ThreadPoolExecutor(8) as threads:
        endings = list(threads.map(attempt, range(24)))
    assert endings.count(Path("mine")) == 1
    assert all("expected a new or empty folder" in e for e in endings if e != Path("mine"))


@pytest.mark.parametrize("name", ["..", ".", "", " "])
def test_an_invalid_name_stays_within_runs(name):
    assert claim(name=name).path == Path("runs/run")


def test_overwriting_clears_what_a_run_left_and_nothing_else():
    folder = claim("mine").path
    for name in ("model.safetensors", "summary.json", "checkpoints/last.safetensors", "notes.txt"):
        (folder / name).write_text("old")
    Path("elsewhere").mkdir()
    Path("elsewhere/keep.png").write_text("keep me")
    (folder / "pictures").symlink_to(Path("elsewhere").absolute(), target_is_directory=True)
    RunFolder.claim("mine", "bars", True, RunConfig(source="digits"))
    names = {path.name for path in folder.iterdir()}
    assert names == {"config.json", "metrics.jsonl", "checkpoints", "notes.txt"}
    assert list((folder / "checkpoints").iterdir()) == []
    assert RunFolder(folder).config().source == "digits"
    assert Path("elsewhere/keep.png").read_text() == "keep me"


def test_a_run_that_another_process_uses_is_left_alone():
    if os.name != "posix":
        pytest.skip("no locks here")
    folder = claim("here")
    (folder.path / "model.safetensors").touch()
    with folder:
        with pytest.raises(InputError, match=r"here: expected a run that no other process uses"):
            claim("here", overwrite=True)
        with pytest.raises(InputError, match="got a run in use"), RunFolder("here"):
            pass
    assert (folder.path / "model.safetensors").exists()
    with RunFolder("here"):
        pass
    claim("here", overwrite=True)
    assert not (folder.path / "model.safetensors").exists()


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("content", [None, "{}", '{"model_type": "theirs"}', "damaged"])
def test_a_folder_of_other_things_is_never_taken(content, overwrite):
    Path("theirs/checkpoints").mkdir(parents=True)
    Path("theirs/model.safetensors").write_text("keep me")
    if content is not None:
        Path("theirs/config.json").write_text(content)
    with pytest.raises(InputError, match="something other than a run"):
        claim("theirs", overwrite=overwrite)
    assert Path("theirs/model.safetensors").read_text() == "keep me"
    assert Path("theirs/checkpoints").is_dir()


def test_a_folder_below_a_file_is_refused_early():
    Path("file").write_text("")
    for out in ("file", "file/run", "file/a/b"):
        with pytest.raises(InputError, match=f"--out {out}: expected a folder"):
            check_target(Path(out), overwrite=False)


def test_metrics_are_read_as_far_as_they_are_whole():
    folder = claim()
    for update in (1, 2, 3):
        folder.add_metrics([{"update": update, "epoch": float(update), "log_likelihood": -1.5}])
    with (folder.path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"update": 4, "ep\xff')
    assert [record["update"] for record in folder.metrics()] == [1, 2, 3]
    folder.keep_metrics_until(2)
    lines = (folder.path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["update"] for line in lines] == [1, 2]
    folder.add_metrics([{"update": 3, "epoch": 3.0}])
    assert len(folder.metrics()) == 3


@pytest.mark.parametrize("line", ["[1]", "5", "{}", '{"update": 1}', "[" * 100_000])
def test_foreign_lines_end_the_metrics(line):
    folder = claim()
    folder.add_metrics([{"update": 1, "epoch": 1.0}])
    with (folder.path / "metrics.jsonl").open("a") as file:
        file.write(line + "\n")
    assert len(folder.metrics()) == 1


def test_json_holds_no_number_that_json_does_not_have():
    values = {
        "a": math.nan,
        "b": [math.inf, -math.inf, 1.5],
        "c": np.float32("nan"),
        "d": Path("x"),
    }
    values |= {"e": np.arange(2), "f": (np.int64(3), np.bool_(True), None, "text"), 5: {"g": 1}}
    expected = {"a": None, "b": [None, None, 1.5], "c": None, "d": "x"}
    expected |= {"e": [0, 1], "f": [3, True, None, "text"], "5": {"g": 1}}
    assert jsonable(values) == expected
    assert json.loads(to_json(values)) == expected


# --- damage and names -------------------------------------------------------------------


def as_after_a_full_disk(name="mine") -> Path:
    """Return the folder of a run whose options found no room, as earlier versions left it."""
    folder = claim(name).path
    (folder / "config.json").write_bytes(b"")
    return folder


def test_a_run_whose_options_are_empty_can_be_overwritten():
    folder = as_after_a_full_disk()
    with pytest.raises(InputError, match=r"got one that holds a run; .* or add --overwrite"):
        claim("mine")
    claim("mine", overwrite=True)
    assert RunFolder(folder).config() == CONFIG


def test_a_run_with_a_checkpoint_and_empty_options_can_be_overwritten():
    folder = claim("mine").path
    header = {"format": "harmonium", "version": 1, "holds": "training state", "rows": "ab"}
    save_tree({"a": np.zeros(2)}, folder / "checkpoints/last.safetensors", header)
    (folder / "summary.json").write_text("{}")
    (folder / "config.json").write_bytes(b"")
    claim("mine", overwrite=True)
    assert RunFolder(folder).config() == CONFIG
    assert not (folder / "summary.json").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("notes.txt", b""),
        ("model.safetensors", b"theirs"),
        ("report.html", b""),
        ("metrics.jsonl", b"{}"),
        ("checkpoints/epoch-1.pt", b"theirs"),
        ("checkpoints/last.safetensors", b"theirs"),
        ("evaluation/rows.png", b"theirs"),
    ],
)
def test_a_folder_with_empty_options_and_other_things_is_never_taken(name, content):
    folder = as_after_a_full_disk("theirs")
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(content)
    before = sorted(folder.rglob("*"))
    with pytest.raises(InputError, match="something other than a run"):
        claim("theirs", overwrite=True)
    assert sorted(folder.rglob("*")) == before
    assert (folder / name).read_bytes() == content


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_options_that_find_no_room_leave_no_file(monkeypatch, links):
    def full(_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def refuse(*_):
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(InputError, match=r"--out mine: .* got no space left on device"):
            claim("mine")
    assert list(Path("mine").iterdir()) == []
    claim("mine")
    with pytest.raises(InputError, match="got one that holds a run"):
        claim("mine")
    assert not list(Path("mine").glob(".*"))


def test_a_file_whose_name_is_as_long_as_names_can_be_is_written():
    name = "x" * 251 + ".npz"
    write_whole(name, b"rows")
    write_new("y" * 255, b"rows")
    assert sorted(path.name for path in Path().iterdir()) == [name, "y" * 255]
    assert Path(name).read_bytes() == Path("y" * 255).read_bytes() == b"rows"
