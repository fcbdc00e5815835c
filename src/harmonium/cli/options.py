"""Options of the command; an error says what was expected and what was found, in one form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import typer

from ..errors import HarmoniumError


class NotANumberError(HarmoniumError):
    """Text where a number was expected; not a ValueError, which the parser would reword."""


def whole(*names: str, help: str) -> Any:  # noqa: A002  (what typer calls it)
    """Return an option that takes a whole number."""
    return typer.Option(*names, parser=_reader(names[-1], int), metavar="INT", help=help)


def number(*names: str, help: str) -> Any:  # noqa: A002
    """Return an option that takes any number."""
    return typer.Option(*names, parser=_reader(names[-1], float), metavar="NUMBER", help=help)


def number_or_auto(*names: str, help: str) -> Any:  # noqa: A002
    """Return an option that takes any number, or the word "auto"."""
    parser = _or_auto(_reader(names[-1], float, 'a number, or "auto"'))
    return typer.Option(*names, parser=parser, metavar="NUMBER", help=help)


def whole_or_auto(*names: str, help: str) -> Any:  # noqa: A002
    """Return an option that takes a whole number, or the word "auto"."""
    parser = _or_auto(_reader(names[-1], int, 'a whole number, or "auto"'))
    return typer.Option(*names, parser=parser, metavar="INT", help=help)


def whole_or_none(*names: str, help: str) -> Any:  # noqa: A002
    """Return an option that takes a whole number, or the word "none"."""
    parser = _or_word("none", _reader(names[-1], int, 'a whole number, or "none"'))
    return typer.Option(*names, parser=parser, metavar="INT|none", help=help)


MustConverge = Annotated[
    bool,
    typer.Option("--must-converge", help="Exit with 3 if chains did not converge."),
]

Source = Annotated[
    str | None,
    typer.Option(
        "--source",
        metavar="FILE",
        help="The file with the run's rows, if it has moved or the run is from others.",
    ),
]
Guard = Annotated[
    bool,
    typer.Option(
        "--guard",
        help="Write ' before cells of text that begin with = + - or @, which a spreadsheet would"
        " take for formulas.",
    ),
]


def _or_auto(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return _or_word("auto", read)


def _or_word(allowed: str, read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda text: text if text == allowed else read(text)


def word(*names: str, help: str, metavar: str = "NAME") -> Any:  # noqa: A002
    """Return an option that takes text."""
    return typer.Option(*names, metavar=metavar, help=help)


def _reader(
    name: str, kind: type[int] | type[float], expected: str | None = None
) -> Callable[[Any], Any]:
    expected = expected or ("a whole number" if kind is int else "a number")

    def read(text: Any) -> int | float:
        try:
            if isinstance(text, str) and not text.isascii():
                raise ValueError
            return kind(text)
        except ValueError:
            advice = "write it in digits" if not _is_number(text) else "round it"
            raise NotANumberError(
                f"{name}: expected {expected}; found {str(text)[:40]!r}; {advice}."
            ) from None

    return read


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return str(text).isascii()


Header = Annotated[
    str | None,
    whole_or_none(
        "--header",
        help="The number of the line of a text file that names the columns, or none.  [default:"
        " decided, and said where there is doubt]",
    ),
]
Separator = Annotated[
    str | None,
    word(
        "--separator",
        metavar="SIGN",
        help="What stands between the cells of a text file: one character, or tab, space (any"
        " number of blanks), comma or semicolon.  [default: decided]",
    ),
]
Missing = Annotated[
    list[str] | None,
    word(
        "--missing",
        metavar="WORD",
        help="A word that means a missing cell of a text file, such as unknown; repeatable.",
    ),
]
Skip = Annotated[
    int | None,
    whole("--skip", help="Lines of a text file to drop at its beginning.  [default: decided]"),
]


def text_options(
    header: Any, separator: str | None, missing: list[str] | None, skip: int | None
) -> dict[str, Any]:
    """Return how a text file is read, as far as a command says it, by the names of `TextFormat`."""
    given = {"header": header, "separator": separator, "missing": missing, "skip": skip}
    return {name: value for name, value in given.items() if value is not None}
