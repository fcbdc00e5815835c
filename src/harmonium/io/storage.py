"""Saving and loading models, in a format determined by a file's first bytes and its name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jax

from .._base.files import inside, open_errors
from ..errors import InputError, ModelFileError
from ..rbm import RBM
from .convert.base import checked_model, short
from .formats import AbstractFormat, AnnealerModel, Archive, Native, RbmsHistory, StateDict
from .formats.base import model_file_errors, write_whole
from .formats.base_types import import_trusted

__all__ = ["load", "save"]

FORMATS: tuple[AbstractFormat, ...] = (
    Native(),
    Archive(),
    RbmsHistory(),
    StateDict(),
    AnnealerModel(),
)
SUFFIXES = tuple(suffix for known in FORMATS for suffix in known.suffixes)
MODEL = "model.safetensors"
LONGEST_START = 512  # bytes used to recognise a format; a zip member's name may be long
PICKLED = (".pkl", ".pickle", ".joblib", ".sav")
_PICKLE = re.compile(rb"\x80[\x02-\x05]")  # a pickle's first byte, and its protocol
_FILE_AND_PART = re.compile(r"(?P<file>.+\.[^.:/\\]+):(?P<part>[^:/\\]+)", re.DOTALL)


def save(rbm: RBM, path: str | os.PathLike) -> None:
    """Write a model to a file, in the format given by the file's suffix.

    `.safetensors` stores every model exactly; `.npz`, `.h5` (the rbms package) and `.pt` (PyTorch)
    store models with Bernoulli or Potts visible units and Bernoulli hidden units; `.json` stores a
    quadratic model of Bernoulli and Ising units for annealers (dimod) and cannot be read back. An
    existing file is replaced, but is left unchanged if an error occurs.

    Args:
        rbm: the model.
        path: the file to write.

    Raises:
        InputError: `rbm` is not a model, the folder does not exist, the suffix is unknown, or the
            format cannot represent the layers of the model.
        MissingDependencyError: writing needs a package that is not installed.

    Example:
        >>> import pathlib, tempfile
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     hm.save(rbm, pathlib.Path(folder, "model.npz"))
        ...     with np.load(pathlib.Path(folder, "model.npz")) as arrays:
        ...         print(arrays["W"].shape, arrays["a"].shape, arrays["b"].shape)
        (4, 3) (4,) (3,)
    """
    checked_model(rbm, "save")
    file = Path(path)
    if file.is_dir() or not file.absolute().parent.is_dir():
        raise InputError(
            f"{path}: expected a file in a folder that exists; got another path; create the"
            " folder first, or give a file name."
        )
    # If the format cannot represent the model, this raises an error before the file is touched.
    content = format_to_write(file).serialise(rbm, str(path))
    if jax.process_index() == 0:  # only one of several processes writes the file
        write_whole(file, content)


def load(path: str | os.PathLike, *, trust: Iterable[str] = ()) -> RBM:
    """Load a model from a run folder or a file, without executing any code in the file.

    The file may come from `save` or from another package: `.safetensors`, `.npz` with arrays `W`,
    `a` and `b`, `.h5` of the rbms package, or `.pt` with a PyTorch state dict. `FILE.h5:update_100`
    selects one of the updates saved by rbms; without a selection, the last update is read.

    Custom layers and weights are found if their module has already been imported. A file that names
    a module does not cause the module to be imported.

    Args:
        path: the folder or the file.
        trust: names of modules to import first; the file may use their layers and weights.

    Raises:
        ModelFileError: the file is missing, truncated or of another type, or its arrays have
            inconsistent shapes. Pickles, such as joblib files, are never loaded.
        InputError: a module in `trust` cannot be imported.
        MissingDependencyError: reading needs a package that is not installed.

    Example:
        >>> import pathlib, tempfile
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     hm.save(rbm, pathlib.Path(folder, "model.safetensors"))
        ...     again = hm.load(pathlib.Path(folder, "model.safetensors"))
        >>> print(again, bool((again.weights == rbm.weights).all()))
        RBM(Bernoulli(4) – Bernoulli(3)) True
    """
    import_trusted(trust, "trust")
    file, part = _file_and_part(path)
    with model_file_errors(), open_errors(path):
        if file.is_dir():
            file = inside(file, MODEL)
            if not file.is_file():
                raise ModelFileError(
                    f"{path}: expected a run folder; got a folder without {MODEL}; give a run or a"
                    " model file."
                )
        if not file.is_file():
            *titles, last = (known.title for known in FORMATS if known.is_read)
            actual = "a special file" if file.exists() else "no such file"
            raise ModelFileError(
                f"{path}: expected a run folder, {', '.join(titles)}, or {last}; got {actual};"
                " check the path."
            )
        return _format_of(file).read(file, part)


def holds_model(path: str | os.PathLike) -> bool:
    """Return whether a path should be read as a model, although reading may still fail."""
    file, _ = _file_and_part(path)
    if file.is_dir() or file.suffix.lower() in PICKLED:
        return True  # so that pickles are rejected with a helpful message
    known = _by_suffix(file)
    return known is not None and known.holds_model(file)


def format_to_write(file: Path) -> AbstractFormat:
    """Return the format for writing a file with this suffix.

    Raises:
        InputError: the suffix is unknown.
    """
    known = _by_suffix(file)
    if known is None:
        raise InputError(
            f"{file}: expected a name ending in {', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]};"
            f" got {short(file.name)}; the ending selects the format."
        )
    return known


def _by_suffix(file: Path) -> AbstractFormat | None:
    return next((known for known in FORMATS if file.suffix.lower() in known.suffixes), None)


def _format_of(file: Path) -> AbstractFormat:
    """Return a file's format, determined by the contents or, if ambiguous, by the file's name."""
    with file.open("rb") as opened:
        start = opened.read(LONGEST_START)
    by_suffix = _by_suffix(file)
    by_content = [known for known in FORMATS if known.recognises(start)]
    if by_suffix is not None and (by_suffix in by_content or not by_content):
        return by_suffix
    if by_content:
        return by_content[0]
    if _PICKLE.match(start) or file.suffix.lower() in PICKLED:
        # Loading a pickle would run any code in it, so its contents are not examined.
        raise ModelFileError(
            f"{file}: expected a model file; got a pickle, such as joblib writes, which is never"
            " loaded, since loading runs code in it; if you trust it, load it yourself, pass a"
            " BernoulliRBM of scikit-learn to harmonium.io.from_sklearn, or W and the biases to"
            " harmonium.io.from_arrays, and save the model with harmonium.save."
        )
    return FORMATS[0]  # its error explains that this is not a model file


def _file_and_part(path: Any) -> tuple[Path, str | None]:
    """Split FILE:PART at the colon if the format has parts and no file has exactly this name."""
    match = _FILE_AND_PART.fullmatch(os.fspath(path))
    if match is None or Path(path).exists():
        return Path(path), None
    known = _by_suffix(Path(match["file"]))
    if known is None or known.part is None:
        return Path(path), None
    return Path(match["file"]), match["part"]
