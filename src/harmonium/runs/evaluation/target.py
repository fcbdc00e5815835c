"""The target of an evaluation: a model and the rows on which it is scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._base.threefry import fold_in, key_of
from ...data import Dataset
from ...diagnostics.base import Mixing
from ...errors import InputError
from ...inference import impute
from ...inference.sampling import DrawnRows
from ...likelihood.partition_function.base import LogZ
from ...rbm import RBM
from ..folder import RunFolder
from ..leftovers import is_run
from ..rows import Rows, own_rows, rows_for_model, text_format_for
from .options import EvaluationConfig

GIVEN = "given"  # the name of the only part if a file has no named parts


@dataclass
class Target:
    """A model, the rows to score, and results that later blocks and pictures reuse.

    Attributes:
        rbm: the model.
        options: the options of the command.
        data: the rows; None if there are none.
        name: the part of the rows that is scored; None if there are no rows.
        log_z: log Z of the model; None until it is computed.
        mixing: how fast chains mix; None if unknown.
        samples: samples of the model; None until they are drawn.
    """

    rbm: RBM
    options: EvaluationConfig
    data: Rows | None
    name: str | None
    log_z: LogZ | None = None
    mixing: Mixing | None = None
    samples: DrawnRows | None = None

    @property
    def own(self) -> bool:
        """Whether the rows come from the run's own source."""
        return self.data is not None and self.options.data is None

    @property
    def parts(self) -> dict[str, Dataset]:
        """The available datasets, by name: "train", "validation" and "test"."""
        return {} if self.data is None else self.data.parts

    @property
    def notes(self) -> list[str]:
        """Sentences that describe the rows."""
        return [] if self.data is None else [self.data.about, *self.data.notes]

    @property
    def scored(self) -> Dataset | None:
        """The rows to score; None if there are no rows."""
        return None if self.name is None else self.parts[self.name]

    @property
    def learned_and_held_out(self) -> tuple[str, str] | None:
        """The names of the training part and of a held-out part of the rows; None if unknown."""
        if not self.own or "train" not in self.parts:
            return None
        for name in (self.name, "validation", "test"):
            if name is not None and name != "train" and name in self.parts:
                return "train", name
        return None

    def key_of(self, number: int) -> Any:
        """Return the random key of the block with index `number`."""
        return fold_in(key_of(self.options.seed), number)

    def rows(self, name: str, most: int) -> np.ndarray:
        """Return up to `most` evenly spaced rows of a part, always with the same binarisation.

        Missing values are drawn from the model, given the observed values of the same row.
        """
        rows = self.parts[name].some(most).rows(key=self.key_of(0))
        if not self.parts[name].missing:
            return rows
        return impute(self.rbm, rows, key=self.key_of(0), draws=1).draws[0]


def target_of(rbm: RBM, options: EvaluationConfig) -> Target:
    """Return the target of an evaluation: the model and the rows chosen by the options.

    Raises:
        InputError: the rows cannot be read or are incompatible with the model.
    """
    folder = RunFolder(options.run)
    rows = None
    if options.data is not None:
        rows = _rows_given(folder, options.data, rbm, options)
    elif is_run(options.run):
        rows = own_rows(folder, options.source)
    name = None
    if rows is not None:
        name = _chosen_part(options.rows, rows.parts, options.data or options.run)
    return Target(rbm, options, rows, name)


def _rows_given(folder: RunFolder, data: str, rbm: RBM, options: EvaluationConfig) -> Rows:
    """Return the rows of DATA, read with the run's settings unless options override them."""
    config = folder.config() if is_run(options.run) else None
    binarize = options.binarize
    if binarize is None:  # a model file does not record how grey levels were binarised
        binarize = "stochastic" if config is None else config.binarize
    rows = rows_for_model(
        data,
        rbm,
        binarize,
        options.scale,
        folder.columns(),
        folder.sites(),
        text_format_for(data, options.run, options.text),
        config,
    )
    if options.rows == "auto" and list(rows.parts) == ["train"]:  # a file without named parts
        rows = rows._replace(parts={GIVEN: rows.parts["train"]})
    return rows


def _chosen_part(part: str, parts: dict[str, Dataset], source: str) -> str:
    """Return the name of the rows to score: by default test, else validation, else train."""
    wanted = ("test", "validation", "train", GIVEN) if part == "auto" else (part,)
    for name in wanted:
        if name in parts:
            return name
    raise InputError(
        f"{source}: expected {part} rows; got {' and '.join(parts)} rows only; choose one of these"
        " with --rows."
    )
