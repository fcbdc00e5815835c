"""Machines as files: safetensors plus a JSON header, and nothing is ever unpickled."""

from __future__ import annotations

import dataclasses
import json
import os
import zipfile
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
MODEL = "model.safetensors"
IN_AN_ARCHIVE = ("W", "a", "b")
_COPY_AGAIN = "copy it again, or write it with harmonium.save"


def save(rbm: RBM, path: str | os.PathLike) -> None:
    """Write a machine to a safetensors file.

    The layers' types and sizes stand in the header as JSON; the arrays are `visible.bias`,
    `hidden.bias`, `weights` and whatever other parameters the layers have.

    Raises:
        InputError: no machine, or a folder that is not there.
    """
    if not isinstance(rbm, RBM):
        raise InputError(f"save: expected a machine, such as fit.rbm; got {type(rbm).__name__}.")
    if not Path(path).absolute().parent.is_dir():
        raise InputError(f"{path}: expected a file in a folder that exists; make the folder first.")
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
        file = file / MODEL
        if not file.is_file():
            raise _error(path, "a run folder", f"a folder without {MODEL}", "name a run or a model")
    if not file.exists():
        expected = "a run folder, a model file, or an .npz with W, a and b"
        raise _error(path, expected, "no such file", "check the path")
    return _load_npz(file) if _is_archive(file) else _load_safetensors(file)


def _is_archive(file: Path) -> bool:
    """Say whether a file is an .npz archive: by its content, or its name where that is mute."""
    with file.open("rb") as opened:
        start = opened.read(9)
    is_ours = start[8:9] == b"{"  # where the JSON header of a safetensors file begins
    return start[:2] == b"PK" or (file.suffix.lower() == ".npz" and not is_ours)


def holds_machine(path: str | os.PathLike) -> bool:
    """Say whether a path is to be read as a machine, which is not to say that it can be."""
    file = Path(path)
    if file.suffix.lower() != ".npz":
        return file.is_dir() or file.suffix.lower() == ".safetensors"
    try:
        with zipfile.ZipFile(file) as archive:
            return {f"{name}.npy" for name in IN_AN_ARCHIVE} <= set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return False


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
            expected = f"an array {name} of {leaf.dtype}, shape {jnp.shape(leaf)}"
            other = "none" if found is None else f"{found.dtype}, shape {found.shape}"
            raise _error(path, expected, other, "it belongs to a run with other options")
        return jnp.asarray(found)

    return jax.tree_util.tree_map_with_path(find, like)


def read_header(path: str | os.PathLike) -> dict[str, Any]:
    """Read the JSON header of a file that `save` or `save_tree` wrote."""
    return _read(Path(path))[1]


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file by way of a temporary one, so that a crash leaves the old content intact."""
    target = Path(path)
    partial = target.with_name(target.name + ".partial")
    try:
        with partial.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(target)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def _error(path: Any, expected: str, found: Any, advice: str) -> ModelFileError:
    """Give the one-line error "PATH: expected ...; found ...; ADVICE."."""
    line = f"{path}: expected {expected}; found {found}; {advice}."
    return ModelFileError(" ".join(line.split()))


def _clause(error: Exception) -> str:
    """Give another's message as a part of a sentence."""
    return str(error).rstrip(".")


def _serialised(tensors: dict[str, np.ndarray], metadata: dict[str, str]) -> bytes:
    # not np.ascontiguousarray, which turns a scalar into an array of one
    return save_tensors({k: np.asarray(v, order="C") for k, v in tensors.items()}, metadata)


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
    """Build a layer, or a field of one, from its description; the types are harmonium's own."""
    if isinstance(described, list):
        return tuple(_rebuild(item, tensors, path) for item in described)
    if not isinstance(described, dict):
        return described
    if "tensor" in described:
        return _tensor(tensors, described["tensor"], path)
    kind = getattr(layers, str(described.get("type")), None)
    if not (isinstance(kind, type) and issubclass(kind, AbstractLayer)):
        found = f"the layer type {described.get('type')!r}"
        raise _error(path, "layers that harmonium knows", found, "install a newer harmonium")
    names = {field.name for field in dataclasses.fields(kind)}
    if set(described["fields"]) != names:
        found = f"{', '.join(sorted(described['fields'])) or 'none'}"
        raise _error(path, f"fields {', '.join(sorted(names))}", found, _COPY_AGAIN)
    fields = {name: _rebuild(value, tensors, path) for name, value in described["fields"].items()}
    return kind.from_fields(**fields)


def _tensor(tensors: dict[str, np.ndarray], name: str, path: Path) -> Any:
    """Give a parameter array, in the precision at work and finite in it."""
    if name not in tensors:
        held = ", ".join(sorted(tensors)) or "none"
        raise _error(path, f"an array {name!r}", held, _COPY_AGAIN)
    array = tensors[name]
    return jnp.asarray(array if array.dtype == bool else _finite(array, name, path))


def _finite(array: np.ndarray, name: str, path: Path) -> np.ndarray:
    """Give an array in the precision at work.

    Raises:
        ModelFileError: it holds no real numbers, or some that are not finite.
    """
    if array.dtype.kind not in "buif":
        raise _error(path, f"real numbers in {name!r}", f"{array.dtype}", _COPY_AGAIN)
    with np.errstate(over="ignore"):
        converted = array.astype(jnp.result_type(float))
    bad = ~np.isfinite(converted)
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        found = f"{array[place]} at {place} ({int(bad.sum())} such)"
        raise _error(path, f"finite numbers in {name!r}", found, "train it anew")
    return converted


def _read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Read the arrays and the header of a file that harmonium wrote."""
    try:
        content = path.read_bytes()
        tensors = load_tensors(content)
        length = int.from_bytes(content[:8], "little")
        metadata = json.loads(content[8 : 8 + length]).get("__metadata__") or {}
        header = json.loads(metadata.get(FORMAT, "null"))
    except (OSError, SafetensorError, ValueError, LookupError, TypeError, RecursionError) as error:
        found = f"one that cannot be read ({_clause(error)})"
        raise _error(path, "a model file that harmonium wrote", found, _COPY_AGAIN) from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        expected, found = "a model file that harmonium wrote", "a safetensors file of another kind"
        raise _error(path, expected, found, "convert its arrays to an .npz with W, a and b")
    if header.get("version") != VERSION:
        found = f"version {header.get('version')!r}"
        raise _error(path, f"format version {VERSION}", found, "install a newer harmonium")
    return tensors, header


def _load_safetensors(path: Path) -> RBM:
    tensors, header = _read(path)
    try:
        visible = _rebuild(header["visible"], tensors, path)
        hidden = _rebuild(header["hidden"], tensors, path)
        return RBM(visible, hidden, _tensor(tensors, "weights", path))
    except ModelFileError:
        raise
    except InputError as error:
        found = f"that {_clause(error)}"
        raise _error(path, "arrays that fit together", found, _COPY_AGAIN) from None
    except Exception as error:  # a foreign description may bring about anything
        found = f"a damaged one ({type(error).__name__}: {_clause(error)})"
        raise _error(path, "a description of a machine", found, _COPY_AGAIN) from None


def _load_npz(path: Path) -> RBM:
    try:
        with zipfile.ZipFile(path):  # NumPy would take other content for pickled data
            pass
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in IN_AN_ARCHIVE if name in archive}
    except Exception as error:  # zipfile, zlib and NumPy each raise their own kinds
        found = f"a damaged one ({_clause(error)})"
        if "allow_pickle" in str(error):
            found = "pickled Python objects, never loaded"
        raise _error(path, "an .npz archive of arrays", found, _COPY_AGAIN) from None
    missing = [name for name in IN_AN_ARCHIVE if name not in arrays]
    if missing:
        expected = "W (visible, hidden), a (visible bias) and b (hidden bias)"
        raise _error(path, expected, f"no {' and no '.join(missing)}", "rename its arrays")
    weights, a, b = (_finite(arrays[name], name, path) for name in IN_AN_ARCHIVE)
    a, b = np.ravel(a), np.ravel(b)
    if weights.shape != (len(a), len(b)):
        found = f"W {weights.shape}, a ({len(a)}), b ({len(b)})"
        turned = weights.shape == (len(b), len(a))
        advice = "transpose W" if turned else "write arrays that fit together"
        raise _error(path, "W of shape (visible, hidden)", found, advice)
    try:
        return RBM.from_arrays(weights, a, b)
    except InputError as error:
        raise _error(path, "arrays of a machine", f"that {_clause(error)}", _COPY_AGAIN) from None
