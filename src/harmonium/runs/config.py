"""What a run is asked to do, as its folder keeps it."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ..errors import ModelFileError, input_error
from .options import (
    BINARIZE,
    METHODS,
    PRECISIONS,
    check_choice,
    check_count,
    check_number,
    check_seed,
    is_number,
)


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The options of `harmonium train`.

    Attributes:
        source: a built-in set or a file.
        visible: kind of the visible units, a registered name; "auto" lets the data say.
        hidden: number of hidden units.
        hidden_units: kind of the hidden units, a registered name.
        hidden_states: number of states of hidden units that have codes, such as Potts.
        method: a gradient method, one of `METHODS`.
        k: Gibbs sweeps in an update.
        chains: chains in all, of the methods that have any.
        epochs: passes over the rows; None for at least 20 and at least 10,000 updates.
        batch: rows in an update.
        lr: learning rate of the first half, which falls to zero over the second; None for the one
            that is usual for the method and the model.
        seed: seed of everything that is drawn.
        binarize: what becomes of grey levels.
        scale: the grey level that means 1.
        states: number of states of Potts visibles.
        validation: part of the rows held out.
        precision: of the products with the weights; "auto" for bfloat16 where it is exact and
            faster.
    """

    source: str
    visible: str = "auto"
    hidden: int = 64
    hidden_units: str = "bernoulli"
    hidden_states: int | None = None
    method: str = "pcd"
    k: int = 1
    chains: int = 500
    epochs: int | None = None
    batch: int = 200
    lr: float | None = None
    seed: int = 0
    binarize: str = "stochastic"
    scale: float | None = None
    states: int | None = None
    validation: float = 0.1
    precision: str = "auto"

    def __post_init__(self):
        """Check every option by itself; what depends on the rows is checked with them.

        Raises:
            InputError: naming the option, what was expected, what was found and what to do.
        """
        if not isinstance(self.source, str):
            raise input_error("SOURCE", "a name", repr(self.source), "name a set or a file")
        words = {"method": METHODS, "binarize": BINARIZE}
        for name, allowed in (words | {"precision": PRECISIONS}).items():
            check_choice(f"--{name}", getattr(self, name), allowed)
        for name in ("hidden", "k", "chains", "batch"):
            check_count(f"--{name}", getattr(self, name))
        if self.epochs is not None:
            check_count("--epochs", self.epochs)
        for name in ("states", "hidden_states"):
            if getattr(self, name) is not None:
                check_count(f"--{name.replace('_', '-')}", getattr(self, name), least=2)
        check_seed(self.seed)
        if self.lr is not None:
            check_number("--lr", self.lr, "a positive number", "0.1 is a good start", below=1e38)
        if self.scale is not None:
            advice = "give the grey level that means 1, such as 255"
            check_number("--scale", self.scale, "a positive number", advice, below=1e38)
        if not is_number(self.validation) or not 0 <= self.validation < 1:
            expected, advice = "a part of the rows, from 0 to below 1", "give 0.1, or 0 for none"
            raise input_error("--validation", expected, repr(self.validation), advice)

    def updates_an_epoch(self, rows: int) -> int:
        """Return how many batches so many rows make."""
        return -(-rows // min(self.batch, rows))

    def to_json(self) -> str:
        """Return the options as JSON."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def read(cls, path: str | os.PathLike) -> RunConfig:
        """Read the options that `to_json` wrote.

        Raises:
            ModelFileError: the file is missing, no JSON, or holds other options.
        """
        try:
            found: Any = json.loads(Path(path).read_text("utf-8"))
            known = {field.name for field in fields(cls)}
            return cls(**{name: found[name] for name in found if name in known})
        except (OSError, ValueError, TypeError, RecursionError) as error:
            reason = " ".join(str(error).split()).rstrip(".")
            raise ModelFileError(
                f"{path}: expected the options of a run; found that they cannot be read ({reason});"
                " restore the file, or train anew."
            ) from None
