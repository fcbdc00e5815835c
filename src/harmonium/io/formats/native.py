"""Models and other pytrees as safetensors, with a JSON header that describes them."""

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

from ..._base.files import bytes_of, parsed_json, parser_errors
from ..._base.numerics import from_numpy
from ..._base.sharding import fetched
from ...errors import InputError, ModelFileError
from ...rbm import RBM
from ..convert.base import checked_model, finite, listed, short
from .base import COPY_AGAIN, AbstractFormat, model_file_errors, write_whole
from .base_fields import check_field, check_numbers
from .base_types import KINDS, name_of_type, type_named

FORMAT = "harmonium"
VERSION = 1
PARTS = ("visible", "hidden", "weights")  # the parts of a model in a file's header
CHECKSUM = "sha256"
EXPECTED = "a model file that harmonium wrote"


class Native(AbstractFormat):
    """A safetensors file that stores any model exactly.

    The header contains the types and sizes of the layers as JSON. The arrays are `visible.bias`,
    `hidden.bias`, `weights` and any other parameters of the layers.
    """

    suffixes = (".safetensors",)
    title = "a model file"

    def recognises(self, start: bytes) -> bool:
        """Return whether a JSON header begins at the position prescribed by safetensors."""
        return start[8:9] == b"{"  # the first eight bytes are the header's length

    def read(self, path: Path, part: str | None = None) -> RBM:
        """Read a model whose layers are defined in harmonium or in imported modules."""
        tensors, header = _read(path)
        for name in PARTS:
            check_numbers(header.get(name), name, _entries(tensors), str(path), COPY_AGAIN)
        header = {"weights": {"tensor": "weights"}} | header  # absent from old files
        builder = _Builder(tensors, path)
        try:
            with parser_errors(path, "a description of a model", COPY_AGAIN):  # or invalid arrays
                return RBM(*(builder.built(header[name]) for name in PARTS))
        except ModelFileError:
            raise
        except InputError as error:  # raised by the checks of a layer or of the model
            reason = str(error).rstrip(".")
            raise ModelFileError(
                f"{path}: expected arrays that fit together, but {reason}; {COPY_AGAIN}."
            ) from None

    def serialise(self, rbm: RBM, source: str) -> bytes:
        header, tensors = described(checked_model(rbm, source), source)
        return _serialised(tensors, {"format": FORMAT, "version": VERSION} | header)


def described(rbm: RBM, source: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return a JSON description of a model's layers and weights, and the arrays it refers to.

    Raises:
        InputError: a layer has a field that JSON cannot describe; `source` names the model.
    """
    tensors: dict[str, np.ndarray] = {}
    header = {name: _description(getattr(rbm, name), name, tensors, source) for name in PARTS}
    for name, description in header.items():  # `read` would reject invalid numbers
        advice = "store such a number as an array"
        check_numbers(description, name, _entries(tensors), source, advice)
    return header, tensors


def save_tree(tree: Any, path: str | os.PathLike, header: dict[str, Any]) -> None:
    """Write the arrays of a pytree, named by their paths in the tree, and a JSON header."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    tensors = {jax.tree_util.keystr(place): fetched(leaf) for place, leaf in leaves}
    write_whole(path, _serialised(tensors, header))


def load_tree(path: str | os.PathLike, like: Any) -> Any:
    """Read a pytree written by `save_tree`, which must have the same structure as `like`.

    Raises:
        ModelFileError: an array is missing, or its shape or dtype differs from that in `like`.
    """
    tensors, _ = _read(Path(path))

    def tensor_for(place: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(place)
        tensor = tensors.get(name)
        if tensor is not None and (tensor.shape, tensor.dtype) == (jnp.shape(leaf), leaf.dtype):
            return from_numpy(tensor)
        actual = "none"
        if tensor is not None:
            actual = f"{tensor.dtype}, shape {tensor.shape}"
        raise ModelFileError(
            f"{path}: expected an array {name} of {leaf.dtype}, shape {jnp.shape(leaf)};"
            f" got {actual}; it belongs to a run with other options."
        )

    return jax.tree_util.tree_map_with_path(tensor_for, like)


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """Read the JSON header of a file written by `Native` or `save_tree`.

    Raises:
        ModelFileError: the file is damaged or has another format.
    """
    return _read(Path(path))[1]


def _entries(tensors: dict[str, np.ndarray]) -> int:
    return sum(array.size for array in tensors.values())


def _serialised(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> bytes:
    # np.ascontiguousarray would turn a scalar into an array with one axis.
    arrays = {name: np.asarray(fetched(array), order="C") for name, array in tensors.items()}
    header = header | {CHECKSUM: _checksum(arrays, header)}
    # Use a single metadata entry: safetensors writes several entries in arbitrary order, and equal
    # models should give equal files.
    return save_tensors(arrays, {FORMAT: json.dumps(header)})


def _checksum(tensors: dict[str, np.ndarray], header: dict[str, Any]) -> str:
    """Return a hash of all arrays and the header, so that even a flipped bit is detected."""
    checksum = hashlib.sha256(json.dumps(header).encode())
    for name in sorted(tensors):
        array = tensors[name]
        checksum.update(f"{name} {array.dtype} {array.shape}".encode())
        checksum.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return checksum.hexdigest()


def _description(value: Any, place: str, tensors: dict[str, np.ndarray], source: str) -> Any:
    """Return a JSON description of layers and weights, in which tensor names represent arrays."""
    if isinstance(value, KINDS):
        fields = {
            name: _description(field, f"{place}.{name}", tensors, source)
            for name, field in value.to_fields().items()
        }
        return {"type": name_of_type(type(value), source), "fields": fields}
    if isinstance(value, tuple | list):
        return [_description(v, f"{place}.{i}", tensors, source) for i, v in enumerate(value)]
    if isinstance(value, np.ndarray) or eqx.is_array(value):
        tensors[place] = fetched(value)
        return {"tensor": place}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise InputError(
        f"{source}: expected fields that are layers, arrays, numbers, text, or tuples of these;"
        f" got {short(value)} at {place}; change the layer's field."
    )


class _Builder:
    """Builds layers and weights from the arrays of a model file and the descriptions in the header.

    Each array is used once, and `check_numbers` bounds sizes by the number of entries, so the
    result takes no more memory than the arrays in the file.
    """

    def __init__(self, tensors: dict[str, np.ndarray], path: Path):
        self.tensors = dict(tensors)
        self.path = path

    def built(self, description: Any) -> Any:
        """Return layers, weights, or one of their fields, built from a description."""
        if isinstance(description, list):
            return tuple(self.built(item) for item in description)
        if not isinstance(description, dict):
            return description
        if "tensor" in description:
            return self.array(description["tensor"])
        kind = type_named(description.get("type"), self.path)
        fields = description["fields"]
        names = {field.name for field in dataclasses.fields(kind)}
        # A field with a default may have been introduced after the file was written.
        required = {f.name for f in dataclasses.fields(kind) if f.default is dataclasses.MISSING}
        if not required <= set(fields) <= names:
            raise ModelFileError(
                f"{self.path}: expected fields {', '.join(sorted(names))};"
                f" got {listed(sorted(fields))}; {COPY_AGAIN}."
            )
        for name, value in fields.items():
            check_field(kind, name, value, self.path)
        return kind.from_fields(**{name: self.built(value) for name, value in fields.items()})

    def array(self, name: Any) -> Any:
        """Return a parameter array in JAX's current default precision, checked to be finite."""
        array = self.tensors.pop(name, None)
        if array is None:
            raise ModelFileError(
                f"{self.path}: expected an array {short(name)} that no other field uses;"
                f" got {listed(sorted(self.tensors))} left; {COPY_AGAIN}."
            )
        if array.dtype != bool:
            array = finite(array, name, str(self.path))
        return from_numpy(array)


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays and the header of a file written by harmonium."""
    with model_file_errors():
        content = bytes_of(path, str(path))
        with parser_errors(path, EXPECTED, COPY_AGAIN):
            length = int.from_bytes(content[:8], "little")
            metadata = parsed_json(content[8 : 8 + length]).get("__metadata__") or {}
            tensors = load_tensors(content)
            header = parsed_json(metadata.get(FORMAT, "null"))
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(
            f"{path}: expected {EXPECTED}; got a safetensors file from elsewhere; convert its"
            " arrays to an .npz with W, a and b."
        )
    if header.get("version") != VERSION:
        raise ModelFileError(
            f"{path}: expected format version {VERSION}; got version"
            f" {short(header.get('version'))}; install a newer harmonium."
        )
    checksum = header.pop(CHECKSUM, None)  # absent from files of earlier versions
    if checksum is not None and checksum != _checksum(tensors, header):
        raise ModelFileError(
            f"{path}: expected {EXPECTED}; got one that was changed later: its checksum differs;"
            f" {COPY_AGAIN}."
        )
    return tensors, header
