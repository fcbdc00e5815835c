"""The options of a run, as its folder stores them."""

from __future__ import annotations

import json
import os
import shlex
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from ..data.block_files import is_in_blocks
from ..data.builtin import BUILTIN
from ..errors import InputError, ModelFileError, input_error
from ..tables.text_format import TextFormat
from .jsonable import read_json
from .options import (
    BINARIZE,
    KEEP,
    METHODS,
    PRECISIONS,
    SEEDS,
    check_choice,
    check_count,
    check_number,
    check_penalty,
    check_seed,
    is_number,
)
from .schema import Misfit, as_kind

TEXT_OPTIONS = ("header", "separator", "missing", "skip")
USUAL = {"chains": 500, "batch": 200}  # where nothing is asked for, and one device computes
# What runs did whose folders do not say.
BEFORE: dict[str, Any] = {"penalty": 0.0, "keep": "last", "groups": False, "window": 0}


@dataclass(frozen=True, kw_only=True)
class RunConfig:
    """The options of `harmonium train`.

    Attributes:
        source: a built-in data set or a file.
        visible: kind of the visible units, a registered name; "auto" chooses by the data.
        hidden: number of hidden units; "auto" for one for every hundred training rows, but at most
            two for each column and 500 in all, and at least 64. A run's folder has the number.
        hidden_units: kind of the hidden units, a registered name.
        hidden_states: number of states of each hidden unit that holds codes, such as Potts.
        method: a gradient method, one of `METHODS`.
        k: Gibbs sweeps per update.
        chains: total number of chains, for methods that have chains; None for 500, or the next
            number that the devices of a mesh can share. A run's folder has the number.
        epochs: passes over the rows; None for at least 20 passes and at least 10,000 updates,
            up to 40,000 for a small model of more than 2,000 rows.
        batch: rows per update; None for 200, or the next number that the devices of a mesh can
            share. A run's folder has the number.
        lr: learning rate of the first half, which falls to zero over the second; None for the
            default of the method and the model.
        seed: random seed of the run.
        split: seed of the choice of rows to hold out, and of what a built-in set draws; None for
            `seed`. Runs of one split and different seeds have the same rows.
        ensemble: how many models to train side by side in one compiled loop, from as many seeds in
            a row, on the same rows.
        binarize: how grey levels are treated, one of `BINARIZE`.
        scale: the grey level that means 1.
        states: number of states of visible Potts units.
        validation: fraction of the rows to hold out; "auto" for a tenth, but none of fewer than 500
            rows of discrete values, which are cross-validated.
        penalty: strength of the penalty on the weights, `Huber`; "auto" for one that the run sets;
            None for 0 if `epochs` is given or the rows are a whole distribution, else "auto". A
            run's folder has the one that was chosen.
        keep: which model the run ends with, one of `KEEP`; None for the best by the held-out rows
            unless there are none or `epochs` is given. A run's folder has the one that was chosen.
        precision: number format of products with the weights; "auto" for bfloat16 where it is
            exact and measured to be faster. A run's folder has the one that was chosen.
        groups: whether visible="auto" looks for groups of 0/1 columns, `exclusive_groups`. Runs
            did not before there was this option.
        columns: a file that says what the columns of a table mean, as a run's columns.json.
        kinds: kinds of columns of a table by their names, such as {"age": "continuous"}.
        alphabet: letters of an alignment: "auto", "protein", "rna", "dna", or all of them with the
            gap first.
        identity: the fraction of equal sites from which sequences of an alignment count as alike.
        header: the number of the line of a text file that names the columns, or "none"; None to
            decide it.
        separator: what stands between the cells of a text file; None to decide it.
        missing: further words that mean a missing cell of a text file.
        skip: lines of a text file to drop at its beginning.
        label: the column of labels, which is not learned; "none" for none, None to decide it.
        weight: the column that says how often each row counts, or None.
        window: rows in memory at a time, of files that are read while training; 0 for all, as for
            other sources; "auto" reads a folder, a pattern, or an .npy file of more than half of
            the memory so. A run's folder has what was chosen.
        folder: the folder where the command was typed, so that the source is found from others.
    """

    source: str
    visible: str = "auto"
    hidden: int | Literal["auto"] = "auto"
    hidden_units: str = "bernoulli"
    hidden_states: int | None = None
    method: str = "pcd"
    k: int = 1
    chains: int | None = None
    epochs: int | None = None
    batch: int | None = None
    lr: float | None = None
    seed: int = 0
    split: int | None = None
    ensemble: int = 1
    binarize: str = "stochastic"
    scale: float | None = None
    states: int | None = None
    validation: float | Literal["auto"] = "auto"
    penalty: float | Literal["auto"] | None = None
    keep: str | None = None
    precision: str = "auto"
    groups: bool = True
    columns: str | None = None
    kinds: dict[str, str] = field(default_factory=dict)
    alphabet: str = "auto"
    identity: float = 0.8
    header: int | Literal["none"] | None = None
    separator: str | None = None
    missing: list[str] = field(default_factory=list)
    skip: int = 0
    label: str | None = None
    weight: str | None = None
    window: int | Literal["auto"] = "auto"
    folder: str | None = None

    def __post_init__(self):
        """Check each option on its own; options that depend on the rows are checked later.

        Raises:
            InputError: names the option, what was expected, what was found and what to do.
        """
        if not isinstance(self.source, str):
            raise input_error("SOURCE", "a name", repr(self.source), "name a set or a file")
        for option in fields(self):
            text = getattr(self, option.name)
            if isinstance(text, str) and "\0" in text:  # no system has such a file
                advice = "correct the run's config.json"
                raise input_error(option.name, "text without a zero byte", repr(text), advice)
        words = {"method": METHODS, "binarize": BINARIZE}
        words |= {} if self.keep is None else {"keep": KEEP}
        for name, allowed in (words | {"precision": PRECISIONS}).items():
            check_choice(f"--{name}", getattr(self, name), allowed)
        if self.hidden != "auto":
            check_count("--hidden", self.hidden)
        for name in ("k", "chains", "batch", "ensemble", "epochs"):
            if getattr(self, name) is not None or name in ("k", "ensemble"):
                check_count(f"--{name}", getattr(self, name))
        for name in ("states", "hidden_states"):
            if getattr(self, name) is not None:
                check_count(f"--{name.replace('_', '-')}", getattr(self, name), least=2)
        if self.window not in ("auto", 0):
            check_count("--window", self.window)
        check_seed(self.seed)
        if self.seed + self.ensemble > SEEDS:
            found = f"{self.ensemble:,} of them from {self.seed:,} on"
            raise input_error("--ensemble", f"seeds below {SEEDS:,}", found, "lower --seed")
        check_seed(self.seed_of_rows, "--split")
        if self.penalty is not None:
            check_penalty(self.penalty)
        if self.lr is not None:
            check_number("--lr", self.lr, "a positive number", "0.1 is a good start", below=1e38)
        told = isinstance(self.kinds, dict) and isinstance(self.columns, str | None)
        if not told or not all(isinstance(x, str) for pair in self.kinds.items() for x in pair):
            expected = "a file, and kinds by column"
            found = f"{self.columns!r}, {self.kinds!r}"
            raise input_error("--columns", expected, found, "correct the run's config.json")
        object.__setattr__(self, "missing", list(self.text_format.missing))  # as JSON has it
        check_number("--identity", self.identity, "a fraction of sites", "give 0.8", below=1.01)
        if self.scale is not None:
            advice = "give the grey level that means 1, such as 255"
            check_number("--scale", self.scale, "a positive number", advice, below=1e38)
        told = self.validation != "auto"
        if told and (not is_number(self.validation) or not 0 <= float(self.validation) < 1):
            expected = "auto, or a fraction of the rows, from 0 to below 1"
            advice = "give 0.1, or 0 for none"
            raise input_error("--validation", expected, repr(self.validation), advice)

    @property
    def text_format(self) -> TextFormat:
        """How a text file is read, as far as the options say."""
        return TextFormat(**{name: getattr(self, name) for name in TEXT_OPTIONS})

    @property
    def seed_of_rows(self) -> int:
        """The seed by which rows are held out, and drawn for a built-in set."""
        return self.seed if self.split is None else self.split

    def updates_an_epoch(self, rows: int) -> int:
        """Return the number of updates in one epoch over this many rows."""
        return -(-rows // min(self.batch or USUAL["batch"], rows))

    @property
    def origin(self) -> str:
        """The source as any folder finds it: the file beside which the command was typed.

        If it is no longer there, the source is as it was typed: a built-in set, or a file here.
        """
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
        """The command of such a run: the options that are not the defaults."""
        words = ["harmonium", "train", self.source]
        for each in fields(self):
            value = getattr(self, each.name)
            option = f"--{each.name.replace('_', '-')}"
            if each.name == "kinds":
                for name, kind in self.kinds.items():
                    words += ["--drop", name] if kind == "left out" else ["--as", f"{name}={kind}"]
            elif each.name == "missing":
                for word in self.missing:
                    words += [option, word]
            elif each.name not in ("source", "groups", "folder"):
                is_usual = value in (each.default, USUAL.get(each.name))
                words += [] if is_usual else [option, str(value)]
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
        try:
            options = read_json(Path(path), has_paths=True)
            if not isinstance(options, dict):
                return as_kind(options, cls)
            known = {name: options[name] for name in options if name in cls.__dataclass_fields__}
            # An option's own check says what it may be, its type only of what kind that is.
            with suppress(TypeError, AttributeError):
                cls(**(BEFORE | known))
            return as_kind(BEFORE | known, cls)
        except (InputError, Misfit) as error:
            reason = str(error).rstrip(".")
            raise ModelFileError(
                f"{path}: expected the options of a run; found that they cannot be read ({reason});"
                " restore the file, or train anew."
            ) from None
