"""Define the options of all commands, each once, with its help and its valid values.

An option is an `Annotated` type with an `AbstractOption`, on a field of a dataclass (which
`check_options` checks) or on a parameter of a command. The command line and its help are generated
from the same annotation (`harmonium.cli.command`). Nothing here imports JAX, to keep `--help` fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from ..errors import HarmoniumError, InputError

LARGEST_COUNT = 2**31 - 1  # the limit of a 32-bit counter on the device
LARGEST_NUMBER = 1e38  # about the largest float32
SEEDS = 2**32
EVALUATION_SEED = 0  # the default seed of an evaluation
ROWS_TO_START_FROM = 10_000  # rows whose moments initialise the visible units
METHODS = (  # a copy of the names in training.methods, which is slow to import; a test compares
    *("pcd", "cd", "exact", "auto", "unbiased", "fpcd", "pt", "ptt", "jarzynski", "tap"),
    *("mean-field", "pseudo-likelihood", "ratio-matching", "flow"),
)
SCORES = ("auto", "exact", "annealed", "tempered")
BINARIZE = ("stochastic", "threshold", "none")
KEEP = ("best", "last")
PRECISIONS = ("auto", "float32", "bfloat16")
PARTS = ("auto", "train", "validation", "test")


class NotANumberError(HarmoniumError):
    """Raised for text that should be a number; the parser would replace a ValueError's message."""


@dataclass(frozen=True)
class AbstractOption:
    """An option of a command, with its help and its valid values.

    Attributes:
        help: the option's description in the command's help.
        metavar: the placeholder for its value in the help.
        names: its names on the command line; if empty, the field's name with dashes.
        is_argument: whether it is a positional argument, without a name.
    """

    is_argument: ClassVar[bool] = False
    help: str
    metavar: str = "NAME"
    names: tuple[str, ...] = ()

    def name(self, field: str) -> str:
        """Return the option's name for messages."""
        return self.names[-1] if self.names else f"--{field.replace('_', '-')}"

    def read(self, text: str, name: str) -> Any:
        """Convert the text to a number if the option expects one, else return the text.

        Raises:
            NotANumberError: the option expects a number, and the text is not a number.
        """
        return text

    def check(self, value: Any, name: str) -> None:
        """Raise InputError if a value is not valid for the option.

        Raises:
            InputError: the value is invalid; the message says what was expected and what to do.
        """


@dataclass(frozen=True)
class Option(AbstractOption):
    """An option whose value is any text, or a flag without a value."""


@dataclass(frozen=True)
class Argument(AbstractOption):
    """A positional argument that takes any text; messages refer to it by its metavar."""

    is_argument = True

    def name(self, field: str) -> str:
        return self.metavar


@dataclass(frozen=True)
class Choice(AbstractOption):
    """An option that takes one of the words `allowed`."""

    allowed: tuple[str, ...] = field(kw_only=True)

    def check(self, value: Any, name: str) -> None:
        if value not in self.allowed:
            raise InputError(f"{name}: expected one of {', '.join(self.allowed)}; got {value!r}.")


@dataclass(frozen=True)
class Whole(AbstractOption):
    """An option that takes a whole number from `least` to `most`, or the word `word`, if set."""

    metavar: str = "INT"
    least: int = 1
    most: int = LARGEST_COUNT
    word: str | None = None

    def read(self, text: str, name: str) -> Any:
        return _number(text, name, int, "a whole number", self.word)

    def check(self, value: Any, name: str) -> None:
        if self.word is None or value != self.word:
            check_count(name, value, self.least, self.most)


@dataclass(frozen=True)
class Number(AbstractOption):
    """An option that takes a number or, if `word` is given, this word.

    Attributes:
        below: the exclusive upper bound; the lower bound is 0, also exclusive.
        is_zero_allowed: whether 0 is also valid.
        word: a word that is allowed in place of a number.
        expected: a description of a valid number.
        advice: the advice in the error message for an invalid number.
    """

    metavar: str = "NUMBER"
    below: float = LARGEST_NUMBER
    is_zero_allowed: bool = False
    word: str | None = None
    expected: str = "a positive number"
    advice: str = ""

    def read(self, text: str, name: str) -> Any:
        return _number(text, name, float, "a number", self.word)

    def check(self, value: Any, name: str) -> None:
        if self.word is not None and value == self.word:
            return
        is_zero = self.is_zero_allowed and value == 0
        if not is_number(value) or not (is_zero or 0 < value < self.below):
            advice = f"; {self.advice}" if self.advice else ""
            raise InputError(f"{name}: expected {self.expected}; got {shown(value)}{advice}.")


def check_options(record: Any) -> None:
    """Check the fields of a dataclass that are annotated with an option.

    The value None is accepted for an option whose default is None.

    Raises:
        InputError: an option is invalid; the message says what was expected and what to do.
    """
    defaults = {field.name: field.default for field in fields(record)}
    for name, option in options_of(type(record)).items():
        value = getattr(record, name)
        if value is not None or defaults[name] is not None:
            option.check(value, option.name(name))


@cache
def options_of(kind: Any) -> dict[str, AbstractOption]:
    """Return the options of a dataclass or function, keyed by field or parameter name."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: annotation
        for name, hint in hints.items()
        if get_origin(hint) is Annotated
        for annotation in get_args(hint)[1:]
        if isinstance(annotation, AbstractOption)
    }


def _number(text: Any, name: str, kind: type, expected: str, word: str | None) -> Any:
    """Convert text to a number, unless it is `word`, which is allowed in place of a number."""
    if text == word:
        return text
    try:
        if isinstance(text, str) and not text.isascii():
            raise ValueError
        return kind(text)
    except ValueError:
        if word is not None:
            expected += f', or "{word}"'
        advice = "round it" if _is_text_of_number(text) else "write it in digits"
        raise NotANumberError(
            f"{name}: expected {expected}; got {str(text)[:40]!r}; {advice}."
        ) from None


def _is_text_of_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return str(text).isascii()


def check_count(name: str, value: Any, least: int = 1, most: int = LARGEST_COUNT) -> None:
    """Raise InputError unless a value is a whole number from `least` to `most`."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if is_whole and least <= value <= most:
        return
    if most != LARGEST_COUNT:
        expected = f"from {least:,} to {most:,}"
    elif is_whole and value > most:
        expected = f"of at most {most:,}"
    else:
        expected = f"of at least {least}"
    raise InputError(f"{name}: expected a whole number {expected}; got {shown(value)}.")


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and not a bool."""
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real and abs(value) < math.inf and value == value


def shown(value: Any) -> str:
    """Return the repr of a value, shortened to 40 characters."""
    try:
        text = repr(value)
    except ValueError:  # a whole number with thousands of digits
        return "a number with thousands of digits"
    return text if len(text) <= 40 else f"{text[:37]}..."


# Options shared by several commands.
Seed = Annotated[int, Whole("Random seed.", least=0, most=SEEDS - 1)]
Scale = Annotated[
    float | None,
    Number(
        "The grey level that represents 1, if not 255.",
        advice="give the grey level that represents 1, such as 255",
    ),
]
Source = Annotated[
    str | None,
    Option("The file with the run's rows, if it has moved or someone else made the run.", "FILE"),
]
Header = Annotated[
    int | Literal["none"] | None,
    Whole(
        "Number of the line of a text file that names the columns, or none.  [default: inferred,"
        " with a note if there is doubt]",
        "INT|none",
        word="none",
    ),
]
Separator = Annotated[
    str | None,
    Option(
        "Separator between the cells of a text file: one character, or tab, space (any number of"
        " blanks), comma or semicolon.  [default: inferred]",
        "SIGN",
    ),
]
Missing = Annotated[
    list[str],
    Option("A word that marks a missing cell of a text file, such as unknown; repeatable.", "WORD"),
]
SKIP = Whole("Lines to skip at the beginning of a text file.  [default: inferred]", least=0)


@dataclass(frozen=True, kw_only=True)
class TextOptions:
    """Options for reading a text file; options that are not given are inferred from the file."""

    header: Header = None
    separator: Separator = None
    missing: Missing = field(default_factory=list)
    skip: Annotated[int | None, SKIP] = None

    @property
    def given(self) -> dict[str, Any]:
        """The options that the user gave, keyed by their names in `TextFormat`."""
        values = {option.name: getattr(self, option.name) for option in fields(self)}
        return {name: value for name, value in values.items() if value not in (None, [])}


AS_DECIDED = TextOptions()  # everything is inferred from the file
TEXT_OPTIONS = tuple(option.name for option in fields(TextOptions))
