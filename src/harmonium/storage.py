"""Machines as files: safetensors plus a JSON header, and nothing is ever unpickled."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from . import layers
from .errors import InputError, ModelFileError
from .layers import AbstractLayer
from .rbm import RBM

__all__ = ["load", "save"]

FORMAT = "harmonium"
VERSION = 1


def save(rbm: RBM, path: str | os.PathLike) -> None:
    """Write a machine to a safetensors file.

    The layers' types and sizes stand in the header as JSON; the arrays are `visible.bias`,
    `hidden.bias`, `weights` and whatever other parameters the layers have.
    """
    tensors: dict[str, np.ndarray] = {"weights": np.asarray(rbm.weights)}
    header = {
        "format": FORMAT,
        "version": VERSION,
        "visible": _describe(rbm.visible, "visible", tensors),
        "hidden": _describe(rbm.hidden, "hidden", tensors),
    }
    write_whole(path, _serialised(tensors, {FORMAT: json.dumps(header)}))


def load(path: str | os.PathLike) -> RBM:
    """Read a machine from a run folder, a model file, or an `.npz` with `W`, `a` and `b`.

    Raises:
        ModelFileError: the file is missing, truncated, foreign, or holds arrays that do not fit.
    """
    file = Path(path)
    if file.is_dir():
        file = file / "model.safetensors"
        if not file.exists():
            raise ModelFileError(f"{path}: expected a run folder with a model.safetensors in it.")
    if not file.exists():
        raise ModelFileError(f"{path}: no such file. Give a run folder, a model file or an .npz.")
    return _load_npz(file) if file.suffix == ".npz" else _load_safetensors(file)


def save_tree(tree: Any, path: str | os.PathLike, header: dict[str, Any]) -> None:
    """Write the arrays of any tree, named by their place in it, with a JSON header."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    tensors = {jax.tree_util.keystr(place): np.asarray(leaf) for place, leaf in leaves}
    write_whole(path, _serialised(tensors, {FORMAT: json.dumps(header)}))


def load_tree(path: str | os.PathLike, like: Any) -> Any:
    """Read a tree that `save_tree` wrote, into the structure of `like`.

    Raises:
        ModelFileError: an array is missing or has another shape than in `like`.
    """
    tensors, _ = _read(Path(path))

    def find(place: Any, leaf: Any) -> Any:
        name = jax.tree_util.keystr(place)
        found = tensors.get(name)
        if found is None or found.shape != jnp.shape(leaf) or found.dtype != leaf.dtype:
            raise ModelFileError(
                f"{path}: expected {name} of shape {jnp.shape(leaf)} and type {leaf.dtype};"
                f" found {'none' if found is None else (found.shape, str(found.dtype))}."
            )
        return jnp.asarray(found)

    return jax.tree_util.tree_map_with_path(find, like)


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """Read the JSON header of a file that `save` or `save_tree` wrote."""
    return _read(Path(path))[1]


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file by way of a temporary one, so that a crash leaves the old content intact."""
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    partial.write_bytes(content)
    partial.replace(target)


def _serialised(tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    return save_tensors({k: np.ascontiguousarray(v) for k, v in tensors.items()}, metadata)


def _describe(layer: AbstractLayer, name: str, tensors: dict[str, np.ndarray]) -> dict[str, Any]:
    """Describe a layer by its fields: parts nested, arrays by the name of their tensor."""
    fields: dict[str, Any] = {}
    for field in dataclasses.fields(layer):
        value, place = getattr(layer, field.name), f"{name}.{field.name}"
        if isinstance(value, AbstractLayer):
            fields[field.name] = _describe(value, place, tensors)
        elif isinstance(value, tuple):
            fields[field.name] = [
                _describe(v, f"{place}.{i}", tensors) for i, v in enumerate(value)
            ]
        elif eqx.is_array(value):
            tensors[place] = np.asarray(value)
            fields[field.name] = {"tensor": place}
        else:
            fields[field.name] = value
    return {"type": type(layer).__name__, "fields": fields}


def _rebuild(described: Any, tensors: dict[str, np.ndarray], path: Path) -> Any:
    if isinstance(described, list):
        return tuple(_rebuild(item, tensors, path) for item in described)
    if not isinstance(described, dict):
        return described
    if "tensor" in described:
        return _tensor(tensors, described["tensor"], path)
    kind = getattr(layers, str(described.get("type")), None)
    if not (isinstance(kind, type) and issubclass(kind, AbstractLayer)):
        raise ModelFileError(f"{path}: no layer type is called {described.get('type')!r}.")
    fields = {k: _rebuild(v, tensors, path) for k, v in described.get("fields", {}).items()}
    return kind.from_fields(**fields)


def _tensor(tensors: dict[str, np.ndarray], name: str, path: Path) -> Any:
    if name not in tensors:
        raise ModelFileError(f"{path}: expected an array {name!r}; the file has {sorted(tensors)}.")
    array = tensors[name]
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ModelFileError(f"{path}: the array {name!r} holds values that are not finite.")
    return array


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    try:
        content = path.read_bytes()
        tensors = load_tensors(content)
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__", {})
        header = json.loads(metadata.get(FORMAT, "null"))
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise ModelFileError(
            f"{path}: expected a model file written by harmonium; it cannot be read ({error})."
        ) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path}: a safetensors file, but not one that harmonium wrote.")
    if header.get("version") != VERSION:
        raise ModelFileError(
            f"{path}: written in format version {header.get('version')}; this harmonium reads"
            f" version {VERSION}. Install a newer one."
        )
    return tensors, header


def _load_safetensors(path: Path) -> RBM:
    tensors, header = _read(path)
    try:
        visible = _rebuild(header["visible"], tensors, path)
        hidden = _rebuild(header["hidden"], tensors, path)
        return RBM(visible, hidden, jnp.asarray(_tensor(tensors, "weights", path)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ModelFileError(
            f"{path}: its description of the machine is damaged ({error!r})."
        ) from None
    except ModelFileError:
        raise
    except InputError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _load_npz(path: Path) -> RBM:
    try:
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in ("W", "a", "b") if name in archive}
    except Exception as error:  # zipfile, zlib and NumPy each raise their own kinds
        raise ModelFileError(
            f"{path}: expected an .npz archive; it cannot be read ({error})."
        ) from None
    missing = {"W", "a", "b"} - set(arrays)
    if missing:
        raise ModelFileError(
            f"{path}: expected W (visible, hidden), a (visible bias) and b (hidden bias);"
            f" {', '.join(sorted(missing))} missing."
        )
    try:
        return RBM.from_arrays(arrays["W"], np.ravel(arrays["a"]), np.ravel(arrays["b"]))
    except InputError as error:
        raise ModelFileError(f"{path}: {error}") from None
