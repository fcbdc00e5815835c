"""Hostile files by the name of their reader: what is wrong, the bytes, and words of the refusal."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import struct
import warnings
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hostile.readers import BY_FILE, TEXT, filled

MIB = 2**20
COPY = "copy or write the file again"


class Hostile(NamedTuple):
    """A hostile file.

    Attributes:
        file: of the reader.
        name: what is wrong with it.
        make: makes the content.
        words: of the refusal.
    """

    file: str
    name: str
    make: Callable[[], bytes]
    words: tuple[str, ...]


class Trap:
    """An object that leaves a file when it is unpickled."""

    def __reduce__(self):
        return Path("unpickled").touch, ()


def npy(shape, dtype="<f4", content=b"", version=(1, 0)) -> bytes:
    """Return an .npy file with the given head, whether it is true or not."""
    head = repr({"descr": dtype, "fortran_order": False, "shape": shape}).encode() + b"\n"
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H", len(head)) + head + content


def zipped(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    content = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(content, "w", compression) as archive:
        warnings.simplefilter("ignore")  # of two members with one name
        for name, member in members:
            archive.writestr(name, member)
    return content.getvalue()


@cache
def bomb() -> bytes:
    """Return an .npz of 0.3 MiB with an array of 300 MiB."""
    zeros = bytes(300 * MIB)
    return zipped([("W.npy", npy((300, MIB), "|u1") + zeros)], zipfile.ZIP_DEFLATED)


def encrypted() -> bytes:
    """Return an .npz that says that its member needs a password."""
    content = bytearray(zipped([("W.npy", npy((1,), content=bytes(4)))]))
    for mark, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + place] |= 1
    return bytes(content)


def tensors(head: str | bytes, content: bytes = b"", length: int | None = None) -> bytes:
    head = head.encode() if isinstance(head, str) else head
    return (len(head) if length is None else length).to_bytes(8, "little") + head + content


def model(old: str, new: str) -> bytes:
    """Return a model file whose head says something else."""
    content = BY_FILE["model.safetensors"].example()
    length = int.from_bytes(content[:8], "little")
    head = content[8 : 8 + length].decode()
    assert old in head
    return tensors(head.replace(old, new, 1), content[8 + length :])


def changed(file: str, old: str, new: str) -> Callable[[], bytes]:
    def make() -> bytes:
        text = BY_FILE[file].example().decode()
        assert old in text
        return text.replace(old, new, 1).encode()

    return make


def columns(**fields) -> bytes:
    """Return a columns.json whose columns have other fields, where they have these."""
    record = json.loads(BY_FILE["columns.json"].example())
    for column in record["columns"]:
        column.update({name: value for name, value in fields.items() if name in column})
    return json.dumps(record).encode()


def hdf5(make: Callable) -> bytes:
    import h5py

    content = io.BytesIO(BY_FILE["model.h5"].example())
    with h5py.File(content, "r+") as file:
        del file["update_1/params/weight_matrix"]
        make(h5py, file)
    return content.getvalue()


def declared(h5py, file) -> None:
    file.create_dataset("update_1/params/weight_matrix", (10**7, 10**8), "u1", chunks=(100, 100))


def endless() -> bytes:
    """Return an HDF5 file whose text is in a heap of objects without a size: HDF5 never ends."""
    content = BY_FILE["model.h5"].example()
    begin = content.index(b"GCOL") + 16
    return content[:begin] + bytes(40) + content[begin + 40 :]


def linked(h5py, file) -> None:
    file["update_1/params/weight_matrix"] = h5py.ExternalLink("/etc/passwd", "/x")


@cache
def parquet_bomb() -> bytes:
    """Return a Parquet file of few bytes with 1.3 million rows of one long word."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    words = pa.DictionaryArray.from_arrays(np.zeros(1_300_000, np.int32), ["x" * 1000])
    return filled(lambda file: pq.write_table(pa.table({"word": words}), file))


@cache
def wide() -> bytes:
    """Return a table of 200,000 columns, each with one word."""
    return b"\n".join(b",".join(b"%x%d" % (i, row) for i in range(200_000)) for row in (0, 1))


@cache
def many(part: bytes) -> bytes:
    """Return a gzip file of 270 MiB of equal lines."""
    return gzip.compress(part * (MIB // len(part) + 1), mtime=0) * 270


DEEP = "[" * 100_000 + "]" * 100_000
NESTED = "[" * 100 + "]" * 100
PICKLED = "pickled Python objects, which are never loaded"
TOO_MUCH = ("of content in a file of", "if you trust it")
# A Parquet file in which one byte is wrong: pyarrow 26.0.1 ends the process when it is asked how
# large a column is.
TWO_FLAGS = bytes.fromhex(
    "504152311500151c151c2c15041500150615061c00000002000000040101000000000000001504192c350018"
    "06736368656d6115020015022503180161251e4cac1308110000001604191c191c26001c1502192506001918"
    "016115001604164216422608491c150015001502003c29061926000400000016421604260816420028207061"
    "72717565742d6370702d6172726f772076657273696f6e2032362e302e31191c1c0000008300000050415231"
)
DAMAGED = ("got a truncated or damaged one", COPY)
OBJECTS = filled(lambda file: np.save(file, np.array([Trap()], object), allow_pickle=True))
RUN = ("got some that cannot be read", "restore the file, or train a new model")

HOSTILE = [
    Hostile(
        "rows.npy",
        "10^15 bytes declared",
        lambda: npy((10**15,), "|u1"),
        ("an array of shape", COPY),
    ),
    Hostile(
        "rows.npy", "sizes that overflow", lambda: npy((2**62, 4)), ("an array of shape", COPY)
    ),
    Hostile("rows.npy", "a negative size", lambda: npy((-1, -4), content=bytes(16)), DAMAGED),
    Hostile(
        "rows.npy",
        "entries of no bytes",
        lambda: npy((10**12,), "|V0"),
        ("an array of shape", COPY),
    ),
    Hostile(
        "rows.npy", "objects", lambda: OBJECTS, (PICKLED, "save an array of integers or floats")
    ),
    Hostile("rows.npy", "a pickle", lambda: pickle.dumps(Trap()), ("other content", "numpy.save")),
    Hostile("rows.npy", "a deep head", lambda: npy((), "[" * 4000 + "]" * 4000), DAMAGED),
    Hostile(
        "rows.npy", "a late version", lambda: npy((1,), content=bytes(4), version=(9, 9)), DAMAGED
    ),
    Hostile(
        "rows.npz", "10^15 bytes declared", lambda: zipped([("x.npy", npy((10**15,)))]), DAMAGED
    ),
    Hostile("rows.npz", "a bomb", bomb, (*TOO_MUCH, "numpy.savez")),
    Hostile(
        "rows.npz",
        "one name twice",
        lambda: zipped([("x.npy", npy((1,), content=bytes(4)))] * 2),
        ("two arrays of one name", COPY),
    ),
    Hostile(
        "rows.npz",
        "another compression",
        lambda: zipped([("x.npy", npy((1,)))], zipfile.ZIP_BZIP2),
        ("never writes", COPY),
    ),
    Hostile("rows.npz", "a password", encrypted, ("password", COPY)),
    Hostile("rows.npz", "objects", lambda: zipped([("x.npy", OBJECTS)]), ("x (objects)",)),
    Hostile(
        "rows.npz",
        "a name that steers",
        lambda: zipped([("\x1b[2J.npy", npy((1,), content=bytes(4)))]),
        ("?[2J",),
    ),
    Hostile("rows.npz", "no end", lambda: BY_FILE["rows.npz"].example()[:-30], DAMAGED),
    Hostile(
        "model.npz", "10^15 bytes declared", lambda: zipped([("W.npy", npy((10**15,)))]), DAMAGED
    ),
    Hostile("model.npz", "a bomb", bomb, (*TOO_MUCH, "numpy.savez")),
    Hostile("model.npz", "objects", lambda: zipped([("W.npy", OBJECTS)]), (PICKLED,)),
    Hostile(
        "model.npz",
        "one name twice",
        lambda: zipped([("W.npy", npy((1,), content=bytes(4)))] * 2),
        ("two arrays of one name", COPY),
    ),
    Hostile(
        "rows.idx",
        "sizes that overflow",
        lambda: b"\0\0\x08\x04" + b"\xff" * 16,
        ("bytes after the header", COPY),
    ),
    Hostile(
        "rows.idx", "none of very many", lambda: b"\0\0\x08\x04" + bytes(4) + b"\xff" * 12, DAMAGED
    ),
    Hostile("rows.idx.gz", "a bomb", lambda: many(b"\0"), (*TOO_MUCH, "gunzip")),
    Hostile("rows.csv.gz", "a bomb", lambda: many(b"1,0\n"), (*TOO_MUCH, "gunzip")),
    Hostile("sequences.fasta.gz", "a bomb", lambda: many(b">a\nAC\n"), (*TOO_MUCH, "gunzip")),
    Hostile(
        "rows.csv.gz",
        "a wrong sum",
        lambda: gzip.compress(TEXT.encode(), mtime=0)[:-8] + bytes(8),
        DAMAGED,
    ),
    Hostile("rows.csv", "200,000 columns", wide, ("at most 32,768 columns", "as an array")),
    Hostile(
        "rows.csv",
        "signs that steer",
        lambda: b"a,b\n\x1b[2J,1\n",
        ("a column that can be modelled",),
    ),
    Hostile(
        "rows.csv",
        "a cell of 200,000 signs",
        lambda: b"a,b\n" + b"x" * 200_000 + b",1\n",
        ("a longer one",),
    ),
    Hostile("rows.parquet", "a bomb", parquet_bomb, ("of memory", "save it as an array")),
    Hostile("streamed.parquet", "two flags", lambda: TWO_FLAGS, DAMAGED),
    Hostile("rows.parquet", "no end", lambda: BY_FILE["rows.parquet"].example()[:-9], DAMAGED),
    Hostile("rows.arrow", "no end", lambda: BY_FILE["rows.arrow"].example()[:-9], DAMAGED),
    Hostile(
        "model.safetensors",
        "a head of 2^63 bytes",
        lambda: tensors("{}", length=2**63),
        ("got a truncated",),
    ),
    Hostile(
        "model.safetensors",
        "10^15 bytes declared",
        lambda: model("[4,3]", "[400000000,3000000]"),
        ("got a truncated",),
    ),
    Hostile(
        "model.safetensors",
        "sizes that overflow",
        lambda: model("[4,3]", f"[{2**62},{2**62}]"),
        ("got a truncated",),
    ),
    Hostile(
        "model.safetensors",
        "one name twice",
        lambda: model('"hidden.bias":', '"weights":'),
        ("twice in one object",),
    ),
    Hostile(
        "model.safetensors",
        "a number that is none",
        lambda: model('\\"version\\": 1', '\\"version\\": NaN'),
        ("NaN, which is not a JSON number",),
    ),
    Hostile(
        "model.safetensors",
        "a deep head",
        lambda: model('\\"version\\": 1', f'\\"version\\": {DEEP}'),
        ("nested too deeply",),
    ),
    Hostile(
        "model.safetensors",
        "arrays left to the size",
        lambda: model(
            '\\"size\\": 4, \\"bias\\": {\\"tensor\\": \\"visible.bias\\"}',
            '\\"size\\": 1000000000000, \\"bias\\": null',
        ),
        ("1,000,000,000,000 at visible.size",),
    ),
    Hostile(
        "model.safetensors",
        "arrays left to a small size",
        lambda: model('{\\"tensor\\": \\"visible.bias\\"}', "null"),
        ("no array and no layer as its bias",),
    ),
    Hostile(
        "model.safetensors",
        "a bare number for an array",
        lambda: model('{\\"tensor\\": \\"visible.bias\\"}', "0.5"),
        ("no array and no layer as its bias",),
    ),
    Hostile(
        "model.safetensors",
        "one array for two fields",
        lambda: model('\\"hidden.bias\\"', '\\"visible.bias\\"'),
        ("an array 'visible.bias' that no other field uses",),
    ),
    Hostile(
        "model.safetensors",
        "10^9 trials",
        lambda: model(
            '{\\"type\\": \\"Bernoulli\\", \\"fields\\": {',
            '{\\"type\\": \\"Binomial\\", \\"fields\\": {\\"total\\": 1000000000, ',
        ),
        ("1,000,000,000 at visible.total, which exceeds both 65,535",),
    ),
    Hostile(
        "model.safetensors",
        "true for a size",
        lambda: model('\\"size\\": 3', '\\"size\\": true'),
        ("True as its size",),
    ),
    Hostile(
        "model.safetensors",
        "a module beside it",
        lambda: model('\\"type\\": \\"Bernoulli\\"', '\\"type\\": \\"mylayers:Ternary\\"'),
        ("import it first, or call hm.load(..., trust=['mylayers'])", "--trust mylayers"),
    ),
    Hostile(
        "model.safetensors",
        "a function for a layer",
        lambda: model('\\"type\\": \\"Bernoulli\\"', '\\"type\\": \\"os:system\\"'),
        ("layers of modules that are imported",),
    ),
    Hostile(
        "model.safetensors",
        "a name that steers",
        lambda: model('\\"type\\": \\"Bernoulli\\"', '\\"type\\": \\"\\\\u001b[2J\\"'),
        ("layers of modules that are imported",),
    ),
    Hostile(
        "checkpoints/last.safetensors",
        "a head of 2^63 bytes",
        lambda: tensors("{}", length=2**63),
        ("got a truncated",),
    ),
    Hostile(
        "config.json",
        "one name twice",
        changed("config.json", "{", '{"source": "b",'),
        ("'source' twice", *RUN),
    ),
    Hostile(
        "config.json",
        "a number that is none",
        changed("config.json", '"seed": 0', '"seed": NaN'),
        ("NaN, which", *RUN),
    ),
    Hostile(
        "config.json",
        "an infinite number",
        changed("config.json", '"lr": null', '"lr": 1e999'),
        ("1e999, which", *RUN),
    ),
    Hostile(
        "config.json",
        "a number of many digits",
        changed("config.json", '"seed": 0', f'"seed": {"1" * 999}'),
        ("999 digits", *RUN),
    ),
    Hostile("config.json", "deep lists", lambda: DEEP.encode(), ("nested too deeply", *RUN)),
    Hostile(
        "config.json", "rather deep lists", lambda: NESTED.encode(), ("nested too deeply", *RUN)
    ),
    Hostile(
        "config.json",
        "half a sign",
        changed("config.json", '"a"', '"\\ud800"'),
        ("surrogates", *RUN),
    ),
    Hostile(
        "config.json",
        "a name that steers",
        changed("config.json", '"pcd"', '"\\u001b[2J"'),
        ("--method", *RUN),
    ),
    Hostile(
        "columns.json",
        "one name twice",
        changed("columns.json", "{", '{"columns": [],'),
        ("'columns' twice", "restore it"),
    ),
    Hostile(
        "columns.json", "deep lists", lambda: DEEP.encode(), ("nested too deeply", "restore it")
    ),
    Hostile(
        "columns.json",
        "words for numbers",
        lambda: columns(scale="1"),
        ("as the scale of a column",),
    ),
    Hostile(
        "columns.json",
        "very many decimals",
        lambda: columns(decimals=10**18),
        ("restore the file, or train a new model",),
    ),
    Hostile(
        "sites.json",
        "an infinite width",
        changed("sites.json", '"width": 5', '"width": 1e999'),
        ("1e999, which", "restore it"),
    ),
    Hostile(
        "sites.json",
        "a width of 10^15",
        changed("sites.json", '"width": 5', f'"width": {10**15}'),
        ("the sites of an alignment", "restore the file"),
    ),
    Hostile(
        "sites.json",
        "letters of two bytes",
        changed("sites.json", '"-ACGU"', '"-ACGUé"'),
        ("the sites of an alignment", "restore the file"),
    ),
    Hostile(
        "sequences.sto",
        "a name of a blank",
        lambda: b"# STOCKHOLM 1.0\n\xc2\x85 AC\n//\n",
        ("give each sequence a name",),
    ),
    Hostile(
        "sequences.fasta",
        "a name that steers",
        lambda: b">\x1b[2J\nAC\n>b\nACG\n",
        ("align them first",),
    ),
    Hostile(
        "sequences.fasta",
        "NUL bytes among letters",
        lambda: b">a\nA\0C\n>b\nACG\n",
        ("binary content", "write sequences as FASTA"),
    ),
    Hostile(
        "sequences.sto",
        "200,000 families",
        lambda: b"# STOCKHOLM 1.0\na AC\nb AC\n//\n" * 200_000,
        ("200,000 families", "choose one"),
    ),
    Hostile(
        "sequences.clustal",
        "a name that steers",
        lambda: b"CLUSTAL\n\n\x1b[2J AC\n\n\x1b[2J A\nb A\n",
        ("in lines 3 and 5",),
    ),
    Hostile(
        "sequences.phy",
        "10^9 sequences declared",
        lambda: b"999999999 999999999\na AC\nb AG\n",
        ("999,999,999 sequences", "write the sequences as FASTA"),
    ),
    Hostile(
        "sequences.phy",
        "a number of many digits",
        lambda: b"1" * 9999 + b" 4\na ACGU\n",
        ("write sequences as FASTA",),
    ),
    Hostile("sequences.psicov", "a program", lambda: b"#!/bin/sh\nrm -r x\n", ("write sequences",)),
    Hostile(
        "distances.txt",
        "numbers that are none",
        lambda: b"nan inf 3\n",
        ("columns of the alignment",),
    ),
]
if "model.h5" in BY_FILE:
    HOSTILE += [
        Hostile(
            "model.h5", "10^15 bytes declared", lambda: hdf5(declared), ("of content in a file",)
        ),
        Hostile("model.h5", "a heap without an end", endless, DAMAGED),
        Hostile("model.h5", "a link out of it", lambda: hdf5(linked), ("never followed",)),
    ]
