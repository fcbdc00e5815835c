"""The options of `harmonium train`, which are stored in the folder of each run."""

from __future__ import annotations

import json
import os
import shlex
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from ..errors import InputError, ModelFileError
from .options import (
    BINARIZE,
    KEEP,
    METHODS,
    PRECISIONS,
    SEEDS,
    SKIP,
    TEXT_OPTIONS,
    Argument,
    Choice,
    Header,
    Missing,
    Number,
    Option,
    Scale,
    Seed,
    Separator,
    Whole,
    check_options,
    options_of,
)

if TYPE_CHECKING:  # `harmonium train --help` need not wait for JAX
    from ..tables.text_format import TextFormat

CORRECT = "correct the run's config.json"
USUAL = {"chains": 500, "batch": 200}  # the defaults on one device
# The values of options in runs whose folders do not record them.
BEFORE: dict[str, Any] = {
    "penalty": 0.0,
    "keep": "last",
    "groups": False,
    "window": 0,
    "may_be_mixture": False,
}


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The options of `harmonium train`, as described in its help.

    The folder of a run also stores the values chosen for options that the user did not give.

    Attributes:
        kinds: types of table columns by name, such as {"age": "continuous"}.
        groups: whether visible="auto" looks for groups of exclusive 0/1 columns
            (`exclusive_groups`), which runs made before this option existed did not do.
        may_be_mixture: whether the run may restart from a mixture: a mixture of products if the
            user did not choose the hidden units, or a mixture over numbers if no classes were
            requested. None until this is known.
        folder: the folder where the command was typed, so that the source is found from other
            folders.
    """

    source: Annotated[str, Argument("A built-in data set or a file.", "SOURCE")]
    visible: Annotated[
        str,
        Option(
            "Kind of visible units: bernoulli, ising, potts, gaussian, relu, drelu, unit_interval,"
            " poisson, replicated_softmax (word counts), tree (0/1 columns, each dependent on one"
            " other), or auto (chosen from the data: groups of 0/1 columns of which at most one is"
            " ever 1 become categories; if a tree explains the columns better, the run starts from"
            " it).",
        ),
    ] = "auto"
    classes: Annotated[
        int | None,
        Whole(
            "Number of classes of rows, each with its own means and variances: the model starts"
            " from a mixture of the classes, to which hidden units add dependences.  [default: 1;"
            " for numbers, more if that explains held-out rows better]",
        ),
    ] = None
    hidden: Annotated[
        int | Literal["auto"],
        Whole(
            "Number of hidden units; auto is one per 100 rows, but at most two per column and 500"
            " in all, and at least 64; or a single unit with a state for each class, if a mixture"
            " explains held-out rows better.",
            word="auto",
        ),
    ] = "auto"
    hidden_units: Annotated[
        str, Option("Kind of hidden units: bernoulli, ising, gaussian or potts.")
    ] = "bernoulli"
    hidden_states: Annotated[
        int | None, Whole("Number of states of each hidden Potts unit.", least=2)
    ] = None
    method: Annotated[
        str, Choice(f"{', '.join(METHODS[:-1])} or {METHODS[-1]}.", allowed=METHODS)
    ] = "pcd"
    k: Annotated[int, Whole("Gibbs sweeps per update.")] = 1
    chains: Annotated[
        int | None,
        Whole(
            "Number of chains, for methods that have chains; with --mesh, the default is rounded"
            f" up to a number that the devices can share.  [default: {USUAL['chains']}]",
        ),
    ] = None
    epochs: Annotated[
        int | None,
        Whole(
            "Passes over the rows.  [default: at least 20, and enough for 10,000 updates (up to"
            " 40,000 for a small model of more than 2,000 rows)]",
        ),
    ] = None
    batch: Annotated[
        int | None,
        Whole(
            "Rows per update (batch size); with --mesh, the default is rounded up to a number that"
            f" the devices can share.  [default: {USUAL['batch']}]",
        ),
    ] = None
    lr: Annotated[
        float | None,
        Number(
            "Learning rate; it falls to 0 over the second half of the run.  [default: 0.1; up to"
            " 0.4 for pcd with 500 or more chains on more than 64 columns of 0/1 or sites of"
            " letters; less if the units of both layers vary widely. The default is multiplied by"
            " four if the model is chosen by held-out rows whose likelihood can be tracked, and"
            " divided by four each time the run diverges]",
            advice="0.1 is a good start",
        ),
    ] = None
    seed: Seed = 0
    split: Annotated[
        int | None,
        Whole(
            "Seed for choosing the held-out rows: runs with the same split can be compared,"
            " whatever their seeds.  [default: the value of --seed]",
            least=0,
            most=SEEDS - 1,
        ),
    ] = None
    ensemble: Annotated[
        int, Whole("Number of models to train side by side, from consecutive seeds.")
    ] = 1
    binarize: Annotated[
        str,
        Choice(
            "How to treat grey levels: none, threshold, or stochastic (drawn at each visit).",
            allowed=BINARIZE,
        ),
    ] = "stochastic"
    scale: Scale = None
    states: Annotated[
        int | None,
        Whole("Number of states of each visible Potts unit.  [default: as in the data]", least=2),
    ] = None
    validation: Annotated[
        float | Literal["auto"],
        Number(
            "Fraction of the rows to hold out; auto is a tenth, or 0 for data sets with fewer than"
            " 500 rows, which are cross-validated.",
            word="auto",
            is_zero_allowed=True,
            below=1.0,
            expected="auto, or a fraction of the rows, from 0 to below 1",
            advice="give 0.1, or 0 for none",
        ),
    ] = "auto"
    penalty: Annotated[
        float | Literal["auto"] | None,
        Number(
            "Strength of a penalty on large weights, 0 for none. With auto it is set from the"
            " number of rows, and grows with the free-energy gap of the held-out rows.  [default:"
            " auto, but 0 if --epochs is given]",
            word="auto",
            is_zero_allowed=True,
            expected="auto, or a number of at least 0",
            advice="0 is no penalty",
        ),
    ] = None
    keep: Annotated[
        str | None,
        Choice(
            "The model to keep: best (highest log-likelihood of the held-out rows) or last. "
            " [default: best, but last if --epochs is given or no rows are held out]",
            allowed=KEEP,
        ),
    ] = None
    precision: Annotated[
        str,
        Choice(
            "Precision of products with the weights: float32, bfloat16, or auto (bfloat16 if it is"
            " exact, and measured to be faster on this device). A seed gives the same model only"
            " at the same precision.",
            allowed=PRECISIONS,
        ),
    ] = "auto"
    groups: bool = True
    may_be_mixture: bool | None = None
    columns: Annotated[
        str | None,
        Option("The column types of a table: the columns.json of a run, perhaps edited.", "FILE"),
    ] = None
    kinds: dict[str, str] = field(default_factory=dict)
    header: Header = None
    separator: Separator = None
    missing: Missing = field(default_factory=list)
    skip: Annotated[int, SKIP] = 0
    label: Annotated[
        str | None,
        Option(
            "A column of labels, which is not learned.  [default: for a file of pictures, found by"
            " its name or values]",
            "NAME|none",
        ),
    ] = None
    weight: Annotated[str | None, Option("A column of weights: how often each row counts.")] = None
    given: Annotated[
        list[str],
        Option(
            "A column that is given in every row: the model is the distribution of the other"
            " columns given this one; repeatable."
        ),
    ] = field(default_factory=list)
    past: Annotated[
        int,
        Whole(
            "For a series: how many rows before each row are given, as columns NAME_lag1 and so on."
            "  [default: 0]",
            least=0,
        ),
    ] = 0
    alphabet: Annotated[
        str,
        Option(
            "Letters of an alignment: auto, protein, rna, dna, or all letters with the gap first,"
            " such as -ACGU."
        ),
    ] = "auto"
    identity: Annotated[
        float,
        Number(
            "Fraction of equal sites at or above which two sequences of an alignment count as"
            " alike; the weight of a sequence is 1 over the number of sequences like it, itself"
            " included.",
            below=1.01,  # 1 itself is allowed
            expected="a fraction of sites",
            advice="give 0.8",
        ),
    ] = 0.8
    window: Annotated[
        int | Literal["auto"],
        Whole(
            "Rows in memory at a time, for .npy, .parquet or .arrow files that are read during"
            " training; 0 for all. With auto, this is done for a folder of files, a glob pattern,"
            " or an .npy file larger than half the available memory.",
            word="auto",
            least=0,
        ),
    ] = "auto"
    folder: str | None = None

    def __post_init__(self):
        """Check the options that can be checked without the rows; others are checked later.

        Raises:
            InputError: an option is invalid; the message says what was expected and what to do.
        """
        if not isinstance(self.source, str):
            raise InputError(
                f"SOURCE: expected the name of a data set or file; got {self.source!r}; {CORRECT}."
            )
        for option in fields(self):
            text = getattr(self, option.name)
            if isinstance(text, str) and "\0" in text:  # no file name may contain one
                raise InputError(
                    f"{option.name}: expected text without a zero byte; got {text!r}; {CORRECT}."
                )
        are_words = isinstance(self.kinds, dict) and all(
            isinstance(word, str) for pair in self.kinds.items() for word in pair
        )
        if not are_words or not isinstance(self.columns, str | None):
            raise InputError(
                "--columns: expected a file name in columns, and names of types in kinds; got"
                f" {self.columns!r} and {self.kinds!r}; {CORRECT}."
            )
        object.__setattr__(self, "missing", list(self.text_format.missing))  # a list, as in JSON
        check_options(self)
        if self.seed + self.ensemble > SEEDS:
            raise InputError(
                f"--ensemble: expected seeds below {SEEDS:,}; got {self.ensemble:,} seeds from"
                f" {self.seed:,} on; lower --seed."
            )

    @property
    def text_format(self) -> TextFormat:
        """The options for reading a text file."""
        from ..tables.text_format import TextFormat

        return TextFormat(**{name: getattr(self, name) for name in TEXT_OPTIONS})

    @property
    def seed_of_rows(self) -> int:
        """The seed for holding out rows, and for drawing the rows of a built-in data set."""
        return self.seed if self.split is None else self.split

    def updates_an_epoch(self, rows: int) -> int:
        """Return the number of updates in one epoch over this many rows."""
        return -(-rows // min(self.batch or USUAL["batch"], rows))

    @property
    def origin(self) -> str:
        """The path of the source, starting with the folder where the command was typed.

        If this path does not exist, the source is returned as typed: a built-in data set, or a file
        in the current folder.
        """
        from ..data.block_files import is_in_blocks
        from ..data.builtin import BUILTIN

        if not isinstance(self.folder, str) or Path(self.folder) == Path.cwd():
            return self.source
        there = str(Path(self.folder, self.source))
        files = (there, there.rpartition(":")[0])  # FILE, or FILE.npz:KEY
        if any(Path(file).is_file() for file in files):
            return there
        is_stream = self.window != 0 and self.source not in BUILTIN and is_in_blocks(there)
        return there if is_stream else self.source

    @property
    def command(self) -> str:
        """The command line that starts a run with these options; defaults are left out."""
        words = ["harmonium", "train", self.source]
        for name, option in options_of(RunConfig).items():
            value = getattr(self, name)
            if name == "missing":
                for word in self.missing:
                    words += ["--missing", word]
            elif name == "given":
                for word in self.given:
                    words += ["--given", word]
            elif name != "source" and value not in (getattr(RunConfig, name), USUAL.get(name)):
                words += [option.name(name), str(value)]
        for column, kind in self.kinds.items():
            if kind == "left out":
                words += ["--drop", column]
            else:
                words += ["--as", f"{column}={kind}"]
        return shlex.join(words)

    def to_json(self) -> str:
        """Return the options as JSON."""
        return json.dumps(asdict(self), indent=2) + "\n"

    @classmethod
    def read(cls, path: str | os.PathLike) -> RunConfig:
        """Read the options that `to_json` wrote.

        Raises:
            ModelFileError: the file is missing, is not JSON, or holds invalid options.
        """
        from .jsonable import read_json  # imports NumPy, which would slow down --help
        from .schema import Misfit, as_kind

        try:
            options = read_json(Path(path), has_paths=True)
            if not isinstance(options, dict):
                return as_kind(options, cls)
            known = {name: options[name] for name in options if name in cls.__dataclass_fields__}
            # An option's own check describes its valid values more precisely than its type.
            with suppress(TypeError, AttributeError):
                cls(**(BEFORE | known))
            return as_kind(BEFORE | known, cls)
        except (InputError, Misfit) as error:
            reason = str(error).rstrip(".")
            raise ModelFileError(
                f"{path}: expected the options of a run; got some that cannot be read ({reason});"
                " restore the file, or train a new model."
            ) from None
