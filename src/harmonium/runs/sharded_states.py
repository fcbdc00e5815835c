"""Training states by Orbax: each process writes and reads its own parts of the arrays."""

from __future__ import annotations

import errno
import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .._files import COPY_AGAIN, bytes_of, parsed_json, parser_errors, reason_of
from .._numerics import from_numpy
from ..errors import InputError, ModelFileError
from ..io.convert.base import optional
from ..io.formats.base import write_whole
from ..processes import are_several, by_first, largest, said, told
from ..training import TrainState
from .base_states import AbstractStates

ARRAYS, HEADER = "arrays", "header.json"
EXPECTED = "a sharded checkpoint that harmonium wrote"
CHANGED = "one that has changed since: its checksum differs"
CHECKSUM = "sha256"
Described = list[tuple[str, str, list[int]]]  # names, types and shapes


class ShardedStates(AbstractStates):
    """A state as a folder of Orbax, with a header that has the SHA-256 of each of its files.

    Orbax and TensorStore have checksums of parts of files only. The hashes of the files are
    computed by all processes, each for some of them.
    """

    suffix = ".orbax"

    def check(self) -> None:
        """Check that Orbax is there."""
        _orbax()

    def write(self, state: TrainState, path: Path, header: dict[str, Any]) -> None:
        """Write a state: each process its own parts."""
        orbax, trouble = _orbax(), ""
        _make(str(path))
        if largest(int(not path.is_dir())):  # Orbax would wait for minutes
            reason = "a folder that not all processes share"
            raise OSError(errno.ENOENT, reason, str(path))
        arrays = {key: _spread(leaf) for key, leaf in _filled(state).items()}
        try:
            with orbax.Checkpointer(orbax.PyTreeCheckpointHandler()) as writer:
                writer.save(_arrays_in(path), args=orbax.args.PyTreeSave(arrays))
        except Exception as error:  # TensorStore has errors of its own for a full disk
            trouble = reason_of(error)
        if largest(int(bool(trouble))):
            reason = trouble or "another process could not write its part"
            raise OSError(errno.EIO, reason, str(path))
        files = _hashes(path, _files_in(path))
        if not all(files.values()):
            raise OSError(errno.EIO, "a process does not see what another one wrote", str(path))
        header = header | {ARRAYS: _described(state), "files": files}
        _write_header(str(path), header | {CHECKSUM: _hash_of(header)})

    def header(self, path: Path) -> dict[str, Any]:
        """Read the header of a folder, and compare the hashes of its files."""
        header = _header(str(path))
        files = header["files"]
        if _files_in(path) != sorted(files) or _hashes(path, sorted(files)) != files:
            raise ModelFileError(f"{path}: expected {EXPECTED}; got {CHANGED}; {COPY_AGAIN}.")
        return header

    def read(self, path: Path, like: TrainState) -> TrainState:
        """Read a state: each process the parts that it has in `like`."""
        expected, there = _described(like), [tuple(each) for each in _header(str(path))[ARRAYS]]
        if expected != there:
            raise ModelFileError(
                f"{path}: expected {len(expected)} arrays of the run; got {len(there)} of other"
                " names, types or shapes; it belongs to a run with other options."
            )
        wanted = {
            key: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=_sharding(leaf))
            for key, leaf in _filled(like).items()
        }
        orbax = _orbax()
        how = orbax.checkpoint_utils.construct_restore_args(wanted)
        arguments = orbax.args.PyTreeRestore(wanted, restore_args=how)
        with (
            parser_errors(path, EXPECTED),
            orbax.Checkpointer(orbax.PyTreeCheckpointHandler()) as reader,
        ):
            found = reader.restore(_arrays_in(path), args=arguments)
        leaves, structure = jax.tree.flatten(like)
        read = [_own(found.get(_key(i), leaf)) for i, leaf in enumerate(leaves)]
        return jax.tree.unflatten(structure, read)


def _orbax() -> Any:
    found = optional("orbax.checkpoint", "sharded checkpoints", "distributed")
    logging.getLogger("absl").setLevel(logging.ERROR)  # which tells of each step
    return found


def _key(number: int) -> str:
    return f"{number:04d}"  # names of arrays have dots, by which Orbax takes them apart


def _filled(state: TrainState) -> dict[str, Any]:
    """Return the arrays of a state that have entries: Orbax keeps no others."""
    leaves = enumerate(jax.tree.leaves(state))
    return {_key(i): leaf for i, leaf in leaves if leaf.size}


def _arrays_in(path: Path) -> Path:
    return path.absolute() / ARRAYS


def _everywhere() -> NamedSharding:
    """Return the sharding of arrays of which each device of all processes has a copy."""
    return NamedSharding(Mesh(np.array(jax.devices()), ("copies",)), PartitionSpec())


def _sharding(leaf: Any) -> Any:
    """Return how an array is spread, or is to be read: one of this process alone as copies."""
    return _everywhere() if are_several() and leaf.is_fully_addressable else leaf.sharding


def _spread(leaf: Any) -> Any:
    """Return an array as one of all processes; those of one process alone are equal in all."""
    if not (are_several() and leaf.is_fully_addressable):
        return leaf
    known = np.asarray(leaf)
    return jax.make_array_from_callback(known.shape, _everywhere(), lambda place: known[place])


def _own(leaf: Any) -> Any:
    """Return an array that was read; a copy in each process as an array of this one."""
    return from_numpy(np.asarray(leaf)) if leaf.is_fully_replicated else leaf


def _described(state: TrainState) -> Described:
    leaves = jax.tree_util.tree_leaves_with_path(state)
    return [
        (jax.tree_util.keystr(place), str(leaf.dtype), list(leaf.shape)) for place, leaf in leaves
    ]


def _hash_of(header: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode()).hexdigest()


@by_first
def _make(path: str) -> None:
    Path(path).mkdir()


@by_first
def _write_header(path: str, header: dict[str, Any]) -> None:
    write_whole(Path(path, HEADER), json.dumps(header, indent=1).encode())


@by_first
def _header(path: str) -> dict[str, Any]:
    file = Path(path, HEADER)
    try:
        content = bytes_of(file, str(file))
        with parser_errors(file, EXPECTED):
            header = parsed_json(content)
            known = header.pop(CHECKSUM)
            is_whole = known == _hash_of(header)
            header["files"] = {str(name): str(digest) for name, digest in header["files"].items()}
            header[ARRAYS] = [(name, kind, shape) for name, kind, shape in header[ARRAYS]]
    except InputError as error:
        raise ModelFileError(str(error)) from None
    if not is_whole:
        raise ModelFileError(f"{path}: expected {EXPECTED}; got {CHANGED}; {COPY_AGAIN}.")
    return header


def _files_in(path: Path) -> list[str]:
    """Return the names of a checkpoint's files, as the first process sees them."""
    arrays = _arrays_in(path)
    found = [file for file in arrays.rglob("*") if file.is_file() and not file.is_symlink()]
    return told(sorted(str(file.relative_to(arrays)) for file in found))


def _hashes(path: Path, names: list[str]) -> dict[str, str]:
    """Return the hash of each file, empty if there is none; each process reads some of them."""
    count = jax.process_count() if are_several() else 1
    index = jax.process_index() if are_several() else 0
    found = {name: _hash_of_file(_arrays_in(path) / name) for name in names[index::count]}
    return {name: digest for part in said(found) for name, digest in part.items()}


def _hash_of_file(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()
    except OSError:
        return ""
