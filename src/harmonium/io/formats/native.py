"""Models and pytrees of any kind as safetensors, with a JSON header that describes them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from ..._files import bytes_of, parsed_json, parser_errors
from ..._numerics import from_numpy
from ...errors import InputError, ModelFileError, input_error
from ...rbm import RBM
from ...sharding import fetched
from ..convert.base import checked_model, clause, finite, listed, short
from .base import COPY_AGAIN, AbstractFormat, file_error, write_whole
from .base_fields import wrong_field, wrong_number
from .base_types import KINDS, name_of_type, type_named

FORMAT = "harmonium"
VERSION = 1
CHECKSUM = "sha256"
EXPECTED = "a model file that harmonium wrote"
NUMBERS = "sizes that fit the arrays, and finite numbers"
PARTS = ("visible", "hidden", "weights")


class Native(AbstractFormat):
    """A safetensors file that holds any model exactly.

    The header holds the layers' types and sizes as JSON. The arrays are `visible.bias`,
    `hidden.bias`, `weights` and any other parameters that the layers have.
    """

    suffixes = (".safetensors",)
    title = "a model file"

    def recognises(self, start: bytes) -> bool:
        """Return whether a JSON header begins where a safetensors file has it."""
        return start[8:9] == b"{"

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Read a model with layers of harmonium's, and of modules that are imported."""
        tensors, header = _read(path)
        try:
            with parser_errors(path, "a description of a model", COPY_AGAIN):  # or of anything
                model = _Described(header, tensors, path)
                visible = model.rebuilt(header["visible"])
                hidden = model.rebuilt(header["hidden"])
                weights = header.get("weights", {"tensor": "weights"})  # for old files
                return RBM(visible, hidden, model.rebuilt(weights))
        except ModelFileError:
            raise
        except InputError as error:
            found = f"that {clause(error)}"
            raise file_error(path, "arrays that fit together", found, COPY_AGAIN) from None

    def serialise(self, rbm: RBM, source: str) -> bytes:
        """Return the content of a file with this model."""
        header, tensors = described(checked_model(rbm, source), source)
        header = {"format": FORMAT, "version": VERSION} | header
        return _serialised(tensors, header)


def described(rbm: RBM, source: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return a model's layers and weights by type and fields, and the arrays that these name.

    Raises:
        InputError: a layer has a field that cannot be described; `source` names the model.
    """
    tensors: dict[str, np.ndarray] = {}
    parts = {"visible": rbm.visible, "hidden": rbm.hidden, "weights": rbm.weights}
    header = {name: _describe(part, name, tensors, source) for name, part in parts.items()}
    for name, part in header.items():
        wrong = wrong_number(part, name, _entries(tensors))
        if wrong is not None:  # which could not be read again
            raise input_error(source, NUMBERS, wrong, "store such a number as an array")
    return header, tensors


def save_tree(tree: Any, path: str | os.PathLike, header: dict[str, Any]) -> None:
    """Write the arrays of any pytree, named by their path in it, with a JSON header."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    tensors = {jax.tree_util.keystr(place): fetched(leaf) for place, leaf in leaves}
    write_whole(path, _serialised(tensors, header))


def load_tree(path: str | os.PathLike, like: Any) -> Any:
    """Read a pytree that `save_tree` wrote, in the structure of `like`.

    Raises:
        ModelFileError: an array is missing, or its shape or dtype differs from that in `like`.
    """
    tensors, _ = _read(Path(path))

    def find(place: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(place)
        found = tensors.get(name)
        if found is None or found.shape != jnp.shape(leaf) or found.dtype != leaf.dtype:
            expected = f"an array {name} of {leaf.dtype}, shape {jnp.shape(leaf)}"
            other = "none" if found is None else f"{found.dtype}, shape {found.shape}"
            raise file_error(path, expected, other, "it belongs to a run with other options")
        return from_numpy(found)

    return jax.tree_util.tree_map_with_path(find, like)


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """Read the JSON header of a file that `Native` or `save_tree` wrote.

    Raises:
        ModelFileError: the file is damaged, or another kind of file.
    """
    return _read(Path(path))[1]


def _entries(tensors: dict[str, np.ndarray]) -> int:
    """Return the number of entries of all arrays."""
    return sum(array.size for array in tensors.values())


def _serialised(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> bytes:
    # not np.ascontiguousarray, which turns a scalar into an array with one axis
    arrays = {k: np.asarray(fetched(v), order="C") for k, v in tensors.items()}
    header = header | {CHECKSUM: _checksum(arrays, header)}
    # One entry: safetensors writes several in any order, and equal models have equal files.
    return save_tensors(arrays, {FORMAT: json.dumps(header)})


def _checksum(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> str:
    """Return a hash of all that a file holds, so that a flipped bit is noticed."""
    found = hashlib.sha256(json.dumps(header).encode())
    for name in sorted(tensors):
        array = tensors[name]
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def _describe(value: Any, place: str, tensors: dict[str, np.ndarray], source: str) -> Any:
    """Describe layers and weights by type and fields; arrays in them by the name of a tensor."""
    if isinstance(value, KINDS):
        fields = {
            name: _describe(field, f"{place}.{name}", tensors, source)
            for name, field in value.to_fields().items()
        }
        return {"type": name_of_type(type(value), source), "fields": fields}
    if isinstance(value, tuple | list):
        return [_describe(v, f"{place}.{i}", tensors, source) for i, v in enumerate(value)]
    if isinstance(value, np.ndarray) or eqx.is_array(value):
        tensors[place] = fetched(value)
        return {"tensor": place}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    expected = "fields that are layers, arrays, numbers, text, or tuples of these"
    raise input_error(source, expected, f"{short(value)} at {place}", "change the layer's field")


class _Described:
    """A model file's arrays, from which layers and weights are built as its header says.

    Each array is used once, and whole numbers are bounded by the number of their entries, so that
    what is built takes no more memory than the file.
    """

    def __init__(self, header: dict[str, Any], tensors: dict[str, np.ndarray], path: Path):
        self.tensors = dict(tensors)
        self.path = path
        for name in PARTS:
            wrong = wrong_number(header.get(name), name, _entries(tensors))
            if wrong is not None:
                raise file_error(path, NUMBERS, wrong, COPY_AGAIN)

    def rebuilt(self, described: Any) -> Any:
        """Return layers, weights, or one of their fields from a description."""
        if isinstance(described, list):
            return tuple(self.rebuilt(item) for item in described)
        if not isinstance(described, dict):
            return described
        if "tensor" in described:
            return self.array(described["tensor"])
        kind = type_named(described.get("type"), self.path)
        fields = described["fields"]
        names = {field.name for field in dataclasses.fields(kind)}
        if set(fields) != names:
            expected = f"fields {', '.join(sorted(names))}"
            raise file_error(self.path, expected, listed(sorted(fields)), COPY_AGAIN)
        for name, value in fields.items():
            wrong = wrong_field(kind, name, value)
            if wrong is not None:
                expected = f"arrays and sizes that fit together in {kind.__name__}"
                raise file_error(self.path, expected, f"{wrong} as its {name}", COPY_AGAIN)
        return kind.from_fields(**{name: self.rebuilt(value) for name, value in fields.items()})

    def array(self, name: Any) -> Any:
        """Return a parameter array in JAX's current default precision, checked to be finite."""
        array = self.tensors.pop(name, None)
        if array is None:
            expected = f"an array {short(name)} of its own"
            found = listed(sorted(self.tensors))
            raise file_error(self.path, expected, f"{found} left", COPY_AGAIN)
        return from_numpy(array if array.dtype == bool else finite(array, name, str(self.path)))


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays and the header of a file that harmonium wrote."""
    try:
        content = bytes_of(path, str(path))
        with parser_errors(path, EXPECTED, COPY_AGAIN):
            length = int.from_bytes(content[:8], "little")
            metadata = parsed_json(content[8 : 8 + length]).get("__metadata__") or {}
            tensors = load_tensors(content)
            header = parsed_json(metadata.get(FORMAT, "null"))
    except InputError as error:
        raise ModelFileError(str(error)) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        advice = "convert its arrays to an .npz with W, a and b"
        raise file_error(path, EXPECTED, "a safetensors file of another kind", advice)
    if header.get("version") != VERSION:
        found = f"version {short(header.get('version'))}"
        raise file_error(path, f"format version {VERSION}", found, "install a newer harmonium")
    known = header.pop(CHECKSUM, None)  # files of earlier versions have none
    if known is not None and known != _checksum(tensors, header):
        raise file_error(
            path, EXPECTED, "one that has changed since: its checksum differs", COPY_AGAIN
        )
    return tensors, header
