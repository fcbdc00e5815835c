"""Safe reading of untrusted files: any content gives either a value or an error of harmonium.

All readers follow these rules: a parser error is reported in one line, the memory used is limited
according to the size of the file, nothing is unpickled, and JSON must follow the standard.
docs/formats.md lists the limits.
"""

from __future__ import annotations

import errno
import functools
import gzip
import io
import json
import math
import os
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..errors import HarmoniumError, InputError, printable

COPY_AGAIN = "copy or write the file again"
# A compressed file may unpack to `UNPACKED_BYTES` or to `UNPACKED_RATIO` times its size, whichever
# is more. Deflate can reach a compression ratio of 1000; tables and arrays of real data rarely
# reach 200.
UNPACKED_BYTES = 2**28
UNPACKED_RATIO = 200
MOST_NESTED = 64  # largest depth of nesting in JSON
LONGEST_NUMBER = 19  # most digits of a whole number in JSON, so that it fits in 64 bits
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
# The reason why a file cannot be read, and the remedy, by exception type or system error number.
_WHY_NOT: dict[Any, tuple[str, str]] = {
    FileNotFoundError: ("no such file", "check the path"),
    IsADirectoryError: ("a folder", "name one file in it"),
    PermissionError: ("permission denied", "change its permissions, or copy it"),
    errno.EMFILE: ("too many open files", "raise their limit, for example by ulimit -n 4096"),
    errno.EIO: ("a disk error", "copy it to another disk"),
}
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_GZIP = b"\x1f\x8b"


@contextmanager
def parser_errors(label: Any, expected: str, advice: str = COPY_AGAIN) -> Iterator[None]:
    """Convert a parser's error on a damaged file into an InputError that names the file.

    Raises:
        InputError: the body raised an exception that is not one of harmonium's own.
    """
    try:
        yield
    except (HarmoniumError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a Rust panic in a parser is not an Exception
        if _why_not(error) is not None:  # the error is not about the file's contents
            raise _unreadable(label, error) from None
        raise InputError(
            f"{label}: expected {expected}; got a truncated or damaged one ({reason_of(error)});"
            f" {advice}."
        ) from None


@contextmanager
def open_errors(label: Any) -> Iterator[None]:
    """Convert an operating system error into an InputError that names the file and a remedy.

    Raises:
        InputError: the body raised an OSError.
    """
    try:
        yield
    except OSError as error:
        raise _unreadable(label, error) from None


def _unreadable(label: Any, error: BaseException) -> InputError:
    """Return the InputError for a file that the operating system cannot read."""
    actual, advice = _why_not(error) or (reason_of(error), "check the path")
    return InputError(f"{label}: expected a readable file; got {actual}; {advice}.")


def _why_not(error: BaseException) -> tuple[str, str] | None:
    """Return the reason for a system error and the remedy; None if the contents may be at fault."""
    return _WHY_NOT.get(type(error)) or _WHY_NOT.get(getattr(error, "errno", None))


def reason_of(error: BaseException) -> str:
    """Return the first line of an error's message, shortened; if it is empty, the error's type."""
    text = getattr(error, "strerror", None) or str(error)
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return shortened(line.rstrip(".") or type(error).__name__)


def shortened(text: str) -> str:
    """Return untrusted text, cut to 100 characters, with unprintable characters replaced by `?`."""
    text = printable(text)
    if len(text) <= 100:
        return text
    return f"{text[:97]}..."


def check_regular(path: Path, label: str) -> None:
    """Reject special files, such as pipes and devices, because reading them may never end.

    Raises:
        InputError: the path exists, but is neither a regular file nor a folder.
    """
    with open_errors(label):
        is_other = path.exists() and not path.is_file() and not path.is_dir()
    if is_other:
        raise InputError(
            f"{label}: expected a file; got a pipe or a device; copy its contents into a file."
        )


def inside(folder: Path, name: str) -> Path:
    """Return the path of a file in an untrusted folder, checked not to lead out of the folder.

    Raises:
        InputError: a link leads out of the folder.
    """
    path = folder / name
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise InputError(
            f"{path}: expected a file inside the folder; got a link that leads out of the folder;"
            " put the file itself there, if you trust it."
        )
    return path


def bytes_of(path: Path, label: str) -> bytes:
    """Return the contents of a file.

    Raises:
        InputError: the file cannot be read, or is not a regular file.
    """
    check_regular(path, label)
    with open_errors(label):
        return path.read_bytes()


# --- Compressed files and sizes -----------------------------------------------------------


def most_unpacked(size: int) -> int:
    """Return the largest number of bytes to which a file of this size is allowed to unpack."""
    most = max(UNPACKED_BYTES, UNPACKED_RATIO * size)
    return min(most, memory_there() or most)


def check_unpacked_size(label: Any, size: int, unpacked: int, advice: str) -> None:
    """Reject contents that unpack to far more bytes than is plausible for a file of this size.

    Args:
        label: the name of the file in error messages.
        size: the size of the file, in bytes.
        unpacked: the unpacked size in bytes, as declared or as found so far.
        advice: what to do instead.

    Raises:
        InputError: the unpacked size exceeds both 256 MiB and 200 times the size of the file, or
            exceeds the memory that this process may use.
    """
    most = most_unpacked(size)
    if unpacked > most:
        raise InputError(
            f"{label}: expected at most {_size(most)} of content in a file of {_size(size)}; got"
            f" {_size(unpacked)} or more; {advice}."
        )


def unzipped(content: bytes, label: str) -> bytes:
    """Return the contents of a file, decompressed if they are in gzip format.

    Raises:
        InputError: the contents are damaged, or unpack to far more bytes than is plausible.
    """
    if content[:2] != _GZIP:
        return content
    advice = "if you trust it, unpack it with gunzip and pass the result"
    unpacked = bytearray()
    with parser_errors(label, "a gzip file"), gzip.open(io.BytesIO(content)) as file:
        while part := file.read(2**20):
            unpacked += part
            check_unpacked_size(label, len(content), len(unpacked), advice)
    return bytes(unpacked)


def memory_there() -> int | None:
    """Return the number of bytes of memory that this process may use, or None if unknown."""
    limits = [limit for limit in map(_limit_in, LIMITS) if limit is not None]
    with suppress(AttributeError, ValueError, OSError):  # some systems do not report their memory
        limits.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    return min((limit for limit in limits if limit > 0), default=None)


def _limit_in(path: str) -> int | None:
    """Return the memory limit that a system file contains, or None if it contains no number."""
    try:
        return int(Path(path).read_text())
    except (OSError, ValueError):
        return None


def _size(count: int) -> str:
    if count >= 2**70:
        return "more than 2^70 bytes"
    if count >= 2**30:
        return f"{count / 2**30:,.1f} GiB"
    return f"{count / 2**20:,.3g} MiB"


# --- NumPy arrays ---------------------------------------------------------------------------


def check_npy_head(file: IO[bytes], size: int) -> bool:
    """Read an .npy header; return whether the array's entries can be read without pickle.

    Args:
        file: the file, positioned at its start.
        size: the size of the whole file, in bytes.

    Raises:
        ValueError: the header is invalid, or declares more entries than the file has bytes for.
    """
    version = np.lib.format.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of the .npy format")
    shape, _, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        return False
    if min(shape, default=0) < 0 or math.prod(shape) * max(1, dtype.itemsize) > size:
        raise ValueError(f"an array of shape {shape!s:.60}, {dtype}, in {size:,} bytes")
    return True


def read_npy(open_file: Any, size: int) -> np.ndarray:
    """Return the array of an .npy file, or an empty object array if reading it needs pickle.

    Args:
        open_file: a function that opens the file.
        size: the size of the whole file, in bytes.

    Raises:
        Exception: any error that NumPy raises on a damaged file; call this within `parser_errors`.
    """
    with open_file() as file:
        if not check_npy_head(file, size):
            return np.empty(0, object)
    with open_file() as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def read_npz(path: Path, label: str, expected: str, names: Iterable[str] | None = None) -> Any:
    """Return the arrays of an .npz file by name; arrays that need pickle become empty ones.

    Args:
        path: the file.
        label: the name of the file in error messages.
        expected: a description of the expected file, for error messages.
        names: the names of the arrays to read, if present; None for all arrays.

    Raises:
        InputError: the file is damaged, or declares more data than it can contain.
    """
    with parser_errors(label, expected), zipfile.ZipFile(path) as archive:
        files = [file for file in archive.infolist() if file.filename.endswith(".npy")]
        members = {file.filename.removesuffix(".npy"): file for file in files}
        if len(members) < len(files):
            raise ValueError("two arrays of one name")
        if names is not None:
            members = {name: members[name] for name in names if name in members}
        plain = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}  # the compression methods of NumPy
        if not {file.compress_type for file in members.values()} <= plain:
            raise ValueError("a compression that NumPy never writes")
        unpacked = sum(file.file_size for file in members.values())
        advice = "if you trust it, load it with NumPy and save it with numpy.savez"
        check_unpacked_size(label, path.stat().st_size, unpacked, advice)
        return {
            name: read_npy(functools.partial(archive.open, file), file.file_size)
            for name, file in members.items()
        }


# --- JSON -----------------------------------------------------------------------------------


def parsed_json(text: str | bytes, *, has_paths: bool = False) -> Any:
    """Return the value of a standard JSON text.

    Args:
        text: the JSON.
        has_paths: whether the text may contain file names. Their bytes need not be UTF-8; Python
            represents other bytes by surrogates.

    Raises:
        ValueError: the text is not valid JSON, or has a repeated name in an object, a number that
            is not finite, a whole number of more than 19 digits, text that is not Unicode, or more
            than 64 levels of nesting.
    """
    hooks: dict[str, Any] = {"object_pairs_hook": _object, "parse_constant": _no_number}
    try:
        value = json.loads(text, parse_int=_whole, parse_float=_real, **hooks)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    level = [value]
    errors = "surrogateescape" if has_paths else "strict"
    for _ in range(MOST_NESTED):
        for word in level:
            if isinstance(word, str):
                word.encode(errors=errors)  # other surrogates raise a ValueError
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return value
    raise ValueError("nested too deeply")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return (*value, *value.values())
    if isinstance(value, list):
        return value
    return ()


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {twice[:40]!r} twice in one object")
    return values


def _no_number(name: str) -> Any:
    raise ValueError(f"{name}, which is not a JSON number")


def _whole(digits: str) -> int:
    if len(digits.lstrip("-")) > LONGEST_NUMBER:
        raise ValueError(f"a whole number of {len(digits):,} digits")
    return int(digits)


def _real(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        _no_number(digits[:40])
    return value
