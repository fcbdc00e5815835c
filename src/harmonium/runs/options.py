"""Checks of options that several commands share, with the same error messages."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import input_error

OTHER_NAME = "choose another name"
LARGEST_COUNT = 2**31 - 1  # what a 32-bit counter on the device holds
SEEDS = 2**32
EVALUATION_SEED = 0  # the default
ROWS_TO_START_FROM = 10_000  # by whose moments the visible units are fitted
METHODS = (  # as in training.methods, which a test compares: importing it here would be slow
    *("pcd", "cd", "exact", "auto", "unbiased", "fpcd", "pt", "ptt", "jarzynski", "tap"),
    *("mean-field", "pseudo-likelihood", "ratio-matching", "flow"),
)
SCORES = ("auto", "exact", "annealed", "tempered")
BINARIZE = ("stochastic", "threshold", "none")
KEEP = ("best", "last")
PRECISIONS = ("auto", "float32", "bfloat16")
PARTS = ("auto", "train", "validation", "test")


def check_choice(option: str, value: Any, allowed: Sequence[str]) -> None:
    """Refuse a value that is not among those allowed."""
    if value not in allowed:
        expected = f"one of {', '.join(allowed)}"
        raise input_error(option, expected, repr(value), "choose one of them")


def check_count(option: str, value: Any, least: int = 1) -> None:
    """Refuse a value that is not a whole number from `least` to 2^31 − 1."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or value < least:
        expected = f"a whole number of at least {least}"
        raise input_error(option, expected, _shown(value), f"give {least} or more")
    if value > LARGEST_COUNT:
        expected = f"a whole number of at most {LARGEST_COUNT:,}"
        raise input_error(option, expected, _shown(value), "give a smaller one")


def check_seed(value: Any, option: str = "--seed") -> None:
    """Refuse a value that is not a whole number from 0 to 2^32 − 1."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not 0 <= value < SEEDS:
        expected = f"a whole number from 0 to {SEEDS - 1:,}"
        raise input_error(option, expected, _shown(value), "choose one in this range")


def check_number(option: str, value: Any, expected: str, advice: str, *, below: float) -> None:
    """Refuse a value that is not a finite number above 0 and below `below`."""
    if not is_number(value) or not 0 < value < below:
        raise input_error(option, expected, _shown(value), advice)


def check_penalty(value: Any) -> None:
    """Refuse a strength that is neither "auto" nor a finite number of at least 0."""
    if value != "auto" and not (is_number(value) and 0 <= value < 1e38):
        expected = "auto, or a number of at least 0"
        raise input_error("--penalty", expected, _shown(value), "0 is no penalty")


def check_target(name: str, out: str, suffixes: Sequence[str], overwrite: bool) -> None:
    """Refuse to write a file of an unknown kind, or one that exists already.

    Args:
        name: what error messages call the file.
        out: the file.
        suffixes: endings of the formats that can be written.
        overwrite: whether the file may exist already.
    """
    path = Path(out)
    check_path(name, path)
    if path.suffix.lower() not in suffixes:
        expected = f"a name ending in {', '.join(suffixes[:-1])} or {suffixes[-1]}"
        raise input_error(name, expected, repr(path.name), "the ending names the format")
    if path.is_dir():
        raise input_error(name, "a file", "a folder", "choose another name")
    if not path.absolute().parent.is_dir():
        found = f"no folder {str(path.parent)!r}"
        raise input_error(name, "a file in a folder that exists", found, "make it first")
    if path.exists() and not overwrite:
        advice = "choose another name, or add --overwrite"
        raise input_error(name, "a new file", "one that exists", advice)


def check_path(name: str, path: Path) -> None:
    """Refuse a name that no file can have, or a link that leads nowhere, which may be a mistake.

    Args:
        name: what error messages call the file or folder.
        path: where it is to be written.
    """
    if "\0" in str(path):
        expected = "a name without the character NUL"
        raise input_error(name, expected, repr(str(path)), "choose another name")
    for link in (path, *path.parents):
        if link.is_symlink() and not link.exists():
            found = f"a link to {link.readlink()}, which is not there"
            raise input_error(name, "a place to write to", found, f"remove the link {link}")


def check_folder(name: str, path: Path) -> None:
    """Refuse a path unless it is a writable folder or can become one; nothing is changed.

    Args:
        name: what error messages call the folder.
        path: the folder.

    Raises:
        InputError: the path is a file, or may not be written to.
    """
    check_path(name, path)
    if path.exists() and not path.is_dir():
        raise input_error(name, "a folder", "a file", OTHER_NAME)
    existing = next(folder for folder in (path, *path.absolute().parents) if folder.exists())
    if not existing.is_dir():
        obstacle = f"a file at {existing}"
    elif not os.access(existing, os.W_OK):
        obstacle = f"no permission to write in {existing}"
    else:
        return
    raise input_error(name, "a folder that can be written to", obstacle, OTHER_NAME)


def is_number(value: Any) -> bool:
    """Return whether a value is a finite number, and not a bool."""
    is_real = isinstance(value, int | float) and not isinstance(value, bool)
    return is_real and abs(value) < math.inf and value == value


def _shown(value: Any) -> str:
    """Return a value as text, shortened if it is very long."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= 40 else f"{text[:37]}..."
