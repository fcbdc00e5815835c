"""The target of an evaluation: a model, and the rows that it is scored on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from ..._threefry import key_of
from ...data import Dataset
from ...diagnostics.base import Mixing
from ...errors import input_error
from ...missing import impute
from ...partition_function.base import LogZ
from ...rbm import RBM
from ..folder import RunFolder, is_run
from ..rows import Rows, own_rows, rows_for_model
from ..text_formats import text_format_for
from .sampling import Drawn

GIVEN = "given"  # the name of the rows of a file that names no parts


@dataclass(kw_only=True)
class Target:
    """A model and its rows, and what blocks have measured that later ones and pictures need.

    Attributes:
        rbm: the model.
        run: the run folder or file, as the user named it.
        data: the rows; None where there are none.
        name: which part of them is scored; None where there are no rows.
        own: whether they are the rows of the run's own source.
        seed: random seed of the evaluation.
        source: the file that the user named in place of the run's own source; None for none.
        log_z: log Z of the model; None before it is computed.
        mixing: how fast chains mix; None if that is not known.
        samples: samples of the model; None if there are none.
    """

    rbm: RBM
    run: str
    data: Rows | None
    name: str | None
    own: bool
    seed: int
    source: str | None = None
    log_z: LogZ | None = None
    mixing: Mixing | None = None
    samples: Drawn | None = None

    @property
    def parts(self) -> dict[str, Dataset]:
        """Datasets by name, "train", "validation" and "test" as far as there are any."""
        return {} if self.data is None else self.data.parts

    @property
    def scored(self) -> Dataset | None:
        """The rows that are scored, or None."""
        return None if self.name is None else self.parts[self.name]

    @property
    def learned_and_held_out(self) -> tuple[str, str] | None:
        """Names of the training rows, and of rows that the model has not seen; None if unknown."""
        if not self.own or "train" not in self.parts:
            return None
        for name in (self.name, "validation", "test"):
            if name is not None and name != "train" and name in self.parts:
                return "train", name
        return None

    def key_of(self, number: int) -> Any:
        """Return the random key of a block, by its number."""
        return jax.random.fold_in(key_of(self.seed), number)

    def rows(self, name: str, most: int) -> np.ndarray:
        """Return at most `most` rows of a part, evenly spaced; grey levels are drawn once.

        Missing values are drawn from the model, given the seen values of their row.
        """
        rows = self.parts[name].some(most).rows(key=self.key_of(0))
        if not self.parts[name].missing:
            return rows
        return impute(self.rbm, rows, key=self.key_of(0), draws=1).draws[0]


def target_of(
    run: str,
    data: str | None,
    rbm: RBM,
    *,
    part: str,
    binarize: str | None,
    scale: float | None,
    seed: int,
    source: str | None,
    text: Mapping[str, Any],
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
    folder = RunFolder(run)
    rows = None
    if data is not None:
        config = folder.config() if is_run(run) else None
        if binarize is None:  # a model file does not say how its rows were treated
            binarize = "stochastic" if config is None else config.binarize
        text_format = text_format_for(data, run, text)
        columns = folder.columns()
        sites = folder.sites()
        rows = rows_for_model(data, rbm, binarize, scale, columns, sites, text_format, config)
        if part == "auto" and list(rows.parts) == ["train"]:  # a file of rows without parts
            rows = rows._replace(parts={GIVEN: rows.parts["train"]})
    elif is_run(run):
        rows = own_rows(folder, source)
    name = None if rows is None else _chosen_part(part, rows.parts, data or run)
    own = rows is not None and data is None
    return Target(rbm=rbm, run=run, data=rows, name=name, own=own, seed=seed, source=source)


def _chosen_part(part: str, parts: dict[str, Dataset], source: str) -> str:
    """Return the name of the rows to score; by default test, else validation, else train."""
    wanted = ("test", "validation", "train", GIVEN) if part == "auto" else (part,)
    for name in wanted:
        if name in parts:
            return name
    found = f"{' and '.join(parts)} rows only"
    raise input_error(source, f"{part} rows", found, "choose one of these with --rows")
