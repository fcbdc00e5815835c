"""Every reader of files: how its file is called, the function that reads it, and valid content."""

from __future__ import annotations

import gzip
import io
import json
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from safetensors.numpy import save

import harmonium as hm
from harmonium.data.readers import read_file
from harmonium.io.formats import Native, RbmsHistory, StateDict
from harmonium.io.formats.native import load_tree
from harmonium.runs.contacts import distances_of
from harmonium.runs.folder import RunFolder
from harmonium.runs.jsonable import to_json
from harmonium.runs.train_options import RunConfig
from harmonium.sequences.raw_alignment import read_sequences
from harmonium.sequences.sites import RNA, Sites
from harmonium.tables import Columns
from harmonium.tables.inference import columns_of

BITS = np.arange(24).reshape(6, 4) % 2
WEIGHTS = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
PLAIN = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), WEIGHTS)
MIXED = hm.RBM(
    hm.Mixed(hm.Categorical(2, [2, 3]), hm.Gaussian(2), hm.MultivariateGaussian(2)),
    hm.Ising(2),
    hm.weights.MaskedWeights(np.ones((9, 2)), np.eye(9, 2)),
)
TREE = {"a": jnp.arange(3), "scalar": jnp.asarray(2.5)}
TEXT = "name,age,born,paid\n" + "".join(
    f"{'annbobeve'[3 * (i % 3) :][:3]},{20 + i},{i + 1:02}.03.2001,$1{i % 10}.50\n"
    for i in range(12)
)
FASTA = ">a/3-6 one\nAC-U\n>b\nacGU\n>c\nA.GU\n"
A3M = ">a one\nAC-U\n>b\nACgGU\n>c\nAaa.-GU\n"
DISTANCES = "i j d\n1 3 5.5\n3,4,9\n"
STOCKHOLM = "# STOCKHOLM 1.0\n#=GF ID x\na AC\nb AG\na -U\nb GU\n//\n"
CLUSTAL = "CLUSTAL W (1.83)\n\na  AC\nb  AG\n   *\n\na  -U 3\nb  GU 4\n"
PHYLIP = " 2 4\na  AC\nb  AG\n\n-U\nGU\n"
LINES = "AC-U\nACGU\n"
SITES = Sites(RNA, (0, 2, 3), 5)
SUMMARY = {
    "message": "done",
    "log_z": {"value": 1.0, "low": 0.5, "high": 1.5, "method": "exact", "converged": True}
    | {"message": ""},
    "log_likelihood": {"value": -1.0, "low": -2, "high": 0.0, "converged": True, "rows": "train"}
    | {"method": "exact", "n_rows": 9},
}
METRICS = [{"update": n, "epoch": n / 2, "free_energy": -1.5, "gap": None} for n in range(3)]


class Reader(NamedTuple):
    """A reader of files.

    Attributes:
        file: the name of its file, which may lie in a folder.
        read: reads a path.
        example: makes valid content.
        examples: how many damaged files of it are read in tests.
    """

    file: str
    read: Callable[[Path], Any]
    example: Callable[[], bytes]
    examples: int = 60


def filled(save: Callable[[Any], Any]) -> bytes:
    """Return what a function writes into an open file."""
    content = io.BytesIO()
    save(content)
    return content.getvalue()


def idx() -> bytes:
    return bytes([0, 0, 8, 2]) + np.array(BITS.shape, ">u4").tobytes() + BITS.astype("u1").tobytes()


def npz() -> bytes:
    return filled(lambda file: np.savez_compressed(file, train=BITS, y=BITS[:, 0]))


def config() -> bytes:
    return RunConfig(source="a").to_json().encode()


def metrics() -> bytes:
    return "\n".join(map(to_json, METRICS)).encode()


def checkpoint() -> bytes:
    header = {"format": "harmonium", "version": 1, "rows": "ab", "held_out": True}
    tensors = {f"['{name}']": np.asarray(leaf) for name, leaf in TREE.items()}
    return save(tensors, {"harmonium": json.dumps(header)})


def parquet() -> bytes:
    import pyarrow.parquet as pq

    return filled(lambda file: pq.write_table(frame(), file))


def arrow() -> bytes:
    from pyarrow import feather

    return filled(lambda file: feather.write_feather(frame(), file))


def numbers(write: str) -> bytes:
    """Return a file of columns of numbers, written by this function, in several parts."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"a": [1.5, 2, None, 3, 4, 5], "b": [0, 1, 0, 1, 1, 0], "c": [True, None] * 3})
    if write == "parquet":
        return filled(lambda file: pq.write_table(table, file, row_group_size=2))
    content = io.BytesIO()
    with pa.ipc.new_file(content, table.schema) as file:
        file.write_table(table, max_chunksize=2)
    return content.getvalue()


def streamed(path: Path) -> Any:
    """Read all rows of a file a block at a time."""
    stream = hm.Stream(path)
    return stream.some(len(stream)).rows()


def frame() -> Any:
    import datetime

    import pyarrow as pa

    days = [datetime.date(2001, 3, i + 1) for i in range(6)]
    words = pa.array(["a", "b", "a", "b", None, "a"]).dictionary_encode()
    return pa.table({"word": words, "number": [1.5, 2, None, 3, 4, 5], "day": days})


def columns() -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        path.write_text(TEXT)
        inferred = columns_of(read_file(path).frame)
    return json.dumps(inferred.record(), indent=2).encode()


def without_checksum(rbm: hm.RBM) -> bytes:
    """Return a model file without a checksum, which would hide all other damage.

    Files of earlier versions have none, and who means harm writes one that fits.
    """
    content = Native().serialise(rbm, "")
    length = int.from_bytes(content[:8], "little")
    head = json.loads(content[8 : 8 + length])
    described = json.loads(head["__metadata__"]["harmonium"])
    del described["sha256"]
    head["__metadata__"]["harmonium"] = json.dumps(described)
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + content[8 + length :]


def state(path: Path) -> Any:
    checkpoints = RunFolder(path.parent.parent).checkpoints
    return checkpoints.learned_of_rows, checkpoints.fingerprint_of_rows, load_tree(path, TREE)


def run(path: Path) -> RunFolder:
    return RunFolder(path.parent)


def used(columns: Columns) -> Any:
    """Return what a table's columns are first used for."""
    return columns.empty, columns.layer, [column.summary for column in columns.columns]


READERS = [
    Reader("model.safetensors", hm.load, lambda: without_checksum(PLAIN)),
    Reader("mixed.safetensors", hm.load, lambda: without_checksum(MIXED)),
    Reader(
        "model.npz", hm.load, lambda: filled(lambda f: np.savez(f, W=WEIGHTS, a=BITS[0], b=[0] * 3))
    ),
    Reader("config.json", lambda p: run(p).config(), config),
    Reader(
        "metrics.jsonl",
        lambda p: run(p).metrics(),
        metrics,
    ),
    Reader("summary.json", lambda p: run(p).summary(), lambda: to_json(SUMMARY).encode()),
    Reader("columns.json", lambda p: used(run(p).columns()), columns),
    Reader("sites.json", lambda p: run(p).sites(), lambda: json.dumps(SITES.record()).encode()),
    Reader("checkpoints/last.safetensors", state, checkpoint),
    Reader("distances.txt", lambda p: distances_of(str(p), SITES), DISTANCES.encode),
    Reader("rows.csv", lambda p: hm.open_source(str(p)), TEXT.encode, 40),
    Reader("rows.tsv", read_file, lambda: TEXT.replace(",", "\t").encode(), 40),
    Reader("rows.txt", read_file, lambda: filled(lambda f: np.savetxt(f, BITS, fmt="%d")), 40),
    Reader("rows.csv.gz", read_file, lambda: gzip.compress(TEXT.encode(), mtime=0), 40),
    Reader("rows.parquet", read_file, parquet, 40),
    Reader("rows.arrow", read_file, arrow),
    Reader("rows.npy", read_file, lambda: filled(lambda f: np.save(f, BITS))),
    Reader(
        "rows.npz",
        read_file,
        npz,
    ),
    Reader("streamed.npy", streamed, lambda: filled(lambda f: np.save(f, BITS))),
    Reader("streamed.parquet", streamed, lambda: numbers("parquet")),
    Reader("streamed.arrow", streamed, lambda: numbers("arrow")),
    Reader("rows.idx", read_file, idx),
    Reader("rows.idx.gz", read_file, lambda: gzip.compress(idx(), mtime=0)),
    Reader("sequences.fasta", hm.read_alignment, FASTA.encode),
    Reader("sequences.a3m", read_sequences, A3M.encode),
    Reader("sequences.sto", read_sequences, STOCKHOLM.encode),
    Reader("sequences.clustal", read_sequences, CLUSTAL.encode),
    Reader("sequences.phy", read_sequences, PHYLIP.encode),
    Reader("sequences.psicov", read_sequences, LINES.encode),
    Reader("sequences.fasta.gz", read_sequences, lambda: gzip.compress(FASTA.encode(), mtime=0)),
]
if find_spec("h5py"):
    READERS.append(Reader("model.h5", hm.load, lambda: RbmsHistory().serialise(PLAIN, "")))
if find_spec("torch"):
    READERS.append(Reader("model.pt", hm.load, lambda: StateDict().serialise(PLAIN, "")))
BY_FILE = {reader.file: reader for reader in READERS}


def refusal_of(reader: Reader, content: bytes, folder: Path) -> str | None:
    """Return the message with which a reader refuses content; None if it returns a value.

    Any exception but those of harmonium passes, and so does a message of several lines, or one that
    could steer a terminal, or a file that was written.
    """
    path = folder / reader.file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    before = sorted(folder.rglob("*"))
    message = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # for a user they are no errors
        try:
            reader.read(path)
        except hm.InputError as error:
            message = str(error)
    assert message is None or message.isprintable(), ascii(message)
    assert sorted(folder.rglob("*")) == before
    assert path.read_bytes() == content
    return message
