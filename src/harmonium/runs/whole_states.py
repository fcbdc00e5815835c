"""Training states as one safetensors file, which the first process collects and writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax

from ..io.formats.native import load_tree, read_header, save_tree
from ..processes import by_first
from ..sharding import fetched
from ..training import TrainState
from .base_states import AbstractStates


class WholeStates(AbstractStates):
    """A state as one file with a SHA-256 checksum."""

    suffix = ".safetensors"

    def check(self) -> None:
        """They need nothing more."""

    def write(self, state: TrainState, path: Path, header: dict[str, Any]) -> None:
        """Collect the parts of a state, and write them."""
        _save(jax.tree.map(fetched, state), path, header)

    def header(self, path: Path) -> dict[str, Any]:
        """Read the header of a file, and compare its checksum."""
        return _header(path)

    def read(self, path: Path, like: TrainState) -> TrainState:
        """Read a state: each process all of it."""
        return load_tree(path, like)


@by_first
def _save(state: TrainState, path: Path, header: dict[str, Any]) -> None:
    save_tree(state, path, header)


@by_first
def _header(path: Path) -> dict[str, Any]:
    return read_header(path)
