"""The target of an evaluation: a model, and the rows that it is scored on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from .._threefry import key_of
from ..data import Dataset
from ..errors import input_error
from ..missing import impute
from ..rbm import RBM
from .folder import CONFIG, RunFolder
from .rows import Rows, own_rows, rows_for_model
from .text_formats import text_format_for

GIVEN = "given"  # the name of rows that are told by their file


class Target(NamedTuple):
    """A model and its rows.

    Attributes:
        rbm: the model.
        run: the run folder or file, as the user named it.
        data: the rows; None where there are none.
        name: which part of them is scored; None where there are no rows.
        own: whether they are the rows of the run's own source.
        key: a JAX random key.
        source: the file that the user named in place of the run's own source; None for none.
    """

    rbm: RBM
    run: str
    data: Rows | None
    name: str | None
    own: bool
    key: Any
    source: str | None = None

    @property
    def parts(self) -> dict[str, Dataset]:
        """Datasets by name, "train", "validation" and "test" as far as there are any."""
        return {} if self.data is None else self.data.parts

    @property
    def notes(self) -> list[str]:
        """Sentences that describe the rows."""
        return [] if self.data is None else [self.data.about, *self.data.notes]

    @property
    def scored(self) -> Dataset | None:
        """The rows that are scored, or None."""
        return None if self.name is None else self.parts[self.name]

    @property
    def learned_and_held_out(self) -> tuple[str, str] | None:
        """Names of the training rows, and of rows that the model has not seen; None if unknown."""
        if not self.own or "train" not in self.parts:
            return None
        others = (self.name, "validation", "test")
        held_out = next((name for name in others if name != "train" and name in self.parts), None)
        return None if held_out is None else ("train", held_out)

    def key_of(self, number: int) -> Any:
        """Return the random key of a block, by its number."""
        return jax.random.fold_in(self.key, number)

    def rows(self, name: str, most: int) -> np.ndarray:
        """Return at most `most` rows of a part, evenly spaced; grey levels are drawn once.

        Missing values are drawn from the model, given the seen values of their row.
        """
        rows = self.parts[name].some(most).rows(key=self.key_of(0))
        if not self.parts[name].missing:
            return rows
        return impute(self.rbm, rows, key=self.key_of(0), draws=1).draws[0]


def is_run(path: str) -> bool:
    """Return whether a path is the folder of a run."""
    return (Path(path) / CONFIG).is_file()


def target_of(
    run: str,
    data: str | None,
    rbm: RBM,
    part: str,
    binarize: str | None,
    scale: float | None,
    seed: int,
    source: str | None = None,
    text: Mapping[str, Any] | None = None,
) -> Target:
    """Return a model with the rows that it is scored on.

    Args:
        run: run folder or file that the model was read from.
        data: a built-in data set or a file; None for the run's own source.
        rbm: the model.
        part: which of the source's rows are scored.
        binarize: how grey levels are treated; None for as the run did.
        scale: the grey level that means 1.
        seed: random seed of the evaluation.
        source: the file that the user names in place of the run's own source.
        text: how a text file is read, as `text_format_for` takes it.

    Raises:
        InputError: the rows cannot be read or do not fit the model.
    """
    rows = None
    columns, sites = RunFolder(run).columns(), RunFolder(run).sites()
    if data is not None:
        rows = rows_for_model(
            data,
            rbm,
            binarize or _binarize_of(run),
            scale,
            columns,
            sites,
            text_format_for(data, run, text or {}),
            RunFolder(run).config() if is_run(run) else None,
        )
        if part == "auto" and list(rows.parts) == ["train"]:  # those of a file are all alike
            rows = rows._replace(parts={GIVEN: rows.parts["train"]})
    elif is_run(run):
        rows = own_rows(RunFolder(run), source)
    key = key_of(seed)
    if rows is None:
        return Target(rbm, run, None, None, False, key)
    name = _choose(part, rows.parts, data or run)
    return Target(rbm, run, rows, name, data is None, key, source)


def _binarize_of(run: str) -> str:
    """Return how a run treated grey levels; "stochastic" for a model file, which does not say."""
    return RunFolder(run).config().binarize if is_run(run) else "stochastic"


def _choose(part: str, parts: dict[str, Dataset], source: str) -> str:
    """Return the name of the rows to score; by default test, else validation, else train."""
    wanted = (part,) if part != "auto" else ("test", "validation", "train", GIVEN)
    for name in wanted:
        if name in parts:
            return name
    found, advice = f"{' and '.join(parts)} rows only", "choose one of these with --rows"
    raise input_error(source, f"{part} rows", found, advice)
