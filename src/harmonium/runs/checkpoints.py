"""The states of a run to resume from: the last one, and the one before it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from .._files import inside
from ..errors import InputError, ModelFileError, input_error
from ..io.formats.base import sync_folder
from ..processes import by_first, told
from ..training import TrainState
from .base_states import AbstractStates
from .sharded_states import ShardedStates
from .whole_states import WholeStates

CHECKPOINTS = "checkpoints"
LAST, PREVIOUS = "last", "previous"
LEARNED_OF_ROWS = ("held_out", "folds")  # parts of a `TrainState`
FORMS: dict[str, AbstractStates] = {"whole": WholeStates(), "sharded": ShardedStates()}


class Checkpoints:
    """The checkpoints of a run.

    One is written whole or not at all, and has a checksum. The one before the last is kept, in
    case the last one is damaged later: a run that goes on from it ends in the same model.

    Attributes:
        run: the folder of the run.
    """

    def __init__(self, run: Path):
        self.run = run
        self._known: tuple[Path, dict[str, Any]] | None = None  # a whole one, and its header

    @property
    def last(self) -> Path:
        """The last one."""
        return self._path(LAST)

    @property
    def previous(self) -> Path:
        """The one before it."""
        return self._path(PREVIOUS)

    def _path(self, name: str) -> Path:
        """Return the path of one, in the form in which it is there; whole if there is none."""
        paths = [self._in(f"{name}{form.suffix}") for form in FORMS.values()]
        return next((path for path in paths if path.exists()), paths[0])

    def _in(self, name: str) -> Path:
        return inside(self.run, f"{CHECKPOINTS}/{name}")

    def make_folder(self) -> None:
        """Create their folder, and that of the run."""
        self.last.parent.mkdir(parents=True, exist_ok=True)

    @property
    def exist(self) -> bool:
        """Whether there is one."""
        return self.last.exists() or self.previous.exists()

    @property
    def whole(self) -> Path:
        """The last one that is not damaged.

        Raises:
            ModelFileError: there is none.
        """
        return self._found()[0]

    def _found(self) -> tuple[Path, dict[str, Any]]:
        """Return the last one that is not damaged and its header, which are looked for once."""
        damage: list[InputError] = []
        # Where the first process sees them: a file system may show others an older folder.
        paths = told([str(self.last), str(self.previous)]) if self._known is None else []
        for path in map(Path, paths):
            try:
                self._known = path, _form_of(path).header(path)
                break
            except ModelFileError as error:
                damage.append(error)
        if self._known is None:
            raise damage[0]
        return self._known

    def write(self, state: TrainState, fingerprint: str, form: str = "whole") -> None:
        """Write the last one, with a hash of the rows; the last so far becomes the one before.

        Args:
            state: what to write.
            fingerprint: the hash of the rows.
            form: how, one of `FORMS`.
        """
        header = {"format": "harmonium", "version": 1, "holds": "training state"}
        header |= {"rows": fingerprint, "jax": jax.__version__}
        header |= {name: getattr(state, name) is not None for name in LEARNED_OF_ROWS}
        suffix = FORMS[form].suffix
        new = self._in(f"{LAST}{suffix}.new")
        _remove(str(new))  # left by a crash
        FORMS[form].write(state, new, header)
        self._replace(str(new), suffix)
        self._known = self._in(f"{LAST}{suffix}"), header

    @by_first
    def _replace(self, new: str, suffix: str) -> None:
        last = self.last
        if last.exists():
            while self.previous.exists():  # a folder cannot be replaced by another one
                _remove(str(self.previous))
            last.replace(self._in(f"{PREVIOUS}{last.suffix}"))
        Path(new).replace(self._in(f"{LAST}{suffix}"))
        sync_folder(last.parent)

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
        state = _form_of(path).read(path, like)
        floats = [x for x in jax.tree.leaves(state) if jnp.issubdtype(x.dtype, jnp.floating)]
        if not all(jnp.isfinite(x).all() for x in floats) or int(state.updates) < 0:
            raise ModelFileError(
                f"{path}: expected the state of a run; found values that are not finite;"
                " train anew."
            )
        return state


def _form_of(path: Path) -> AbstractStates:
    return next(form for form in FORMS.values() if form.suffix == path.suffix)


@by_first
def _remove(path: str) -> None:
    if Path(path).is_dir():
        shutil.rmtree(path)
    else:
        Path(path).unlink(missing_ok=True)
