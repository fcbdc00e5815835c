"""Errors whose messages say what was expected, what came instead, and what to do.

Every error that a user can cause is a `HarmoniumError`, so that one `except` catches them all and
the command can print each as a single line.
"""

import os
import re
import sys
import unicodedata
import warnings
from pathlib import Path

JOINERS = "\u200c\u200d"  # of Arabic and Indic letters, and of emoji

__all__ = [  # the errors; the other functions are internal
    "HarmoniumError",
    "InputError",
    "Interrupted",
    "MissingDependencyError",
    "ModelFileError",
    "NotConvergedWarning",
    "NotFiniteError",
]


class HarmoniumError(Exception):
    """Base class of every error that harmonium raises on purpose.

    Example:
        >>> try:
        ...     hm.bars_and_stripes(20)
        ... except hm.HarmoniumError as error:
        ...     print(type(error).__name__)
        InputError
    """

    def __str__(self) -> str:
        """Return the message, in which names from a file cannot steer a terminal."""
        return printable_lines(super().__str__())


class InputError(HarmoniumError, ValueError):
    """The input is invalid; the message says what was expected, what came instead, what to do.

    Example:
        >>> try:
        ...     hm.bars_and_stripes(20)
        ... except hm.InputError as error:
        ...     print(error)
        bars_and_stripes: expected side from 1 to 12; got 20.
    """

    def __str__(self) -> str:
        """Return the message as one line, whatever breaks of lines the input brought into it."""
        return " ".join(super().__str__().split())


class ModelFileError(InputError):
    """A file that should hold a model is missing, truncated, inconsistent or of another format.

    Example:
        >>> try:
        ...     hm.load("no_such_file.safetensors")
        ... except hm.ModelFileError as error:
        ...     print(str(error).rpartition("; got ")[2])
        no such file; check the path.
    """


class NotFiniteError(HarmoniumError, ArithmeticError):
    """A quantity that must be finite is not, such as log Z of a model whose Z diverges.

    Example:
        >>> rbm = hm.RBM(hm.Gaussian(1), hm.Gaussian(1), [[1.1]])  # Z is finite below 1
        >>> try:
        ...     hm.log_z(rbm)
        ... except hm.NotFiniteError as error:
        ...     print(str(error).partition(":")[0])
        log Z of RBM(Gaussian(1) – Gaussian(1)) is infinite
    """


class MissingDependencyError(HarmoniumError, ImportError):
    """An optional dependency is not installed; the message names the command that installs it.

    Example:
        >>> issubclass(hm.MissingDependencyError, ImportError)
        True
    """


class NotConvergedWarning(RuntimeWarning):
    """Draws come from chains that have not mixed; the message says how far they are to be trusted.

    Example:
        >>> import warnings
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", hm.NotConvergedWarning)  # then it is an error
        ...     rows = hm.sample(rbm, 100, key=jax.random.key(0))
        >>> rows.shape
        (100, 4)
    """


class Interrupted(KeyboardInterrupt):
    """A user interrupted a long computation; the message says how far it got.

    Example:
        >>> issubclass(hm.Interrupted, KeyboardInterrupt), issubclass(hm.Interrupted, Exception)
        (True, False)
    """


def printable(text: str) -> str:
    """Return a line of text from outside, with what could steer a terminal replaced by ?.

    That is every control character, and what turns the direction of text. Spaces of any width
    become plain ones; the two letters of no width that join others stay, which some scripts need.
    """
    if text.isprintable():  # nearly always, and a hundred times as quick
        return text
    return "".join(map(_printed, text))


def printable_lines(text: str) -> str:
    """Return text from outside as `printable` does, in the lines that it has."""
    return re.sub(r"[^\n\t]+", lambda line: printable(line[0]), text)


def _printed(letter: str) -> str:
    if letter.isprintable() or letter in JOINERS:
        return letter
    if unicodedata.category(letter) == "Zs":  # a space of another width
        return " "
    return "?"


def count_of(number: int, noun: str) -> str:
    """Return "1 row", "1,437 rows"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}s"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn of something at the line outside this package that called it, however deep it is."""
    package = f"{Path(__file__).parent}{os.sep}"
    level = 2  # of the caller, as `warnings.warn` counts
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
