"""Errors whose messages state what was expected, what was received and what to do.

Every error that a user can cause is a `HarmoniumError`, so that a single `except` clause catches
them all and the `harmonium` command can print each of them as one line.
"""

import os
import re
import sys
import unicodedata
import warnings
from pathlib import Path

JOINERS = "\u200c\u200d"  # needed in Arabic and Indic scripts and in emoji

__all__ = [  # errors and a warning; the functions are internal
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
        """Return the message with terminal control characters removed."""
        return printable_lines(super().__str__())


class InputError(HarmoniumError, ValueError):
    """Invalid input; the message states what was expected, what was received and what to do.

    Example:
        >>> try:
        ...     hm.bars_and_stripes(20)
        ... except hm.InputError as error:
        ...     print(error)
        bars_and_stripes: expected side from 1 to 12; got 20.
    """

    def __str__(self) -> str:
        """Return the message as one line, even if the input contained line breaks."""
        return " ".join(super().__str__().split())


class ModelFileError(InputError):
    """A model file is missing, truncated, inconsistent or not in the expected format.

    Example:
        >>> try:
        ...     hm.load("no_such_file.safetensors")
        ... except hm.ModelFileError as error:
        ...     print(str(error).rpartition("; got ")[2])
        no such file; check the path.
    """


class NotFiniteError(HarmoniumError, ArithmeticError):
    """A quantity that must be finite is infinite or NaN, such as log Z if Z diverges.

    Example:
        >>> rbm = hm.RBM(hm.Gaussian(1), hm.Gaussian(1), [[1.1]])  # Z is finite below 1
        >>> try:
        ...     hm.log_z(rbm)
        ... except hm.NotFiniteError as error:
        ...     print(str(error).partition(":")[0])
        log Z of RBM(Gaussian(1) – Gaussian(1)) is infinite
    """


class MissingDependencyError(HarmoniumError, ImportError):
    """An optional dependency is not installed; the message gives the command that installs it.

    Example:
        >>> issubclass(hm.MissingDependencyError, ImportError)
        True
    """


class NotConvergedWarning(RuntimeWarning):
    """Chains have not mixed; the message states how far their samples can be trusted.

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
    """The user interrupted a long computation; the message states how far it got.

    Example:
        >>> issubclass(hm.Interrupted, KeyboardInterrupt), issubclass(hm.Interrupted, Exception)
        (True, False)
    """


def printable(text: str) -> str:
    """Return one line of text in which characters that could control a terminal become `?`.

    Such characters are those that Python does not count as printable, such as control characters
    and characters that change the direction of text. Spaces of any width become plain spaces. The
    zero-width joiner and non-joiner are kept, because some scripts need them.
    """
    if text.isprintable():  # a quick test, which nearly all text passes
        return text
    return "".join(map(_printed, text))


def printable_lines(text: str) -> str:
    """Apply `printable` to each line of a text, and return the text with its line breaks."""
    return re.sub(r"[^\n\t]+", lambda line: printable(line[0]), text)


def _printed(letter: str) -> str:
    if letter.isprintable() or letter in JOINERS:
        return letter
    if unicodedata.category(letter) == "Zs":  # a space of unusual width
        return " "
    return "?"


def count_of(number: int, noun: str) -> str:
    """Return a number and its noun, in the singular or plural, as in "1 row" and "1,437 rows"."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}s"


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning that is attributed to the nearest caller outside this package."""
    package = f"{Path(__file__).parent}{os.sep}"
    level = 2  # the stack level of the caller for `warnings.warn`
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)
