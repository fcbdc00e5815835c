"""HDF5 files in which the rbms package (Decelle, Furtlehner, Seoane and others) saves models.

The layout of rbms 0.5 follows. As in harmonium, the energy is E = −a·v − b·h − vᵀWh, in nats:

    model_type                              "BBRBM" (Bernoulli) or "PBRBM" (Potts visible units)
    parallel_chains                         visible states of the chains
    hyperparameters/                        the numbers needed to resume training
    update_N/params/weight_matrix           (visible, hidden) or (sites, states, hidden)
    update_N/params/vbias, hbias            (visible,) or (sites, states); (hidden,)
    update_N/time, update_N/flags/

Nothing outside the file is opened, and nothing is decompressed: links, virtual arrays, external
storage and filters (which may be plug-ins; rbms uses none) are rejected before any data is read.
"""

from __future__ import annotations

import io
import math
import re
import struct
from pathlib import Path
from typing import Any

import numpy as np

from ..._base.files import check_unpacked_size, parser_errors
from ...errors import ModelFileError
from ...rbm import RBM
from ..convert.base import Parameters, listed, model_of, optional, parameters_of, short
from .base import COPY_AGAIN, AbstractFormat

EXPECTED = "an HDF5 file of the rbms package"
FIELDS = ("weight_matrix", "vbias", "hbias")
MODEL_TYPES = {2: "BBRBM", 3: "PBRBM"}  # keyed by the number of axes of W
SETTINGS = ("num_chains", "batch_size", "gibbs_steps", "seed")  # integer settings
RATES = ("learning_rate", "train_size", "L1", "L2")
LARGEST_HEAP = 2**20  # bytes in a heap of strings; HDF5 makes heaps of 2^12
_UPDATE = re.compile(r"update_([0-9]{1,18})")


class RbmsHistory(AbstractFormat):
    """The HDF5 file of a training run with the rbms package, with one group per saved update."""

    suffixes = (".h5", ".hdf5")
    title = "an .h5 of the rbms package"
    part = "update"

    def recognises(self, start: bytes) -> bool:
        return start.startswith(b"\x89HDF\r\n\x1a\n")

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Read the last update, or the update given by `part`, such as `update_100` or `100`."""
        h5py = optional("h5py", str(path))
        with parser_errors(path, EXPECTED), h5py.File(path, "r") as file:
            reader = _Reader(h5py, path)
            parameters = reader.parameters(reader.update(file, part))
            reader.check_model_type(file, np.ndim(parameters.weights))
        return model_of(parameters, str(path), FIELDS)

    def serialise(self, rbm: RBM, source: str) -> bytes:
        """Return an HDF5 file with one update and no chains; unknown settings are stored as 0."""
        arrays = parameters_of(rbm, source)
        h5py = optional("h5py", source)
        content = io.BytesIO()
        with h5py.File(content, "w") as file:
            n_visible = len(arrays.visible_bias)
            settings = {"num_visibles": n_visible, "num_hiddens": len(arrays.hidden_bias)}
            settings |= dict.fromkeys(SETTINGS, 0) | dict.fromkeys(RATES, 0.0)
            for name, value in settings.items():
                file[f"hyperparameters/{name}"] = value
            file["model_type"] = MODEL_TYPES[arrays.weights.ndim]
            file["parallel_chains"] = np.zeros((0, n_visible), np.float32)
            for name, array in zip(FIELDS, arrays, strict=True):
                file[f"update_1/params/{name}"] = array
            file["update_1/time"] = 0.0
            file.create_group("update_1/flags")
        return content.getvalue()


class _Reader:
    """Reads only groups and arrays stored in the file itself, and rejects links and filters."""

    def __init__(self, h5py: Any, path: Path):
        self.h5py = h5py
        self.path = path

    def update(self, file: Any, part: str | None) -> Any:
        """Return the group of the update named by `part`, or of the last update if it is None."""
        names = [name for name in file if isinstance(name, str)]  # bytes if not UTF-8
        matches = [match for name in names if (match := _UPDATE.fullmatch(name))]
        saved = {int(match[1]): match[0] for match in sorted(matches, key=lambda m: int(m[1]))}
        if not saved:
            raise ModelFileError(
                f"{self.path}: expected {EXPECTED}, with groups update_1, ...; got the entries"
                f" {listed(names)}; give a file that rbms wrote in training."
            )
        last = saved[max(saved)]
        if part is None:
            return self.group(file, last)
        match = _UPDATE.fullmatch(f"update_{part.removeprefix('update_')}")
        if match is None or int(match[1]) not in saved:
            raise ModelFileError(
                f"{self.path}:{part}: expected an update that the file holds; got"
                f" {listed(saved.values())}; choose one of these, such as"
                f" {self.path.name}:{last}."
            )
        return self.group(file, saved[int(match[1])])

    def parameters(self, update: Any) -> Parameters:
        """Return W, a and b of an update, with or, in older files, without a `params` group."""
        group = update
        if update.get("params", getlink=True) is not None:
            group = self.group(update, "params")
        arrays = [self.array(group, name) for name in FIELDS]
        for array in arrays:
            if array.dtype.kind not in "buif" or array.shape is None:
                content = "nothing" if array.shape is None else array.dtype
                raise ModelFileError(
                    f"{self.path}: expected real numbers; got {content} in {array.name};"
                    f" {COPY_AGAIN}."
                )
        chunks = [math.prod(array.chunks or ()) * array.dtype.itemsize for array in arrays]
        size = sum(array.size * array.dtype.itemsize for array in arrays) + max(chunks)
        check_unpacked_size(self.path, self.path.stat().st_size, size, COPY_AGAIN)
        return Parameters(*(array[()] for array in arrays))

    def check_model_type(self, file: Any, axes: int) -> None:
        """Reject a model whose `model_type` is unknown or does not match the axes of W."""
        data = self.array(file, "model_type")
        if data.shape != () or self.h5py.check_string_dtype(data.dtype) is None:
            raise ModelFileError(
                f"{self.path}: expected a text model_type; got {data.dtype} {data.shape};"
                f" {COPY_AGAIN}."
            )
        model_type = self.text(file, data)
        if MODEL_TYPES.get(axes) != model_type:
            raise ModelFileError(
                f"{self.path}: expected model_type BBRBM with a weight_matrix of 2 axes, or PBRBM"
                f" with one of 3; got {short(model_type)} with {axes}; export it from the package"
                " that wrote it."
            )

    def group(self, parent: Any, name: str) -> Any:
        """Return a group of `parent` that is stored in the file itself."""
        return self._entry(parent, name, self.h5py.Group, "a group")

    def array(self, parent: Any, name: str) -> Any:
        """Return an array of `parent`, not yet read, that is stored in the file without filters."""
        array = self._entry(parent, name, self.h5py.Dataset, "an array")
        is_packed = array.id.get_create_plist().get_nfilters()
        if array.is_virtual or array.external or is_packed:
            raise ModelFileError(
                f"{self.path}: expected arrays in the file itself, as rbms writes them; got"
                f" {array.name}, which is kept in other files or packed by a filter; unpack"
                " it with: h5repack -f NONE OLD NEW."
            )
        return array

    def _entry(self, parent: Any, name: str, kind: type, title: str) -> Any:
        """Return an entry of `parent`; raise an error if it is absent, a link, or not a `kind`."""
        link = parent.get(name, getlink=True)
        problem = ""
        if link is None:
            problem = listed(parent)
        elif not isinstance(link, self.h5py.HardLink):
            problem = f"a {type(link).__name__}, which is never followed"
        elif not isinstance(parent[name], kind):
            problem = f"a {type(parent[name]).__name__}"
        if problem:
            place = f"{parent.name.rstrip('/')}/{name}"
            raise ModelFileError(
                f"{self.path}: expected {title} {place} in the file itself; got {problem};"
                f" {COPY_AGAIN}."
            )
        return parent[name]

    def text(self, file: Any, data: Any) -> str:
        """Read a string; a string of variable length is stored as an object in a heap.

        HDF5 (2.0.0) loops forever on a heap with objects of size zero, so the heap is parsed here
        (HDF5 File Format Specification, section III.E). The array contains the string's length, the
        address of the heap, and the string's index in the heap. A heap consists of "GCOL", the
        version, its size, and objects, each with its index, reference count, size, and bytes
        (padded to eight).
        """
        if self.h5py.check_string_dtype(data.dtype).length is not None:
            return data[()].decode("utf-8", "replace")
        place = data.id.get_offset()
        if place is None or file.userblock_size:
            raise ModelFileError(
                f"{self.path}: expected a text as rbms writes it; got one stored differently;"
                f" {COPY_AGAIN}."
            )
        with self.path.open("rb") as raw:
            raw.seek(place)
            length, heap, number = struct.unpack("<IQI", raw.read(16))
            raw.seek(heap)
            signature, heap_size = struct.unpack("<8sQ", raw.read(16))
            if signature != b"GCOL\1\0\0\0" or not 16 <= heap_size <= LARGEST_HEAP:
                raise ValueError("no heap of texts")
            objects = raw.read(heap_size - 16)
        while len(objects) >= 16:
            object_number, size = struct.unpack("<H6xQ", objects[:16])
            if object_number == number:
                return objects[16 : 16 + min(length, size)].decode("utf-8", "replace")
            if object_number == 0:  # the free space at the end of the heap
                break
            objects = objects[16 + 8 * math.ceil(size / 8) :]
        raise ValueError("a text that is not in its heap")
