"""The checkpoints from which a run resumes: the last checkpoint and its predecessor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._base.files import inside
from .._base.processes import by_first, is_first
from .._base.sharding import fetched
from ..errors import InputError, ModelFileError
from ..io.formats.base import sync_folder
from ..io.formats.native import load_tree, read_header, save_tree
from ..training import TrainState

CHECKPOINTS = "checkpoints"
LEARNED_OF_ROWS = ("held_out", "folds")  # fields of `TrainState` with results for unseen rows


class Checkpoints:
    """The checkpoints of a run: safetensors files with a SHA-256 of their whole contents.

    Each file is written whole or not at all. The previous checkpoint is kept in case the last one
    is damaged later; a run that resumes from either of them ends with the same model. A state that
    is spread over several processes is gathered leaf by leaf, so that the checkpoint can be loaded
    on any number of devices.

    Attributes:
        run: the folder of the run.
    """

    def __init__(self, run: Path):
        self.run = run
        self._known: tuple[Path, dict[str, Any]] | None = None  # last undamaged file, header

    @property
    def last(self) -> Path:
        """The path of the last checkpoint."""
        return self._in("last.safetensors")

    @property
    def previous(self) -> Path:
        """The path of the previous checkpoint, the one before the last."""
        return self._in("previous.safetensors")

    def _in(self, name: str) -> Path:
        return inside(self.run, f"{CHECKPOINTS}/{name}")

    def make_folder(self) -> None:
        """Create the folders of the run and of its checkpoints."""
        self.last.parent.mkdir(parents=True, exist_ok=True)

    @property
    def exist(self) -> bool:
        """Whether there is a checkpoint."""
        return self.last.exists() or self.previous.exists()

    @property
    def are_of_orbax(self) -> bool:
        """Whether the run has Orbax checkpoints, which development versions before 0.1 wrote."""
        return any(self._in("").glob("*.orbax"))

    @property
    def whole(self) -> Path:
        """The path of the last checkpoint that is not damaged.

        Raises:
            ModelFileError: all checkpoints are damaged or missing.
        """
        return self._found()[0]

    def _found(self) -> tuple[Path, dict[str, Any]]:
        """Return the path of the last undamaged checkpoint and its header; search only once."""
        if self._known is None:
            path, header = self._undamaged()
            self._known = Path(path), header
        return self._known

    # The first process searches, since a shared file system may show the others an older state.
    @by_first
    def _undamaged(self) -> tuple[str, dict[str, Any]]:
        try:
            return str(self.last), read_header(self.last)
        except ModelFileError as damage:
            try:
                return str(self.previous), read_header(self.previous)
            except ModelFileError:
                raise damage from None

    def write(self, state: TrainState, fingerprint: str) -> None:
        """Write a checkpoint with a hash of the rows, and keep its predecessor as `previous`.

        Raises:
            OSError: the checkpoint cannot be written; the existing checkpoints are kept.
        """
        header = {"format": "harmonium", "version": 1, "holds": "training state"}
        header |= {"rows": fingerprint, "jax": jax.__version__}
        header |= {name: getattr(state, name) is not None for name in LEARNED_OF_ROWS}
        self._replace(jax.tree.map(_gathered, state), header)
        self._known = self.last, header

    @by_first
    def _replace(self, state: TrainState, header: dict[str, Any]) -> None:
        last = self.last
        new = self._in("new.safetensors")
        save_tree(state, new, header)
        # Between the two renamings, a run can still resume from the previous checkpoint.
        if last.exists():
            last.replace(self.previous)
        new.replace(last)
        sync_folder(last.parent)

    @property
    def learned_of_rows(self) -> set[str]:
        """The names of the fields in the checkpoint that hold results for rows not trained on.

        The set is empty if the run, or an earlier version of harmonium, stored no such results.
        """
        _, header = self._found()
        return {name for name in LEARNED_OF_ROWS if header.get(name)}

    @property
    def fingerprint_of_rows(self) -> str | None:
        """The hash of the rows on which the run began to train, or None if it is unknown."""
        return self._found()[1].get("rows") if self.exist else None

    @property
    def jax_version(self) -> str:
        """The version of JAX that wrote the checkpoints; the installed version if unknown."""
        return self._found()[1].get("jax", jax.__version__)

    def state(self, like: TrainState, fingerprint: str, source: str) -> TrainState:
        """Read the training state of a run; each process reads the whole state.

        Args:
            like: a state with the same structure.
            fingerprint: the hash of the current rows.
            source: the name of these rows.

        Raises:
            ModelFileError: the checkpoint is damaged, or belongs to another run.
            InputError: the run began with different rows.
        """
        path = self.whole
        if self.fingerprint_of_rows != fingerprint:
            raise InputError(
                f"{source}: expected the rows that {self.run} began with; got other rows; restore"
                " the source, or train a new model."
            )
        state = load_tree(path, like)
        # A log-likelihood may be −∞ (for a very poor model), but a known one is never NaN.
        learned = dict.fromkeys(LEARNED_OF_ROWS)
        is_sound = all(np.isfinite(x).all() for x in _floats(state._replace(**learned)))
        of_rows = [getattr(state, name) for name in LEARNED_OF_ROWS]
        is_known = not any(np.isnan(x).any() for x in _floats(of_rows))
        if not (is_sound and is_known) or int(state.updates) < 0:
            raise ModelFileError(
                f"{path}: expected the state of a run; got values that are not finite; train a new"
                " model."
            )
        return state


def _floats(tree: Any) -> list[Any]:
    floats = [x for x in jax.tree.leaves(tree) if jnp.issubdtype(x.dtype, jnp.floating)]
    return [np.asarray(x) for x in floats]


def _gathered(leaf: Any) -> Any:
    """Gather an array from all processes; return it in the first process, None in the others."""
    array = fetched(leaf)
    return array if is_first() else None
