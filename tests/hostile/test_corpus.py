"""Hostile files, each refused in words that say what to do; links and pipes; memory taken."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.data.readers import read_file
from harmonium.io.formats.base import write_whole
from harmonium.runs.folder import RunFolder
from harmonium.runs.train_options import RunConfig
from harmonium.tables import load_columns
from harmonium.tables.inference import columns_of
from harmonium.weights import Scaled
from hostile.corpus import HOSTILE
from hostile.readers import BY_FILE, refusal_of, without_checksum
from refusals import GRAMMAR
from registry import ALL

# bytes that a reader may take, and times the size of its file
LARGEST = 2**30 + 2**28
SHARE = 100


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("hostile", HOSTILE, ids=lambda hostile: f"{hostile.file} {hostile.name}")
def test_it_is_refused_in_words_that_help(hostile, tmp_path):
    message = refusal_of(BY_FILE[hostile.file], hostile.make(), tmp_path)
    assert message is not None
    assert message.startswith(str(tmp_path / hostile.file)), message
    assert GRAMMAR.search(message), message
    for words in hostile.words:
        assert words in message
    assert not Path("unpickled").exists()


def test_metrics_end_at_the_first_line_that_is_none(tmp_path):
    good = b'{"update": 1, "epoch": 1.0}\n'
    for bad in (b'{"update": NaN, "epoch": 2}', b'{"update": "2", "epoch": 2}', b"[" * 99_999):
        (tmp_path / "metrics.jsonl").write_bytes(good + bad + b"\n" + good)
        assert len(RunFolder(tmp_path).metrics()) == 1


@pytest.mark.parametrize(
    ("score", "words"),
    [
        (5, "expected an object or null as log_z; got 5"),
        ({}, "expected a number as log_z.value; got nothing"),
        ({"value": "1"}, "expected a number as log_z.value; got '1'"),
        ([[]], "expected an object or null as log_z; got a list"),
    ],
)
def test_a_summary_with_other_scores_is_refused(score, words, tmp_path):
    content = BY_FILE["summary.json"].example()
    (tmp_path / "summary.json").write_bytes(content)
    assert RunFolder(tmp_path).summary().message == "done"
    changed = json.loads(content) | {"log_z": score}
    (tmp_path / "summary.json").write_text(json.dumps(changed))
    with pytest.raises(hm.ModelFileError, match=re.escape(f"summary.json: {words}")):
        RunFolder(tmp_path).summary()


# --- Links, pipes and code --------------------------------------------------------------------

POSIX = pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")


@POSIX
@pytest.mark.parametrize("name", ["config.json", "columns.json", "metrics.jsonl", "summary.json"])
def test_a_link_out_of_a_run_is_not_followed(name, tmp_path):
    Path("outside").write_bytes(b"{}")
    Path("run").mkdir()
    Path("run", name).symlink_to(tmp_path / "outside")
    folder = RunFolder("run")
    calls = {
        "config.json": [folder.config, lambda: folder.write_config(RunConfig(source="a"))],
        "columns.json": [folder.columns],
        "metrics.jsonl": [folder.metrics, lambda: folder.add_metrics({"update": 1})],
        "summary.json": [folder.summary, lambda: folder.write_summary({})],
    }
    for call in calls[name]:
        with pytest.raises(hm.InputError, match="got a link that leads out of the folder; put"):
            call()
    assert Path("outside").read_bytes() == b"{}"


@POSIX
def test_a_linked_model_or_folder_of_checkpoints_is_not_followed(tmp_path):
    Path("run").mkdir()
    Path("elsewhere").mkdir()
    hm.save(hm.RBM(hm.Bernoulli(1), hm.Bernoulli(1), [[1.0]]), "elsewhere/model.safetensors")
    Path("run/model.safetensors").symlink_to(tmp_path / "elsewhere/model.safetensors")
    Path("run/checkpoints").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(hm.ModelFileError, match="a link that leads out"):
        hm.load("run")
    with pytest.raises(hm.InputError, match="a link that leads out"):
        _ = RunFolder("run").checkpoints.fingerprint_of_rows
    assert hm.load("run/model.safetensors").visible.size == 1  # a file that the user names


@POSIX
def test_nothing_is_written_through_a_link(tmp_path):
    Path("outside").write_bytes(b"keep me")
    Path("model.partial").symlink_to(tmp_path / "outside")
    write_whole("model", b"new")
    assert (Path("model").read_bytes(), Path("outside").read_bytes()) == (b"new", b"keep me")


@POSIX
@pytest.mark.parametrize("file", ["rows.csv", "rows.npy", "config.json", "sequences.fasta"])
def test_a_pipe_is_refused_and_not_waited_for(file, tmp_path):
    os.mkfifo(tmp_path / file)
    with pytest.raises(hm.InputError, match="pipe"):
        BY_FILE[file].read(tmp_path / file)


def test_a_form_of_dates_is_no_code(tmp_path):
    rows = "".join(f"{i + 1:02}.03.2001,{'ab'[i % 2]}\n" for i in range(20))
    Path("t.csv").write_text("day,x\n" + rows)
    record = columns_of(read_file("t.csv").frame).record()
    start = "%d.%m.%Y')) from seen; copy (select 42) to '"
    end = "'; select count(strptime('a', '"
    record["columns"][0]["form"] = f"{start}{tmp_path}/written.csv{end}"
    Path("columns.json").write_text(json.dumps(record))
    hm.open_source("t.csv", columns=load_columns("."))
    assert not Path("written.csv").exists()


def test_a_table_is_read_as_columns_that_are_known():
    Path("t.csv").write_text("zip,x\n" + "10115,a\n20095,b\n" * 10)
    known = read_file("t.csv").frame
    assert known.columns[0].values.dtype.kind == "f"
    Path("u.csv").write_text("zip,x\n" + "10115,a\nnone,b\nx1,b\n" * 5)
    as_words = read_file("u.csv").frame.taken(np.arange(0))
    again = read_file("t.csv", known=as_words).frame
    assert again.columns[0].values.dtype.kind == "O"


# --- Memory -----------------------------------------------------------------------------------

MEASURE = """
import json, resource, sys, time
from pathlib import Path
import harmonium as hm
from hostile.readers import BY_FILE

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines if " kB" in line}

for file in sys.argv[1:]:
    path = Path(file)
    reader = BY_FILE[path.name.partition(" ")[2].replace("+", "/")]
    target = path.parent / "read" / reader.file
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(reader.example())
    reader.read(target)  # what is imported and compiled is not counted
    size = path.stat().st_size
    target.write_bytes(path.read_bytes())
    Path("/proc/self/clear_refs").write_text("5")
    before = peak()
    most = before["VmSize"] + 8 * 2**30  # the operating system ends what goes far beyond
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    try:
        reader.read(target)
        found = "read"
    except hm.InputError:
        found = "refused"
    print(json.dumps([path.name, size, peak()["VmHWM"] - before["VmRSS"], found]))
"""
PLAIN = {  # much work for few bytes, and valid
    "rows.tsv": lambda: b"x\ty\n" + b"a\t\n" * 300_000,
    "rows.txt": lambda: b"1\n" * 10**6,
    "sequences.a3m": lambda: b"".join(b">%x\nA\n" % i for i in range(200_000)),
    "metrics.jsonl": lambda: b'{"update":1,"epoch":1}\n' * 10**5,
}
LARGE = [h for h in HOSTILE if any(w in h.name for w in ("bomb", "declared", "200,000 columns"))]


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory")
def test_memory_is_bounded_by_the_size_of_the_file(tmp_path):
    """The resident memory of a process at its peak, whoever allocates it."""
    contents = [(h.file, h.make) for h in LARGE] + list(PLAIN.items())
    files = []
    for number, (file, make) in enumerate(contents):
        files.append(tmp_path / f"{number} {file.replace('/', '+')}")
        files[-1].write_bytes(make())
    paths = [str(Path(__file__).parents[1]), *sys.path]
    ended = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, files)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    measured = [json.loads(line) for line in ended.stdout.splitlines() if line[:1] == "["]
    assert len(measured) == len(files), ended.stdout
    for name, size, taken, message in measured:
        assert taken <= LARGEST + SHARE * size, (name, size, taken, message)
        assert message == ("refused" if int(name.split()[0]) < len(LARGE) else "read")


EVERY_NUMBER = """
import json, resource, sys, tempfile
from pathlib import Path
from harmonium.runs.info import describe_model
import harmonium as hm
from hostile import numbers
from hostile.readers import BY_FILE, refusal_of

def size(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))

reader = BY_FILE["model.safetensors"]._replace(read=lambda path: describe_model(hm.load(path)))
folder, count = Path(tempfile.mkdtemp(dir=".")), 0
for content in numbers.models():
    assert refusal_of(reader, content, folder) is None  # what is imported is not counted
before = size("VmRSS")
most = size("VmSize") + 2**31
resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
for content in numbers.models():
    for number, (name, changed) in enumerate(numbers.variants(content)):
        if number % int(sys.argv[1]) == 0:
            print(name, file=sys.stderr)
            refusal_of(reader, changed, folder)
            count += 1
print(json.dumps([count, size("VmHWM") - before]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="/proc tells the memory")
def test_no_number_of_a_header_takes_memory_or_an_error_of_another_kind(tmp_path):
    paths = [str(Path(__file__).parents[1]), *sys.path]
    ended = subprocess.run(
        [sys.executable, "-c", EVERY_NUMBER, "1" if ALL else "5"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        cwd=tmp_path,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    count, taken = json.loads(ended.stdout)
    assert count > 680  # a stream no longer reads .npz, which had some more
    assert taken < 2**28


@pytest.mark.parametrize(
    "layer",
    [
        lambda: hm.Binomial(2, total=10**9),
        lambda: hm.Binomial(2, total=2**16),
        lambda: hm.ReplicatedSoftmax(2, length=1e30),
        lambda: hm.ReplicatedSoftmax(2, length=[3, 2**25]),
    ],
)
def test_counts_have_a_limit_in_python_too(layer):
    with pytest.raises(hm.InputError, match=r"of at most 65,535|0 to 16,777,216"):
        layer()


def test_many_trials_cost_little():
    rbm = hm.RBM(hm.Binomial(3, total=2**16 - 1), hm.Bernoulli(2), np.zeros((3, 2)))
    assert rbm.visible.n_states == 2**48
    assert rbm.visible.coding.support[1].tolist() == [2**16 - 1] * 3
    columns, changes = jax.eval_shape(rbm.visible.proposals, np.zeros((1, 3), np.float32))
    assert changes.shape == (1, 3 * (2**16 - 1), 1)
    assert columns.shape == (3 * (2**16 - 1), 1)


def test_arrays_that_only_fit_when_copied_are_refused(tmp_path):
    bits = np.array([True, False])
    clamped = hm.layers.Clamped(layer=hm.Bernoulli(2), known=bits, values=np.zeros(2, np.float32))
    rbm = hm.RBM(clamped, hm.Bernoulli(1), Scaled(jnp.ones((2, 1)), jnp.asarray(0.5)))
    wrong = {
        "Clamped": lambda rbm: rbm.visible.values,
        "Scaled": lambda rbm: rbm.weights.scale,
    }
    for name, at in wrong.items():
        many = np.zeros((1000, *np.shape(at(rbm))), np.float32)
        content = without_checksum(eqx.tree_at(at, rbm, jnp.asarray(many)))
        message = refusal_of(BY_FILE["model.safetensors"], content, tmp_path)
        assert f"{name}: expected" in message
