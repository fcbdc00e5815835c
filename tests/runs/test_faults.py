"""What goes wrong around a long run: full disks, lost folders, damaged checkpoints, no memory."""

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, chdir, contextmanager, suppress
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

import harmonium as hm
from cli.conftest import leave_out_report
from harmonium.errors import InputError, ModelFileError
from harmonium.io.formats.native import load_tree, save_tree
from harmonium.runs import checkpointing
from harmonium.runs.folder import RunFolder
from harmonium.runs.train import FinalScore, resume, train
from harmonium.runs.train_options import RunConfig

CONFIG = RunConfig(source="bars", hidden=4, epochs=60, chains=20, batch=8)


class Lines:
    """A display that keeps what is said; `then` is called after every report."""

    def __init__(self, then=lambda report: None):
        self.said = []
        self.then = then

    def say(self, line):
        self.said.append(line)

    def timer(self, *_):
        return lambda *_: None

    def __call__(self, report):
        return self.then(report)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture(autouse=True)
def quick(tmp_path, monkeypatch):
    """Work in an empty folder, save after every chunk, and neither score nor report."""
    monkeypatch.chdir(tmp_path)
    save_often_and_judge_nothing(monkeypatch)


def save_often_and_judge_nothing(patch):
    patch.setattr(checkpointing, "SECONDS_BETWEEN_CHECKPOINTS", -1.0)
    patch.setattr("harmonium.runs.train.final_score", lambda *_, **__: FinalScore())
    leave_out_report(patch)


def interrupt_after(updates):
    def then(report):
        if report.updates >= updates:
            raise KeyboardInterrupt

    return then


def model_of(name):
    return Path(name, "model.safetensors").read_bytes()


def records_of(name):
    """Return the records of a run without times, and what is measured only if there is time."""
    timed = {"seconds", "samples_per_second", "update_ratio", "pseudo_log_likelihood"}
    return [
        {key: value for key, value in record.items() if key not in timed}
        for record in RunFolder(name).metrics()
    ]


def updates_in(name):
    """Return how many updates the last checkpoint of a run has made."""
    return int(load_file(RunFolder(name).checkpoints.whole)[".updates"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """What a run that met no fault has written."""
    folder = tmp_path_factory.mktemp("whole")
    with chdir(folder), pytest.MonkeyPatch.context() as patch:
        save_often_and_judge_nothing(patch)
        train(CONFIG, "whole", False, Lines())
        return model_of("whole"), records_of("whole")


# --- writing ----------------------------------------------------------------------------


@contextmanager
def room_for(size):
    """Let no file of this process grow beyond so many bytes, as a full disk does not."""
    resource = pytest.importorskip("resource", reason="limits of file sizes are known on POSIX")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.mark.parametrize("size", [2_000, 100], ids=["checkpoints", "everything"])
def test_a_full_disk_is_told_and_what_found_no_room_is_written_later(whole, size):
    seen = []
    stack = ExitStack()

    def fill(report):
        seen.append(report.updates)
        if len(seen) == 2:
            stack.enter_context(room_for(size))
        if len(seen) == 6:
            stack.close()

    lines = Lines(fill)
    with stack:
        summary = train(CONFIG, "run", False, lines)
    assert len(seen) > 6
    assert summary.status == "done"
    troubles = [line for line in lines.said if "cannot write" in line]
    assert len(troubles) == 1
    assert re.fullmatch("cannot write to run: .* (large|device); will try again", troubles[0])
    assert (model_of("run"), records_of("run")) == whole


def test_a_line_that_was_cut_short_by_a_full_disk_is_taken_back():
    folder = RunFolder.claim("run", "bars", False, CONFIG)
    folder.add_metrics([{"update": 1, "epoch": 1.0}])
    limit = folder.path.joinpath("metrics.jsonl").stat().st_size + 10
    with room_for(limit), pytest.raises(OSError, match="No space left"):
        folder.add_metrics([{"update": 2, "epoch": 2.0}])
    folder.add_metrics([{"update": 3, "epoch": 3.0}])
    assert [record["update"] for record in folder.metrics()] == [1, 3]


def test_a_disk_that_stays_full_ends_in_an_error_that_says_how_to_go_on(whole, monkeypatch):
    from harmonium.runs import checkpoints

    state = {"full": False, "save": checkpoints.save_tree}

    def save(*given):
        if state["full"]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        state["save"](*given)

    def fill(report):
        state["full"] = report.updates >= 20

    monkeypatch.setattr(checkpoints, "save_tree", save)
    with pytest.raises(InputError, match="no space left on device; make room there, then continue"):
        train(CONFIG, "run", False, Lines(fill))
    state["full"] = False
    assert resume("run", None, Lines()).status == "done"
    assert (model_of("run"), records_of("run")) == whole


@pytest.fixture
def small_disk(tmp_path):
    """A file system of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    if sys.platform != "linux" or shutil.which("mount") is None:
        pytest.skip("only Linux mounts file systems that are in memory")
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(place)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    if ended.returncode:
        pytest.skip(f"this user may not mount a file system: {ended.stderr.strip()}")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def fill_up(place):
    """Write a file that takes all room that is left."""
    with suppress(OSError), (place / "ballast").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


def test_a_run_outlives_a_disk_that_is_full_for_a_while(whole, small_disk):
    """A real one: no room for another file, though those that are there may grow a little."""
    seen = []
    during = []

    def fill(report):
        seen.append(report.updates)
        if len(seen) == 2:
            fill_up(small_disk)
        if len(seen) == 6:
            during.append(RunFolder("disk/run").checkpoints.last.stat().st_mtime_ns)
            (small_disk / "ballast").unlink()
        if len(seen) == 3:
            during.append(RunFolder("disk/run").checkpoints.last.stat().st_mtime_ns)

    lines = Lines(fill)
    assert train(CONFIG, "disk/run", False, lines).status == "done"
    assert len(seen) > 6
    assert during[0] == during[1]  # nothing was written, and what was there is still there
    troubles = [line for line in lines.said if "cannot write" in line]
    assert troubles == ["cannot write to disk/run: no space left on device; will try again"]
    assert (model_of("disk/run"), records_of("disk/run")) == whole
    assert not list(small_disk.rglob("*.partial"))


def test_a_run_on_a_disk_that_stays_full_goes_on_when_there_is_room(whole, small_disk):
    def fill(report):
        if report.updates >= 20 and not (small_disk / "ballast").exists():
            fill_up(small_disk)

    advice = "no space left on device; make room there, then continue"
    with pytest.raises(InputError, match=advice):
        train(CONFIG, "disk/run", False, Lines(fill))
    updates = updates_in("disk/run")
    assert 0 < updates < 240
    with pytest.raises(OSError, match="No space left"):  # which the command tells in a line
        resume("disk/run", None, Lines())
    assert updates_in("disk/run") == updates
    (small_disk / "ballast").unlink()
    assert resume("disk/run", None, Lines()).status == "done"
    assert (model_of("disk/run"), records_of("disk/run")) == whole


@pytest.mark.parametrize("how", ["removed", "moved"])
def test_a_folder_that_vanishes_is_made_again(whole, how):
    seen = []

    def vanish(report):
        seen.append(report.updates)
        if len(seen) == 4:
            shutil.rmtree("run") if how == "removed" else Path("run").rename("elsewhere")

    assert train(CONFIG, "run", False, Lines(vanish)).status == "done"
    assert (model_of("run"), records_of("run")) == whole
    assert RunFolder("run").config().hidden == 4
    assert resume("run", 61, Lines()).status == "done"


# --- checkpoints ------------------------------------------------------------------------


def cut(path):
    path.write_bytes(path.read_bytes()[:-100])


def flip(path):
    content = bytearray(path.read_bytes())
    content[-50] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("harm", [cut, flip, Path.unlink, lambda path: path.write_bytes(b"")])
def test_a_run_goes_on_from_the_last_checkpoint_that_is_whole(whole, harm):
    train(CONFIG, "run", False, Lines(interrupt_after(60)))
    harm(RunFolder("run").checkpoints.last)
    lines = Lines()
    assert resume("run", None, lines).status == "done"
    assert any("damaged: continuing from the one before" in line for line in lines.said)
    assert (model_of("run"), records_of("run")) == whole


def test_two_damaged_checkpoints_are_an_error_and_nothing_is_changed():
    train(CONFIG, "run", False, Lines(interrupt_after(60)))
    checkpoints = RunFolder("run").checkpoints
    for path in (checkpoints.last, checkpoints.previous):
        flip(path)
    before = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    with pytest.raises(ModelFileError, match="its checksum differs"):
        resume("run", None, Lines())
    after = {path: path.read_bytes() for path in Path("run").rglob("*") if path.is_file()}
    assert after == before


def test_another_version_of_jax_is_told(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(jax, "__version__", "0.0.7")
        train(CONFIG, "run", False, Lines(interrupt_after(60)))
    lines = Lines()
    assert resume("run", None, lines).status == "done"
    assert any("trained with JAX 0.0.7 so far, from now on with " in line for line in lines.said)


@pytest.mark.parametrize("seed", range(5))
def test_every_flipped_bit_of_a_model_is_noticed(seed):
    rng = np.random.default_rng(seed)
    rows = hm.bars_and_stripes(2)
    rbm = hm.initialize(hm.Bernoulli(4), hm.Gaussian(3), rows, key=jax.random.key(seed))
    hm.save(rbm, "model.safetensors")
    content = Path("model.safetensors").read_bytes()
    for place in rng.choice(8 * len(content), 200, replace=False):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << (place % 8)
        Path("flipped.safetensors").write_bytes(damaged)
        try:  # the bit may be of a space, or of the checksum's own name
            same = hm.io.formats.Native().serialise(hm.load("flipped.safetensors"), "it") == content
        except InputError as error:
            same = "flipped.safetensors" in str(error)
        assert same


def test_files_without_a_checksum_are_read():
    rbm = hm.RBM.from_arrays([[1.0]], [2.0], [3.0])
    hm.save(rbm, "model.safetensors")
    content = Path("model.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    inner = json.loads(header["__metadata__"]["harmonium"])
    del inner["sha256"]
    header["__metadata__"]["harmonium"] = json.dumps(inner)
    older = json.dumps(header).encode()
    older += b" " * (-len(older) % 8)
    Path("older.safetensors").write_bytes(
        len(older).to_bytes(8, "little") + older + content[8 + length :]
    )
    assert float(hm.load("older.safetensors").weights[0, 0]) == 1.0


def test_arrays_of_all_kinds_have_a_checksum():
    tree = {
        "a": jax.numpy.zeros((0, 3)),
        "b": np.ones((), np.uint32),
        "c": np.arange(5, dtype=np.int32),
        "d": np.array(True),
    }
    save_tree(tree, "tree.safetensors", {"format": "harmonium", "version": 1})
    loaded = load_tree("tree.safetensors", tree)
    assert jax.tree.map(lambda x, y: bool((x == y).all()), tree, loaded)["c"]


# --- other changes ----------------------------------------------------------------------


def test_a_clock_that_goes_back_changes_nothing(whole, monkeypatch):
    import time

    now = [1e9]

    def backwards():
        now[0] -= 3_600.0
        return now[0]

    monkeypatch.setattr(time, "time", backwards)
    monkeypatch.setattr(time, "time_ns", lambda: int(backwards() * 1e9))
    train(CONFIG, "run", False, Lines())
    assert (model_of("run"), records_of("run")) == whole
    assert all(record["seconds"] >= 0 for record in RunFolder("run").metrics())


def test_a_file_that_changed_is_not_resumed_on():
    rows = np.array(hm.bars_and_stripes(4), np.uint8)
    np.save("rows.npy", rows)
    train(replace(CONFIG, source="rows.npy"), "run", False, Lines(interrupt_after(60)))
    rows[3, 2] ^= 1
    np.save("rows.npy", rows)
    with pytest.raises(InputError, match="expected the rows that run began with; got other rows"):
        resume("run", None, Lines())


def test_the_size_that_found_no_memory_is_named(capsys):
    from harmonium.cli.base import run_command

    def fail():
        raise RuntimeError(
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8.00GiB. [tf-allocator]"
        )

    assert run_command(fail) == 2
    message = capsys.readouterr().err
    assert "when 8.00 GiB more were requested" in message
    assert "lower --hidden, --batch, --chains or --count" in message
    assert message.count("\n") == 1


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signals")
@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_batch_system_can_tell_the_signal(number, status, monkeypatch):
    from harmonium.cli.base import run_command

    before = signal.signal(number, signal.SIG_DFL)

    def stopped():
        train(CONFIG, "run", False, Lines(lambda report: os.kill(os.getpid(), number)))
        return 130  # as the command does after a run that was saved

    assert run_command(stopped) == status
    assert signal.signal(number, before) is signal.SIG_DFL
    assert resume("run", None, Lines()).status == "done"
