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
from .base_types import KINDS, name_of_type, type_named

FORMAT = "harmonium"
VERSION = 1
CHECKSUM = "sha256"
EXPECTED = "a model file that harmonium wrote"


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
        """Read a model with any layers that harmonium knows or can import."""
        tensors, header = _read(path)
        try:
            with parser_errors(path, "a description of a model", COPY_AGAIN):  # or of anything
                visible = _rebuild(header["visible"], tensors, path)
                hidden = _rebuild(header["hidden"], tensors, path)
                weights = header.get("weights", {"tensor": "weights"})  # for old files
                return RBM(visible, hidden, _rebuild(weights, tensors, path))
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


def _rebuild(described: Any, tensors: dict[str, np.ndarray], path: Path) -> Any:
    """Build layers, weights, or one of their fields from a description."""
    if isinstance(described, list):
        return tuple(_rebuild(item, tensors, path) for item in described)
    if not isinstance(described, dict):
        return described
    if "tensor" in described:
        return _tensor(tensors, described["tensor"], path)
    told = described.get("type")
    kind = type_named(told, path)
    names = {field.name for field in dataclasses.fields(kind)}
    if set(described["fields"]) != names:
        found = listed(sorted(described["fields"]))
        raise file_error(path, f"fields {', '.join(sorted(names))}", found, COPY_AGAIN)
    if None in described["fields"].values() and ":" not in str(told):
        # Our own layers have none; a default array would be as large as the file says.
        raise file_error(path, "arrays and sizes", f"a field of {told} without", COPY_AGAIN)
    fields = {name: _rebuild(value, tensors, path) for name, value in described["fields"].items()}
    return kind.from_fields(**fields)


def _tensor(tensors: dict[str, np.ndarray], name: str, path: Path) -> Any:
    """Return a parameter array in JAX's current default precision, checked to be finite in it."""
    if name not in tensors:
        raise file_error(path, f"an array {name!r}", listed(sorted(tensors)), COPY_AGAIN)
    array = tensors[name]
    return from_numpy(array if array.dtype == bool else finite(array, name, str(path)))


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
