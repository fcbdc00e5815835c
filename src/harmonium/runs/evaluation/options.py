"""The options of `harmonium evaluate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...errors import input_error
from ..options import (
    BINARIZE,
    EVALUATION_SEED,
    PARTS,
    SCORES,
    check_choice,
    check_count,
    check_folder,
    check_number,
    check_seed,
)


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """The options of `harmonium evaluate`.

    Attributes:
        run: a run folder or a model.
        data: a built-in data set or a file; None for the run's own source.
        rows: which of the source's rows to score, one of `PARTS`.
        method: "auto", "exact", "annealed" or "tempered".
        chains: annealing chains in each direction, or tempered chains; None for the default of
            the method.
        steps: steps of each annealing run; None for as many as needed.
        seconds: time after which log Z takes no more steps or chains.
        quick: whether mixing, equilibrium and samples are left out.
        pictures: folder for pictures as PNG files; None for no pictures.
        seed: random seed of the evaluation.
        binarize: how grey levels are treated, one of `BINARIZE`; None for as the run did.
        scale: the grey level that means 1.
        text: how a text file is read, as `text_format_for` takes it.
        source: the file that has the rows of the run's own source, if that may not be used.
    """

    run: str
    data: str | None = None
    rows: str = "auto"
    method: str = "auto"
    chains: int | None = None
    steps: int | None = None
    seconds: float = 120.0
    quick: bool = False
    pictures: str | None = None
    seed: int = EVALUATION_SEED
    binarize: str | None = None
    scale: float | None = None
    text: dict[str, Any] = field(default_factory=dict)
    source: str | None = None

    def __post_init__(self):
        """Check each option on its own; options that depend on the model are checked later.

        Raises:
            InputError: names the option, what was expected, what was found and what to do.
        """
        if self.source is not None and self.data is not None:
            found = f"DATA {self.data} too"
            expected = "the rows of the run's own source"
            raise input_error("--source", expected, found, "leave one of them out")
        check_choice("--rows", self.rows, PARTS)
        if self.text and self.data is None:
            option = f"--{next(iter(self.text))}"
            advice = "leave it out: a run's own rows are read as the run did"
            raise input_error(option, "a file of rows as DATA", "none", advice)
        if self.binarize is not None:
            check_choice("--binarize", self.binarize, BINARIZE)
        check_seed(self.seed)
        check_choice("--method", self.method, SCORES)
        if self.chains is not None:
            check_count("--chains", self.chains, least=8 if self.method == "tempered" else 2)
        if self.steps is not None:
            check_count("--steps", self.steps, least=2)
            if self.method == "tempered":
                expected = "no --steps with --method tempered"
                advice = "give --seconds instead"
                raise input_error(f"--steps {self.steps}", expected, "a number of them", advice)
        check_number("--seconds", self.seconds, "a positive number", "give 120", below=1e9)
        if self.pictures is not None:
            name = f"--pictures {self.pictures}"
            if self.quick:
                advice = "leave out one of them"
                raise input_error(name, "no --quick, which draws none", "both", advice)
            check_folder(name, Path(self.pictures))
