"""Bad input of any kind gives one clear line and exit status 2, and changes no file.

To add a case, add a line to `CASES`: the command and what its message must contain. `workshop`
makes the files that the commands name; `{bars}` is the folder of a trained run.
"""

import json
import os
import re
import shutil
import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import harmonium as hm

ROWS = np.random.default_rng(0).integers(0, 2, (20, 4)).astype(float)
WEIGHTS = np.random.default_rng(1).normal(size=(4, 3)).astype(np.float32)
MANY = 2**31 - 1
MORE_DIGITS_THAN_PYTHON_PRINTS = "9" * 5_000


class Case:
    """A command line, without quotes, and the words that its message must contain."""

    def __init__(self, command: str, *words: str):
        self.command = command
        self.words = words

    def __repr__(self):
        return self.command[:60]


CASES = [
    # rows: values and shapes
    Case("train nan.npy", "nan.npy: expected finite numbers", "nan at row 3, column 1"),
    Case("train nan.npy --visible gaussian", "nan.npy: expected finite", "nan at row 3"),
    Case("train inf.npy --visible gaussian", "inf.npy: expected finite", "inf at row 2"),
    Case("train inf.csv", "inf.csv: column 'column 1': expected finite numbers", "in row 2"),
    Case("train negative.npy", "negative.npy: expected values in [0, 1]", "-0.5 at row 0"),
    Case("train levels.npy", "levels.npy", "--scale MAX"),
    Case("train reals.npy", "reals.npy: expected values in [0, 1]", "--visible gaussian"),
    Case("train reals.npy --visible potts", "reals.npy: expected whole codes", "1.25 at row 0"),
    Case("train reals.npy --visible ising", "reals.npy: expected spins", "1.25 at row 0"),
    Case("train codes.npy --visible potts --states 2", "codes.npy: expected whole codes from 0"),
    Case("train bits.npy --visible ising", "bits.npy: expected spins −1 or +1"),
    Case("train ragged.csv", "ragged.csv: expected 3 columns", "2 in line 2"),
    Case("train text.csv", "text.csv: expected a column that can be modelled", "r: always 1"),
    Case("train gap.csv", "gap.csv: expected a column that can be modelled", "always 0"),
    Case("train empty.csv", "empty.csv: expected data", "an empty file"),
    Case("train blank.csv", "blank.csv: expected rows", "only blank lines"),
    Case("train header.csv", "header.csv: expected rows", "a header and no rows"),
    Case("train no_rows.npy", "no_rows.npy: expected at least one row", "shape (0, 4)"),
    Case("train line.npy", "line.npy", "shape (4,)"),
    Case("train words.npy", "words.npy: expected numbers", "text"),
    Case("train complex.npy", "complex.npy: expected numbers", "complex"),
    Case("train pickled.npy", "pickled.npy", "pickled Python objects, which are never loaded"),
    Case("train truncated.npy", "truncated.npy", "truncated or damaged"),
    Case("train renamed.npy", "renamed.npy: expected a NumPy .npy file"),
    Case("train renamed.npz", "renamed.npz: expected a NumPy .npz file"),
    Case("train parts.npz:nothing", "parts.npz: expected data rows under 'nothing'"),
    Case("train parts.npz:words", "parts.npz", "dtype"),
    Case("train nothing.csv", "nothing.csv: expected a built-in set", "no such file"),
    Case("train digit", "digit: expected a built-in set", "perhaps you mean 'digits'"),
    Case("train folder", "folder: expected a readable file; got a folder"),
    Case("train unknown.xyz", "unknown.xyz: expected a file of a known format"),
    # numbers: each option of train
    *[
        Case(f"train bits.npy --{option} {value}", f"--{option}: expected a whole number", value)
        for option in ("hidden", "k", "chains", "epochs", "batch")
        for value in ("0", "-3", "1.5", "many", "nan", "1e3", "99999999999")
    ],
    *[
        Case(f"train bits.npy --{option} {value}", f"--{option}: expected a", value)
        for option in ("lr", "scale")
        for value in ("0.0", "-0.1", "nan", "inf", "fast", "1e+39")
    ],
    Case("train bits.npy --seed -1", "--seed: expected a whole number from 0 to", "-1"),
    Case("train bits.npy --seed 4294967296", "--seed: expected a whole number from 0 to"),
    Case("train bits.npy --seed x", "--seed: expected a whole number; got 'x'"),
    Case("train bits.npy --validation 1", "--validation: expected auto, or a fraction", "1.0"),
    Case("train bits.npy --validation -0.1", "--validation: expected auto, or a fraction", "-0.1"),
    Case("train bits.npy --validation nan", "--validation: expected auto, or a fraction", "nan"),
    Case("train bits.npy --validation some", "--validation: expected a number", "'some'"),
    Case("train bits.npy --states 3", "bits.npy: expected no states", "--visible potts"),
    Case("train codes.npy --visible potts --states 1", "--states: expected", "at least 2"),
    Case("train codes.npy --visible potts --states 70000", "2 to 65,536 states"),
    Case("train bars --scale 3", "bars: expected no scale with a built-in set"),
    Case("train bits.npy --visible ising --scale 3", "bits.npy: expected no scale with spins"),
    Case(f"train bits.npy --hidden {MORE_DIGITS_THAN_PYTHON_PRINTS}", "--hidden: expected"),
    Case("train bits.npy --hidden ６４", "--hidden: expected a whole number"),
    # words and sizes
    Case(
        "train bits.npy --method sgd",
        "--method: expected one of pcd, cd, exact, auto,",
        "got 'sgd'",
    ),
    Case("train bits.npy --precision half", "--precision: expected one of auto, float32"),
    Case("train bits.npy --precision bfloat16 --method tap", "multiplies weights by other"),
    Case("train bits.npy --binarize yes", "--binarize: expected one of stochastic, threshold"),
    Case("train bits.npy --visible real", "--visible: expected one of auto, tree, bernoulli"),
    Case("train bits.npy --hidden-units real", "--hidden-units: expected one of bernoulli, "),
    Case("train bits.npy --hidden-units potts", "--hidden-units: expected the number of states"),
    Case("train bits.npy --hidden-states 3", "--hidden-units: expected no number of states"),
    Case("train bits.npy --hidden-units potts --hidden-states 1", "--hidden-states: expected"),
    Case("train digits --method exact", "--method exact: expected", "2^24", "got 2^64 states"),
    Case(f"train bits.npy --chains {MANY} --hidden 9999", "--chains: expected sizes", "GiB"),
    Case(f"train bits.npy --hidden {MANY}", "--hidden: expected sizes that fit into", "GiB"),
    Case(f"train bits.npy --batch 1 --epochs {MANY}", "--epochs: expected at most", "updates"),
    # where a run goes
    Case("train bits.npy --out bits.npy", "--out bits.npy: expected a folder; got a file"),
    Case("train bits.npy --out bits.npy/run", "--out bits.npy/run: expected a folder", "a file at"),
    Case("train bits.npy --out folder", "--out folder: expected a new or empty folder"),
    Case("train bits.npy --out folder --overwrite", "--out folder", "something other than a run"),
    Case("train bits.npy --out other --overwrite", "--out other", "something other than a run"),
    Case("train bits.npy --out damaged --overwrite", "--out damaged", "something other"),
    Case("train bars --out {bars}", "expected a new or empty folder", "or add --overwrite"),
    Case("train bars --out {bars} --overwrite --hidden 0", "--hidden: expected"),
    Case("train nan.npy --out {bars} --overwrite", "nan.npy: expected finite numbers"),
    # the command line itself
    Case("trian digits", "'trian'", "expected train, resume, tune, sample"),
    Case("train", "train: expected SOURCE; got nothing"),
    Case("train bits.npy --distributed --watch", "--watch: expected a run of one process"),
    Case("train bits.npy --distributed --k 0", "--k: expected a whole number of at least 1"),
    Case("train bits.npy bits.npy", "train: expected nothing more; got bits.npy"),
    Case("train bits.npy --hiden 3", "--hiden: expected an option", "--hidden"),
    Case("train bits.npy --hidden", "--hidden: expected a value after it"),
    Case("train bits.npy --json=yes", "--json: expected no value"),
    Case("--frobnicate", "--frobnicate: expected an option of harmonium"),
    Case("evaluate", "evaluate: expected RUN; got nothing"),
    Case("info", "info: expected PATH; got nothing"),
    # models
    Case("evaluate nothing", "nothing: expected a run folder, a model file", "no such file"),
    Case("evaluate folder", "folder: expected a run folder", "without model.safetensors"),
    Case("evaluate random.safetensors", "random.safetensors: expected a model file"),
    Case("evaluate truncated.safetensors", "truncated.safetensors: expected a model file"),
    Case("evaluate empty.safetensors", "empty.safetensors: expected a model file"),
    Case("evaluate renamed.safetensors", "renamed.safetensors: expected a model file"),
    Case(
        "evaluate foreign.safetensors", "foreign.safetensors", "a safetensors file from elsewhere"
    ),
    Case("evaluate header.safetensors", "header.safetensors: expected a model file"),
    Case("evaluate hostile.safetensors", "hostile.safetensors: expected a model file"),
    Case("evaluate sizes.safetensors", "sizes.safetensors: expected"),
    Case("evaluate fieldless.safetensors", "fieldless.safetensors: expected fields bias, size"),
    Case("evaluate type.safetensors", "type.safetensors", "'os.system'"),
    Case("evaluate abstract.safetensors", "abstract.safetensors: expected"),
    Case("evaluate later.safetensors", "later.safetensors: expected format version 1", "99"),
    Case("evaluate nan.safetensors", "nan.safetensors: expected finite numbers in 'weights'"),
    Case("evaluate swapped.safetensors", "swapped.safetensors", "(4, 3)", "(3, 4)"),
    Case("evaluate missing.safetensors", "missing.safetensors: expected an array 'weights'"),
    Case("evaluate no_b.npz", "no_b.npz: expected W", "got no b"),
    Case("evaluate parts.npz", "parts.npz: expected W", "got no W and no a and no b"),
    Case("evaluate swapped.npz", "swapped.npz: expected W of shape", "transpose W"),
    Case("evaluate misfit.npz", "misfit.npz: expected W of shape (visible, hidden)"),
    Case("evaluate cube.npz", "cube.npz: expected W of shape (visible, hidden)"),
    Case("evaluate nan_model.npz", "nan_model.npz: expected finite numbers in 'W'"),
    Case("evaluate huge_model.npz", "huge_model.npz: expected finite numbers in 'W'"),
    Case("evaluate text_model.npz", "text_model.npz: expected real numbers in 'W'"),
    Case("evaluate pickled_model.npz", "pickled_model.npz", "pickled Python objects, which"),
    Case("evaluate truncated_model.npz", "truncated_model.npz", "a truncated or damaged one"),
    Case(
        "evaluate renamed.npz",
        "renamed.npz: expected an .npz archive",
        "a truncated or damaged one",
    ),
    Case("evaluate bits.npy", "bits.npy: expected a model file"),
    Case("evaluate unconfined.safetensors", "unconfined.safetensors", "a finite Z"),
    Case("sample random.safetensors", "random.safetensors: expected a model file"),
    Case("sample nothing", "nothing: expected a run folder"),
    Case("info random.safetensors", "random.safetensors: expected a model file"),
    Case("info nan_model.npz", "nan_model.npz: expected finite numbers in 'W'"),
    Case("info folder", "folder: expected a run folder"),
    Case("info nothing", "nothing: expected a built-in set"),
    Case("info levels.npy", "levels.npy", "--visible potts"),
    # evaluate
    Case("evaluate model.npz wide.npy", "wide.npy: expected 4 columns", "got 5"),
    Case("evaluate model.npz nan.npy", "nan.npy: expected finite numbers", "nan at row 3"),
    Case("evaluate model.npz reals.npy", "reals.npy: expected values in [0, 1]"),
    Case("evaluate model.npz nothing.csv", "nothing.csv: expected a built-in set"),
    Case("evaluate model.npz bits.npy --rows test", "bits.npy: expected test rows", "train rows"),
    Case("evaluate model.npz --rows all", "--rows: expected one of auto, train"),
    Case(
        "evaluate model.npz --method ais",
        "--method: expected one of auto, exact, annealed, tempered",
    ),
    Case("evaluate model.npz bits.npy --binarize x", "--binarize: expected one of stochastic"),
    Case("evaluate model.npz bits.npy --scale -1", "--scale", "-1"),
    *[
        Case(f"evaluate model.npz --{option} {value}", f"--{option}: expected a whole number")
        for option in ("chains", "steps")
        for value in ("0", "1", "-5", "few", "99999999999")
    ],
    Case("evaluate model.npz --method tempered --steps 9", "--steps 9: expected no --steps"),
    Case("evaluate model.npz --method tempered --chains 7", "--chains: expected a whole number"),
    *[
        Case(f"evaluate model.npz --seconds {value}", "--seconds: expected a", value)
        for value in ("0.0", "-1.0", "nan", "inf", "soon")
    ],
    Case("evaluate model.npz --pictures bits.npy", "--pictures bits.npy: expected a folder"),
    Case("evaluate model.npz --pictures bits.npy/new", "expected a folder", "got a file at"),
    Case("evaluate model.npz --pictures new --quick", "--pictures new: expected no --quick"),
    Case("evaluate {bars} --pictures new --rows test", "expected test rows"),
    Case("evaluate model.npz --seed -1", "--seed: expected a whole number from 0"),
    Case(
        "evaluate big.npz --method exact", "--method exact: expected", "2^28", "got 2^2000 states"
    ),
    Case("evaluate potts.safetensors codes.npy", "codes.npy: expected whole codes from 0 to 1"),
    Case("evaluate mixed.safetensors reals.npy", "reals.npy: expected that a Bernoulli unit"),
    # sample
    *[
        Case(f"sample model.npz {option} {value}", f"--{name}: expected a whole number")
        for option, name in (("-n", "count"), ("--sweeps", "sweeps"))
        for value in ("0", "-1", "2.5", "some", "99999999999")
    ],
    Case("sample model.npz --seed -1", "--seed: expected a whole number from 0"),
    Case(f"sample big.npz -n {MANY}", "memory: expected sizes that fit", "TiB more"),
    Case("sample model.npz --given wide.npy", "--given wide.npy: expected 4 columns", "got 5"),
    Case("sample model.npz --given reals.npy", "--given reals.npy: expected that", "Bernoulli"),
    Case("sample model.npz --given inf.npy", "--given inf.npy: expected that", "got inf"),
    Case("sample model.npz --given text.csv", "--given text.csv: expected rows", "got words"),
    Case("sample model.npz --given words.npy", "--given words.npy: expected rows of numbers"),
    Case("sample model.npz --given line.npy", "--given line.npy: expected rows of numbers"),
    Case("sample model.npz --given no_rows.npy", "--given no_rows.npy: expected rows"),
    Case("sample model.npz --given empty.csv", "empty.csv: expected data"),
    Case("sample model.npz --given nothing.csv", "nothing.csv: expected a readable file"),
    Case("sample potts.safetensors --given codes.npy", "--given codes.npy: expected that", "2"),
    Case("sample model.npz --out bits.npy", "--out bits.npy: expected a new file", "--overwrite"),
    Case("sample model.npz --out rows.txt", "--out rows.txt: expected a name ending in .npy"),
    Case("sample model.npz --out new/rows.npy", "--out new/rows.npy", "no folder 'new'"),
    Case("sample model.npz --out x.npy --overwrite", "--out x.npy: expected a file", "a folder"),
    # export, and other packages' files
    Case("export", "export: expected RUN; got nothing"),
    Case("export model.npz", "export: expected OUT; got nothing"),
    Case("export nothing x.h5", "nothing: expected a run folder", "no such file"),
    Case("export model.npz rows.npy", "rows.npy: expected a name ending in .safetensors, .npz"),
    Case("export model.npz rows", "rows: expected a name ending in", ".pth or .json"),
    Case("export model.npz good.safetensors", "expected a new file", "or add --overwrite"),
    Case("export model.npz new/x.h5", "new/x.h5: expected a file in a folder", "no folder 'new'"),
    Case("export mixed.safetensors x.h5", "x.h5: expected Bernoulli or Potts visible", "Mixed"),
    Case("export mixed.safetensors model.npz --overwrite", "model.npz: expected Bernoulli or"),
    Case(
        "export potts.safetensors x.json", "x.json: expected independent units that take two values"
    ),
    Case("export nan_model.npz model.npz --overwrite", "finite numbers in 'W'"),
    Case("evaluate random.h5", "random.h5: expected an HDF5 file of the rbms package"),
    Case("evaluate good.h5:update_2", "expected an update that the file holds", "'update_1'"),
    Case("evaluate model.npz:update_1", "model.npz:update_1: expected a run folder"),
    Case("sample random.pt", "random.pt: expected"),
    Case("info random.h5", "random.h5: expected an HDF5 file"),
    Case("info good.h5:x", "good.h5:x: expected an update"),
    # resume
    Case("resume nothing", "nothing: expected the folder of a run; got no such folder"),
    Case("resume folder", "folder: expected the folder of a run; got a folder without"),
    Case("resume {bars} --epochs 0", "--epochs: expected a whole number of at least 1"),
    Case("resume {bars} --epochs 2", "--epochs: expected at least the 3 epochs already made"),
    Case("resume damaged", "damaged/config.json: expected the options of a run"),
    Case("resume list", "list/config.json: expected the options of a run"),
    Case("resume options", "options/config.json", "--hidden: expected a whole number"),
    Case("resume deep", "deep/config.json: expected the options of a run"),
    Case("resume truncated", "last.safetensors: expected a model file that harmonium wrote"),
    Case("resume rate", "rate/config.json", "--lr: expected a positive number; got 'fast'"),
    Case("resume misfit", "last.safetensors: expected an array", "a run with other options"),
    Case("resume infinite", "last.safetensors: expected the state of a run", "not finite"),
    Case("resume moved", "shifter: expected the rows that moved began with; got other rows"),
    Case("resume gone", "gone.csv: expected a built-in set (", "no such file"),
    Case("evaluate damaged", "damaged/config.json: expected the options of a run"),
    Case("evaluate gone", "gone.csv: expected a built-in set"),
    Case("info damaged", "damaged/config.json: expected the options of a run"),
]


# --- the files that the commands name -----------------------------------------------------


def with_header(source: Path, target: str, change) -> None:
    """Copy a model file and change its description."""
    content = source.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    described = json.loads(header["__metadata__"]["harmonium"])
    del described["sha256"]  # as files of earlier versions have none
    change(described)
    metadata = {"harmonium": json.dumps(described)}
    save_file(load_file(source), target, metadata)


def make_rows() -> None:
    reals = ROWS + 0.25
    nan = ROWS.copy()
    inf = ROWS.copy()
    nan[3, 1] = np.nan
    inf[2, 0] = np.inf
    arrays = {"bits": ROWS.astype(int), "reals": reals, "nan": nan, "inf": inf}
    arrays |= {"negative": ROWS - 0.5, "wide": np.ones((6, 5)), "no_rows": np.ones((0, 4))}
    arrays |= {"levels": np.arange(12).reshape(3, 4), "codes": np.arange(20).reshape(5, 4) % 3}
    arrays |= {"line": ROWS[0], "words": np.array([["a", "b"]]), "complex": ROWS + 1j}
    for name, array in arrays.items():
        np.save(f"{name}.npy", array)
    np.save("pickled.npy", np.array([{"a": 1}, None], object), allow_pickle=True)
    np.savez("parts.npz", rows=ROWS, words=np.array(["a", "b"]))
    texts = {"ragged": "1,0,1\n1,0\n", "text": "r,c\n1,red\n", "gap": "1,0\n1,\n", "empty": ""}
    texts |= {"blank": "\n \n\n", "header": "a,b,c\n", "inf": "0,1\ninf,1\n"}
    for name, text in texts.items():
        Path(f"{name}.csv").write_text(text)
    Path("truncated.npy").write_bytes(Path("bits.npy").read_bytes()[:-9])
    for suffix in ("npy", "npz", "safetensors"):
        Path(f"renamed.{suffix}").write_text("this is plain text\n" * 9)
    Path("unknown.xyz").write_text("1,2\n")
    Path("folder").mkdir()
    Path("folder/keep.txt").write_text("keep me")
    Path("x.npy").mkdir()
    Path("other/checkpoints").mkdir(parents=True)  # a model folder that another program made
    Path("other/checkpoints/theirs").write_text("keep me")
    Path("other/config.json").write_text('{"model_type": "theirs", "hidden_size": 8}')
    Path("other/model.safetensors").write_text("keep me")


def make_models() -> None:
    model = {"W": WEIGHTS, "a": np.zeros(4), "b": np.zeros(3)}
    archives = {
        "model": {},
        "swapped": {"W": WEIGHTS.T},
        "misfit": {"b": np.zeros(7)},
        "cube": {"W": np.zeros((4, 3, 2))},
        "nan_model": {"W": np.where(np.eye(4, 3) == 1, np.nan, WEIGHTS)},
        "huge_model": {"W": WEIGHTS.astype(float) * 1e300},
        "text_model": {"W": np.full((4, 3), "x")},
        "pickled_model": {"W": np.array([[None]], object)},
        "big": {"W": np.zeros((2000, 2000), np.float16), "a": np.zeros(2000), "b": np.zeros(2000)},
    }
    for name, changed in archives.items():
        np.savez_compressed(f"{name}.npz", **(model | changed), allow_pickle=True)
    np.savez("no_b.npz", W=WEIGHTS, a=np.zeros(4))
    Path("truncated_model.npz").write_bytes(Path("model.npz").read_bytes()[:-40])
    hm.save(hm.load("model.npz"), "good.safetensors")
    two = {"visible": hm.Potts(4, states=2), "weights": np.zeros((8, 3), np.float32)}
    hm.save(hm.RBM(hidden=hm.Bernoulli(3), **two), "potts.safetensors")
    mixed = hm.Mixed(hm.Bernoulli(2), hm.Gaussian(2))
    hm.save(hm.RBM(mixed, hm.Bernoulli(3), WEIGHTS), "mixed.safetensors")
    hm.save(hm.RBM(hm.Gaussian(4), hm.Gaussian(3), 9 * WEIGHTS), "unconfined.safetensors")


def make_damaged_models() -> None:
    good = Path("good.safetensors")
    content = good.read_bytes()
    tensors = load_file(good)
    Path("truncated.safetensors").write_bytes(content[:-10])
    Path("empty.safetensors").write_bytes(b"")
    for suffix in ("h5", "pt"):
        Path(f"random.{suffix}").write_bytes(np.random.default_rng(3).bytes(500))
    hm.save(hm.load("model.npz"), "good.h5")
    Path("random.safetensors").write_bytes(np.random.default_rng(2).bytes(500))
    Path("header.safetensors").write_bytes(content.replace(b'"shape"', b'"sha]]e'))
    Path("hostile.safetensors").write_bytes(struct.pack("<Q", 2**60) + content[8:])
    save_file(tensors, "foreign.safetensors")
    metadata = {"harmonium": _description(content)}
    nan = tensors | {"weights": np.full((4, 3), np.nan, np.float32)}
    save_file(nan, "nan.safetensors", metadata)
    turned = tensors | {"weights": np.ascontiguousarray(WEIGHTS.T)}
    save_file(turned, "swapped.safetensors", metadata)
    without = {name: array for name, array in tensors.items() if name != "weights"}
    save_file(without, "missing.safetensors", metadata)
    changes = {
        "sizes": lambda d: d["visible"]["fields"].update(size=10**12),
        "fieldless": lambda d: d["visible"]["fields"].pop("bias"),
        "type": lambda d: d["visible"].update(type="os.system"),
        "abstract": lambda d: d["visible"].update(type="AbstractLayer", fields={}),
        "later": lambda d: d.update(version=99),
    }
    for name, change in changes.items():
        with_header(good, f"{name}.safetensors", change)


def _description(content: bytes) -> str:
    length = int.from_bytes(content[:8], "little")
    header = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["harmonium"])
    del header["sha256"]  # which other arrays do not have
    return json.dumps(header)


def make_runs(bars: Path) -> None:
    config = json.loads((bars / "config.json").read_text())
    configs = {
        "damaged": "{",
        "list": "[1, 2]",
        "deep": "[" * 100_000,
        "options": json.dumps(config | {"hidden": "many"}),
        "rate": json.dumps(config | {"lr": "fast"}),
        "misfit": json.dumps(config | {"hidden": 5}),
        "moved": json.dumps(config | {"source": "shifter"}),
        "gone": json.dumps(config | {"source": "gone.csv"}),
        "truncated": json.dumps(config),
        "infinite": json.dumps(config),
    }
    for name, text in configs.items():
        shutil.copytree(bars, name)
        Path(name, "config.json").write_text(text)
    checkpoint = bars / "checkpoints" / "last.safetensors"
    state = load_file(checkpoint)
    content = checkpoint.read_bytes()
    for name in ("last", "previous"):
        Path(f"truncated/checkpoints/{name}.safetensors").write_bytes(content[:-3])
    state[".rbm.weights"] = np.full_like(state[".rbm.weights"], np.inf)
    metadata = {"harmonium": _description(content)}
    save_file(state, "infinite/checkpoints/last.safetensors", metadata)


@pytest.fixture(scope="module")
def workshop(tmp_path_factory, trained) -> Path:
    """Return a folder that holds a file for each kind of bad input."""
    folder = tmp_path_factory.mktemp("workshop")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        make_rows()
        make_models()
        make_damaged_models()
        make_runs(trained)
    return folder


def tree(*folders: Path) -> dict[str, tuple[int, int]]:
    """Return every file and folder inside, with its size and the time of its last change."""
    paths = [path for folder in folders for path in folder.rglob("*")]
    return {str(p): (p.lstat().st_size, p.lstat().st_mtime_ns) for p in paths}


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_bad_input_gives_one_line_and_changes_no_file(cli, case, workshop, trained, monkeypatch):
    monkeypatch.chdir(workshop)
    before = tree(workshop, trained)
    status, out, err = cli(case.command.format(bars=trained))
    assert err.count("\n") == 1, err
    assert status == 2, err
    assert re.fullmatch(r"harmonium: .*\S: expected .+; got .+\.\n", err), err
    assert "\x1b" not in err
    assert "Traceback" not in out + err
    for word in case.words:
        assert word in err, err
    assert tree(workshop, trained) == before


def test_json_does_not_change_how_a_mistake_is_reported(cli, workshop, monkeypatch):
    monkeypatch.chdir(workshop)
    plain = cli("train nan.npy")
    as_json = cli("train nan.npy --json")
    assert plain == as_json
    assert as_json.out == ""


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(cli, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("shut").mkdir(mode=0o500)
    for command in ("train bars --out shut/run", "sample bars --out shut/rows.npy"):
        status, _, err = cli(command)
        assert (status, err.count("\n")) == (2, 1)
        assert "shut" in err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder that none may write to")
def test_a_folder_that_cannot_be_made(cli, trained):
    status, _, err = cli("train bars --hidden 4 --chains 8 --batch 8 --epochs 3 --out /proc/run")
    assert (status, err.count("\n")) == (2, 1)
    assert err.startswith("harmonium: --out /proc/run: expected a folder that can be written to")
