"""The states of a run to resume from: the last one, and the one before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

from .._files import inside
from ..errors import ModelFileError, input_error
from ..io.formats.native import load_tree, read_header, save_tree
from ..training import TrainState

CHECKPOINTS = "checkpoints"
LAST, PREVIOUS = "last.safetensors", "previous.safetensors"
LEARNED_OF_ROWS = ("held_out", "folds")  # parts of a `TrainState`


class Checkpoints:
    """The checkpoints of a run.

    A file is written whole or not at all, and has a checksum. The one before the last is kept, in
    case the last one is damaged later: a run that goes on from it ends in the same model.

    Attributes:
        run: the folder of the run.
    """

    def __init__(self, run: Path):
        self.run = run
        self._known: tuple[Path, dict[str, Any]] | None = None  # a whole file, and its header

    @property
    def last(self) -> Path:
        """The file of the last one."""
        return inside(self.run, f"{CHECKPOINTS}/{LAST}")

    @property
    def previous(self) -> Path:
        """The file of the one before it."""
        return inside(self.run, f"{CHECKPOINTS}/{PREVIOUS}")

    def make_folder(self) -> None:
        """Create their folder, and that of the run."""
        self.last.parent.mkdir(parents=True, exist_ok=True)

    @property
    def exist(self) -> bool:
        """Whether there is one."""
        return self.last.is_file() or self.previous.is_file()

    @property
    def whole(self) -> Path:
        """The file of the last one that is not damaged.

        Raises:
            ModelFileError: there is none.
        """
        return self._found()[0]

    def _found(self) -> tuple[Path, dict[str, Any]]:
        """Return the last file that is not damaged and its header, which are looked for once."""
        damage: list[ModelFileError] = []
        for path in (self.last, self.previous) if self._known is None else ():
            try:
                self._known = path, read_header(path)
                break
            except ModelFileError as error:
                damage.append(error)
        if self._known is None:
            raise damage[0]
        return self._known

    def write(self, state: TrainState, fingerprint: str) -> None:
        """Write the last one, with a hash of the rows; the last so far becomes the one before."""
        header = {"format": "harmonium", "version": 1, "holds": "training state"}
        header |= {"rows": fingerprint, "jax": jax.__version__}
        header |= {name: getattr(state, name) is not None for name in LEARNED_OF_ROWS}
        new = inside(self.run, f"{CHECKPOINTS}/{LAST}.new")
        save_tree(state, new, header)
        if self.last.exists():
            self.last.replace(self.previous)
        new.replace(self.last)
        self._known = self.last, header

    @property
    def learned_of_rows(self) -> set[str]:
        """What they hold of rows that a model had not seen, names of `TrainState`.

        Nothing in runs of one record, and in those of earlier versions.
        """
        _, header = self._found()
        return {name for name in LEARNED_OF_ROWS if header.get(name)}

    @property
    def fingerprint_of_rows(self) -> str | None:
        """The hash of the rows that the run began with; None if that is not known."""
        return self._found()[1].get("rows") if self.exist else None

    @property
    def jax_version(self) -> str:
        """The version of JAX that wrote them; this one if that is not known."""
        return self._found()[1].get("jax", jax.__version__)

    def state(self, like: TrainState, fingerprint: str, source: str) -> TrainState:
        """Read the training state of a run.

        Args:
            like: a state of the same structure.
            fingerprint: the hash of the rows at hand.
            source: the name of these rows.

        Raises:
            ModelFileError: the checkpoint is damaged, or belongs to another run.
            InputError: the rows are not those that the run began with.
        """
        path = self.whole
        if self.fingerprint_of_rows != fingerprint:
            found, advice = "other rows", "restore the source, or train anew"
            raise input_error(source, f"the rows that {self.run} began with", found, advice)
        state = load_tree(path, like)
        floats = [x for x in jax.tree.leaves(state) if np.asarray(x).dtype.kind == "f"]
        if not all(np.isfinite(np.asarray(x)).all() for x in floats) or int(state.updates) < 0:
            raise ModelFileError(
                f"{path}: expected the state of a run; found values that are not finite;"
                " train anew."
            )
        return state
