"""HDF5 files of the rbms package (Decelle, Furtlehner, Seoane and others): saved updates of a run.

The layout that rbms 0.5 writes and reads, with energies as here, E = −a·v − b·h − vᵀWh, in nats:

    model_type                              "BBRBM" (Bernoulli) or "PBRBM" (Potts visible units)
    parallel_chains                         visible states of its chains
    hyperparameters/                        numbers that its training resumes with
    update_N/params/weight_matrix           (visible, hidden) or (sites, states, hidden)
    update_N/params/vbias, hbias            (visible,) or (sites, states); (hidden,)
    update_N/time, update_N/flags/

Nothing outside the file is opened, and nothing is decompressed: links, virtual arrays, external
storage and filters (which may be plug-ins; rbms uses none) are refused before any data is read.
"""

from __future__ import annotations

import io
import math
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..._files import check_unpacked_size, parser_errors
from ...rbm import RBM
from ..convert.base import Parameters, listed, model_of, optional, parameters_of, short
from .base import COPY_AGAIN, AbstractFormat, file_error

EXPECTED = "an HDF5 file of the rbms package"
FIELDS = ("weight_matrix", "vbias", "hbias")
AXES = {"BBRBM": 2, "PBRBM": 3}  # model types, and how many axes W has
SETTINGS = ("num_chains", "batch_size", "gibbs_steps", "seed")
RATES = ("learning_rate", "train_size", "L1", "L2")
LARGEST_HEAP = 2**20  # bytes of a heap of texts; HDF5 makes them of 2^12
_UPDATE = re.compile(r"update_([0-9]{1,18})")


class RbmsHistory(AbstractFormat):
    """The HDF5 file of a training run with the rbms package: one group for each saved update."""

    suffixes = (".h5", ".hdf5")
    title = "an .h5 of the rbms package"
    part = "update"

    def recognises(self, start: bytes) -> bool:
        """Return whether these bytes begin with the signature of HDF5."""
        return start.startswith(b"\x89HDF\r\n\x1a\n")

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Read the last update, or the one that `part` names, `update_100` or `100`."""
        h5py = optional("h5py", str(path))
        with parser_errors(path, EXPECTED), h5py.File(path, "r") as file:
            group = _update(h5py, file, path, part)
            parameters = _parameters(h5py, group, path)
            _check_type(h5py, file, parameters, path)
        return model_of(parameters, str(path), FIELDS)

    def serialise(self, rbm: RBM, source: str) -> bytes:
        """Return a file with one update, no chains, and settings of 0, as they are not known."""
        arrays = parameters_of(rbm, source)
        h5py = optional("h5py", source)
        content = io.BytesIO()
        with h5py.File(content, "w") as file:
            kind = next(name for name, axes in AXES.items() if axes == arrays.weights.ndim)
            n_visible = len(arrays.visible_bias)
            settings = {"num_visibles": n_visible, "num_hiddens": len(arrays.hidden_bias)}
            settings |= dict.fromkeys(SETTINGS, 0) | dict.fromkeys(RATES, 0.0)
            for name, value in settings.items():
                file[f"hyperparameters/{name}"] = value
            file["model_type"] = kind
            file["parallel_chains"] = np.zeros((0, n_visible), np.float32)
            for name, array in zip(FIELDS, arrays, strict=True):
                file[f"update_1/params/{name}"] = array
            file["update_1/time"] = 0.0
            file.create_group("update_1/flags")
        return content.getvalue()


def _update(h5py: Any, file: Any, path: Path, part: str | None) -> Any:
    """Return the group of an update: the one named by `part`, or the last."""
    names = [name for name in file if isinstance(name, str)]  # bytes if not UTF-8
    saved = {int(m[1]): name for name in names if (m := _UPDATE.fullmatch(name))}
    if not saved:
        found = f"the entries {listed(names)}"
        advice = "name a file that rbms wrote in training"
        raise file_error(path, f"{EXPECTED}, with groups update_1, ...", found, advice)
    if part is None:
        return _own(h5py, file, saved[max(saved)], path, h5py.Group)
    asked = _UPDATE.fullmatch(part if part.startswith("update_") else f"update_{part}")
    if asked is None or int(asked[1]) not in saved:
        held = listed(saved[number] for number in sorted(saved))
        advice = f"choose one of these, such as {path.name}:{saved[max(saved)]}"
        raise file_error(f"{path}:{part}", "an update that the file holds", held, advice)
    return _own(h5py, file, saved[int(asked[1])], path, h5py.Group)


def _own(h5py: Any, group: Any, name: str, path: Path, kind: Any) -> Any:
    """Return an entry stored in this file itself, checked to be a group or an array as expected."""
    link = group.get(name, getlink=True)
    what = "a group" if kind is h5py.Group else "an array"
    where = f"{group.name.rstrip('/')}/{name}"
    if link is None:
        raise file_error(path, f"{what} {where}", listed(group), "name a file that rbms wrote")
    if not isinstance(link, h5py.HardLink):
        found = f"a {type(link).__name__} at {where}, never followed"
        raise file_error(path, f"{what} in the file itself", found, COPY_AGAIN)
    entry = group[name]
    if not isinstance(entry, kind):
        found = f"a {type(entry).__name__} at {where}"
        raise file_error(path, f"{what} {where}", found, COPY_AGAIN)
    return entry


def _parameters(h5py: Any, update: Any, path: Path) -> Parameters:
    """Read W, a and b of an update; older rbms files have no group `params` around them."""
    group = update
    if update.get("params", getlink=True) is not None:
        group = _own(h5py, update, "params", path, h5py.Group)
    arrays = [_own(h5py, group, name, path, h5py.Dataset) for name in FIELDS]
    for array in arrays:
        if array.dtype.kind not in "buif" or array.shape is None:
            found = f"{array.dtype if array.shape is not None else 'nothing'} in {array.name}"
            raise file_error(path, "real numbers", found, COPY_AGAIN)
        _refuse_elsewhere(array, path)
    chunks = [math.prod(array.chunks or ()) * array.dtype.itemsize for array in arrays]
    declared = sum(array.size * array.dtype.itemsize for array in arrays) + max(chunks)
    check_unpacked_size(path, path.stat().st_size, declared, COPY_AGAIN)
    return Parameters(*(array[()] for array in arrays))


def _refuse_elsewhere(data: Any, path: Path) -> None:
    """Refuse data that is stored in other files or packed by a filter."""
    if data.is_virtual or data.external:
        found = f"{data.name}, kept in other files, never opened"
        raise file_error(path, "data in the file itself", found, COPY_AGAIN)
    if data.id.get_create_plist().get_nfilters():
        advice = "unpack it with: h5repack -f NONE OLD NEW"
        raise file_error(path, "data as rbms writes it", f"{data.name}, packed by a filter", advice)


def _text(h5py: Any, file: Any, data: Any, path: Path) -> str:
    """Return a text of any length, which is an object in a heap of texts (a global heap).

    HDF5 (2.0.0) never ends at a heap with objects without a size, so the heap is read here. The
    array itself holds the text's length, the place of its heap, and its number there. A heap is
    "GCOL", the version, its size, and objects: number, uses, size, and as many bytes, rounded to
    eight (HDF5 File Format Specification, section III.E).
    """
    if h5py.check_string_dtype(data.dtype).length is not None:
        return data[()].decode("utf-8", "replace")
    place = data.id.get_offset()
    if place is None or file.userblock_size:
        found = "one that is kept otherwise"
        raise file_error(path, "a text as rbms writes it", found, COPY_AGAIN)
    with path.open("rb") as raw:
        raw.seek(place)
        length, heap, wanted = struct.unpack("<IQI", raw.read(16))
        raw.seek(heap)
        sign, size = struct.unpack("<8sQ", raw.read(16))
        if sign != b"GCOL\1\0\0\0" or size > LARGEST_HEAP:
            raise ValueError("no heap of texts")
        left = raw.read(size - 16) if size > 16 else b""
    while len(left) >= 16:
        number, size = struct.unpack("<H6xQ", left[:16])
        if number == wanted:
            return left[16 : 16 + min(length, size)].decode("utf-8", "replace")
        left = left[16 + -(-size // 8) * 8 :] if number else b""  # 0 is what is free, at the end
    raise ValueError("a text that is not in its heap")


def _check_type(h5py: Any, file: Any, parameters: Parameters, path: Path) -> None:
    """Refuse a model whose `model_type` is unknown or does not match the axes of W."""
    kind = _own(h5py, file, "model_type", path, h5py.Dataset)
    if kind.shape != () or h5py.check_string_dtype(kind.dtype) is None:
        raise file_error(path, "a text model_type", f"{kind.dtype} {kind.shape}", COPY_AGAIN)
    _refuse_elsewhere(kind, path)
    name = _text(h5py, file, kind, path)
    if AXES.get(name) != np.ndim(parameters.weights):
        expected = "model_type BBRBM with a weight_matrix of 2 axes, or PBRBM with one of 3"
        found = f"{short(name)} with {np.ndim(parameters.weights)}"
        raise file_error(path, expected, found, "export it from the package that wrote it")
