"""The options of `harmonium evaluate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from ...errors import InputError
from ..options import (
    BINARIZE,
    EVALUATION_SEED,
    PARTS,
    SCORES,
    Argument,
    Choice,
    Number,
    Option,
    Scale,
    Seed,
    Source,
    TextOptions,
    Whole,
    check_count,
    check_options,
)


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig:
    """The options of `harmonium evaluate`, as described in its help.

    Attributes:
        text: the options for reading DATA, if it is a text file.
    """

    run: Annotated[str, Argument("A run folder or a model.", "RUN")]
    data: Annotated[str | None, Argument("A built-in data set or a file.", "DATA")] = None
    rows: Annotated[
        str, Choice("Rows to score: train, validation, test or auto.", allowed=PARTS)
    ] = "auto"
    method: Annotated[
        str,
        Choice(
            "How to compute log Z: auto, exact, annealed, or tempered (replica exchange).",
            allowed=SCORES,
        ),
    ] = "auto"
    seconds: Annotated[
        float,
        Number(
            "Time limit for log Z, in seconds; after it, no new round of estimation starts.",
            advice="give 120",
            below=1e9,
        ),
    ] = 120.0
    chains: Annotated[
        int | None,
        Whole(
            "Annealing chains per direction; with --method tempered, columns of replicas. "
            " [default: 512; tempered: 64]",
            least=2,
        ),
    ] = None
    steps: Annotated[
        int | None,
        Whole("Steps of each annealing run.  [default: as many as needed]", least=2),
    ] = None
    quick: Annotated[bool, Option("Leave out mixing, equilibrium, samples and the report.")] = False
    pictures: Annotated[
        str | None, Option("Folder for pictures as PNG files.  [default: none]", "DIR")
    ] = None
    seed: Seed = EVALUATION_SEED
    binarize: Annotated[
        str | None,
        Choice(
            "How to treat grey levels: none, threshold, or stochastic (one draw per row). "
            " [default: as in the run]",
            allowed=BINARIZE,
        ),
    ] = None
    scale: Scale = None
    text: TextOptions = field(default_factory=TextOptions)
    source: Source = None

    def __post_init__(self):
        """Check the options that can be checked without the model; others are checked later.

        Raises:
            InputError: an option is invalid; the message says what was expected and what to do.
        """
        check_options(self)
        if self.source is not None and self.data is not None:
            raise InputError(
                f"--source: expected no DATA with --source; got DATA {self.data}; leave one of the"
                " two out."
            )
        if self.text.given and self.data is None:
            raise InputError(
                f"--{next(iter(self.text.given))}: expected a text file as DATA; got none; leave"
                " out this option, since a run's own rows are read with the options of the run."
            )
        if self.method == "tempered":
            if self.chains is not None:
                check_count("--chains", self.chains, least=8)
            if self.steps is not None:
                raise InputError(
                    f"--steps {self.steps}: expected no --steps with --method tempered; got both;"
                    " limit the time with --seconds instead."
                )
        if self.pictures is not None:
            from ..writing import check_folder

            name = f"--pictures {self.pictures}"
            if self.quick:
                raise InputError(
                    f"{name}: expected no --quick, which draws no pictures; got both; leave one of"
                    " the two out."
                )
            check_folder(name, Path(self.pictures))
