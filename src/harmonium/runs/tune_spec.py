"""Read and check the file of `harmonium tune`: fixed options, searched options, and sampler."""

from __future__ import annotations

import difflib
import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..data.sources import named_units
from ..data.splits import USUAL_FRACTION
from ..errors import InputError, count_of
from .options import Number, Whole, check_count, options_of
from .train_options import RunConfig

KEYS = ("source", "folder", "trials", "sampler", "prune", "options", "search")
SAMPLERS = ("grid", "random", "tpe")
MEDIAN = "median"
MOST_POINTS = 1_000_000  # largest grid, since its points are shuffled in memory
# Options that decide which rows are scored, or in which units. Trials that differ in such an option
# cannot be ranked.
OF_ROWS = (
    *("visible", "scale", "states", "binarize", "validation", "split", "columns", "as", "drop"),
    *("alphabet", "identity", "header", "separator", "missing", "skip", "label", "weight"),
    *("given", "past"),
)
OPTIONS = options_of(RunConfig)
LISTS = ("missing", "given")  # options that may be repeated
FIELDS = {field.replace("_", "-"): field for field in OPTIONS if field != "source"}
NAMES = (*FIELDS, "as", "drop")
UNITS = {"visible": "auto", "hidden-units": ""}  # valid values other than a kind of units
HELP = "docs/tune.md shows such a file"


class Searched(Protocol):
    """The values to try for an option."""

    def suggest(self, trial: Any, name: str) -> Any:
        """Return the option's value for an Optuna trial; repeated calls return the same value."""
        ...

    @property
    def to_check(self) -> list[Any]:
        """The values to check: if these are valid, so are all values to try."""
        ...


class Choice(NamedTuple):
    """A searched option whose values are listed."""

    values: tuple[Any, ...]

    def suggest(self, trial: Any, name: str) -> Any:
        """Return the value for a trial."""
        return trial.suggest_categorical(name, self.values)

    @property
    def to_check(self) -> list[Any]:
        """All values of the list."""
        return list(self.values)


class Between(NamedTuple):
    """A searched option with values between two numbers, on a linear or a logarithmic scale."""

    low: float
    high: float
    log: bool
    is_whole: bool

    def suggest(self, trial: Any, name: str) -> Any:
        """Return the value for a trial."""
        draw = trial.suggest_int if self.is_whole else trial.suggest_float
        return draw(name, self.low, self.high, log=self.log)

    @property
    def to_check(self) -> list[Any]:
        """Both ends of the range: if both are valid, so are all values in between."""
        return [self.low, self.high]


@dataclass(frozen=True, kw_only=True)
class SearchSpec:
    """The specification of a search for the best options by many runs.

    Attributes:
        path: the file that describes the search.
        source: a built-in data set or a file.
        folder: the folder for the trials and the study.
        trials: the number of runs to make.
        sampler: one of `SAMPLERS`.
        prune: whether trials below the median of the others are stopped.
        options: the fixed options, by name in `RunConfig`.
        search: the searched options, by name on the command line.
    """

    path: str
    source: str
    folder: Path
    trials: int
    sampler: str
    prune: bool
    options: dict[str, Any]
    search: dict[str, Any]

    @property
    def record(self) -> dict[str, Any]:
        """The settings that must not change when a search continues; `trials` may change."""
        search = {
            name: [type(values).__name__, list(values)] for name, values in self.search.items()
        }
        fixed = {"source": self.source, "sampler": self.sampler, "options": self.options}
        return fixed | {"search": search}

    def config(self, values: dict[str, Any]) -> RunConfig:
        """Return the options of a trial with these values of the searched options."""
        named = {FIELDS[name]: value for name, value in values.items()}
        return RunConfig(source=self.source, **(self.options | named))

    def point(self, number: int) -> dict[str, Any]:
        """Return a trial's point of the grid; trials take the points in a fixed random order.

        This order spreads the first trials of a long search over the grid.
        """
        sizes = [len(choice.values) for choice in self.search.values()]
        order = np.random.default_rng(0).permutation(math.prod(sizes))
        places = np.unravel_index(order[number], sizes)
        choices = zip(self.search.items(), places, strict=True)
        return {name: choice.values[int(place)] for (name, choice), place in choices}

    def run(self, number: int) -> Path:
        """Return the folder of a trial."""
        return self.folder / f"trial-{number:04}"


def read_spec(path: str, out: str | None = None) -> SearchSpec:
    """Read and check the file of a search.

    Args:
        path: a TOML file.
        out: the folder of the search; None for the folder named in the file.

    Raises:
        InputError: the file is invalid; the message names the key, and what was expected and found.
    """
    content = _toml(path)
    for key in content:
        _known(f"{path}: {key}", key, KEYS, "a key of a search file")
    source = content.get("source")
    folder = out or content.get("folder")
    for key, value, example in (("source", source, "digits"), ("folder", folder, "tuned/digits")):
        if not isinstance(value, str) or not value:
            shown = "nothing" if value is None else repr(value)
            raise InputError(
                f'{path}: {key}: expected a name; got {shown}; write, say, {key} = "{example}".'
            )
    tables = {key: content.get(key, {}) for key in ("options", "search")}
    for key, table in tables.items():
        if not isinstance(table, dict):
            raise InputError(
                f"{path}: {key}: expected a table; got {table!r}; begin it with [{key}]."
            )
    fixed = _options(path, str(source), tables["options"])
    search = _search(path, str(source), fixed, tables["search"])
    sampler = _sampler(path, content.get("sampler"), search)
    if "seed" in search:  # trials with different seeds must be judged on the same rows
        fixed = {"split": RunConfig.seed} | fixed
    return SearchSpec(
        path=path,
        source=str(source),
        folder=Path(str(folder)),
        trials=_trials(path, content.get("trials"), sampler, search),
        sampler=sampler,
        prune=_prune(path, content.get("prune", False)),
        options={"validation": USUAL_FRACTION} | fixed,
        search=search,
    )


def _toml(path: str) -> dict[str, Any]:
    try:
        return tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split()).rstrip(".")
        raise InputError(
            f"{path}: expected a TOML file that describes a search; got"
            f" {reason[:1].lower() + reason[1:]}; {HELP}."
        ) from None


def _known(label: str, name: str, names: tuple[str, ...], expected: str) -> None:
    if name not in names:
        near = difflib.get_close_matches(name.replace("_", "-"), names, n=3)
        advice = f"did you mean {' or '.join(near)}?" if near else f"choose from {', '.join(names)}"
        raise InputError(
            f"{label}: expected {expected}; got an unknown name; {advice.rstrip('.')}."
        )


def _checked(label: str, source: str, options: dict[str, Any], name: str) -> None:
    """Check these options together; in an error message, `label` replaces the option's name."""
    field = FIELDS.get(name, "")
    value = options.get(field)
    is_word = field in OPTIONS and not isinstance(OPTIONS[field], Whole | Number)
    if field in LISTS:
        are_words = isinstance(value, list) and all(isinstance(word, str) for word in value)
        if not are_words:
            raise InputError(f'{label}: expected a list of words; got {value!r}; write ["a"].')
    elif is_word and not isinstance(value, str):
        raise InputError(f"{label}: expected a word; got {value!r}; write it in quotes.")
    try:
        RunConfig(source=source, **options)
        if value != UNITS.get(name, value):
            named_units(f"--{name}", str(value), *filter(None, [UNITS[name]]))
    except InputError as error:
        _, _, said = str(error).partition(": ")
        raise InputError(f"{label}: {said}") from None


def _options(path: str, source: str, table: dict[str, Any]) -> dict[str, Any]:
    """Return the fixed options in the file, keyed by their names in `RunConfig`."""
    given: dict[str, Any] = {}
    for name, value in table.items():
        label = f"{path}: [options] {name}"
        _known(label, name, NAMES, "an option of harmonium train")
        if name == "as":
            given["kinds"] = value | given.get("kinds", {}) if isinstance(value, dict) else value
        elif name == "drop":
            dropped = value if isinstance(value, list) else [value]
            given["kinds"] = given.get("kinds", {}) | dict.fromkeys(map(str, dropped), "left out")
        else:
            given[FIELDS[name]] = value
        _checked(label, source, given, name)
    return given


def _search(
    path: str, source: str, fixed: dict[str, Any], table: dict[str, Any]
) -> dict[str, Searched]:
    """Return the searched options in the file, keyed by their names on the command line."""
    if not table:
        raise InputError(
            f"{path}: [search]: expected options to search; got none; name what to try, such as lr"
            " = [0.05, 0.1]."
        )
    search: dict[str, Searched] = {}
    for name, values in table.items():
        label = f"{path}: [search] {name}"
        _known(label, name, NAMES, "an option of harmonium train")
        if name in OF_ROWS:
            raise InputError(
                f"{label}: expected an option that does not change how rows are scored; got"
                f" --{name}; set it in [options], so that trials can be compared."
            )
        if FIELDS[name] in fixed:
            raise InputError(
                f"{label}: expected the option in one table; got it in [options] too; remove it"
                " from one of them."
            )
        search[name] = _searched(label, name, values)
        for value in search[name].to_check:
            _checked(label, source, fixed | {FIELDS[name]: value}, name)
    return search


def _searched(label: str, name: str, values: Any) -> Searched:
    if isinstance(values, list):
        plain = all(isinstance(value, str | int | float) for value in values)
        if not values or not plain or len(set(values)) < len(values):
            raise InputError(
                f"{label}: expected a list of different values; got {values!r}; write, say,"
                " [0.05, 0.1]."
            )
        return Choice(tuple(values))
    example = "a list, or {low = 0.01, high = 0.3, log = true}"
    if not isinstance(values, dict) or not {"low", "high"} <= set(values) <= {"low", "high", "log"}:
        raise InputError(f"{label}: expected {example}; got {values!r}; write one of these.")
    low = values["low"]
    high = values["high"]
    log = values.get("log", False)
    option = OPTIONS[FIELDS[name]]
    if not isinstance(option, Whole | Number):
        raise InputError(f"{label}: expected a list; got a range; list the values to try.")
    is_whole = isinstance(option, Whole)
    if not is_whole and all(isinstance(end, int) for end in (low, high)):
        low = float(low)
        high = float(high)
    if not all(isinstance(end, int if is_whole else float) for end in (low, high)):
        expected = "whole numbers as low and high" if is_whole else "numbers as low and high"
        raise InputError(
            f"{label}: expected {expected}; got {low!r} and {high!r}; write both in digits."
        )
    if not low < high or not isinstance(log, bool) or (log and not low > 0):
        raise InputError(
            f"{label}: expected low below high, and low above 0 if log = true; got {values!r};"
            " correct the range."
        )
    return Between(low, high, log, is_whole)


def _sampler(path: str, sampler: Any, search: dict[str, Searched]) -> str:
    ranges = [name for name, values in search.items() if isinstance(values, Between)]
    if sampler is None:
        sampler = "tpe" if ranges else "grid"
    if sampler not in SAMPLERS:
        raise InputError(
            f"{path}: sampler: expected one of {', '.join(SAMPLERS)}; got {sampler!r}; choose one"
            " of them."
        )
    if sampler == "grid" and ranges:
        raise InputError(
            f"{path}: sampler: expected lists only, for a grid; got a range for {ranges[0]}; give a"
            " list, or choose random or tpe."
        )
    return sampler


def _trials(path: str, trials: Any, sampler: str, search: dict[str, Any]) -> int:
    label = f"{path}: trials"
    points = None
    if sampler == "grid":
        points = math.prod(len(choice.values) for choice in search.values())
    if points is not None and points > MOST_POINTS:
        raise InputError(
            f"{label}: expected a grid of at most {MOST_POINTS:,} points; got {points:,}; choose"
            " another sampler."
        )
    if trials is None:
        if points is None:
            raise InputError(
                f"{label}: expected the number of runs; got nothing; write, say, trials = 64."
            )
        return points
    number: int = trials
    check_count(label, number)
    if points is not None and number > points:
        raise InputError(
            f"{label}: expected at most {count_of(points, 'trial')}, one for each point of the"
            f" grid; got {number:,}; leave trials out, or lower the number."
        )
    return number


def _prune(path: str, prune: Any) -> bool:
    if prune is not True and prune is not False and prune != MEDIAN:
        raise InputError(
            f'{path}: prune: expected true, false or "{MEDIAN}"; got {prune!r}; choose one of them.'
        )
    return bool(prune)
