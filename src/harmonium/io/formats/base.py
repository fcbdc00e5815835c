"""The interface of a file format, and safety checks shared by all formats."""

from __future__ import annotations

import hashlib
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from ...errors import InputError, ModelFileError
from ...rbm import RBM

COPY_AGAIN = "copy it again, or write it with harmonium.save"


class AbstractFormat(ABC):
    r"""The interface of a file format that stores a model.

    `harmonium.io.storage` chooses the format for reading by a file's first bytes and suffix, and
    the format for writing by the suffix. That module also makes every write atomic, and raises
    every reading error as a `ModelFileError`. A complete example, for a file of lines of numbers:

    ```python
    >>> import numpy as np
    >>> from harmonium.io.formats import AbstractFormat
    >>> from harmonium.io.convert import from_arrays, to_arrays
    >>> class Lines(AbstractFormat):
    ...     suffixes = (".rbm.txt",)
    ...     title = "W, a and b, one line each"
    ...     def recognises(self, start):
    ...         return start.startswith(b"RBM\n")
    ...     def read(self, path, part=None):
    ...         w, a, b = (np.fromstring(x, sep=" ") for x in path.read_text().splitlines()[1:])
    ...         return from_arrays(w.reshape(len(a), len(b)), a, b)
    ...     def serialise(self, rbm, source):
    ...         lines = (" ".join(map(str, array.ravel())) for array in to_arrays(rbm))
    ...         return "\n".join(["RBM", *lines]).encode()
    >>> from harmonium import RBM
    >>> print(Lines().serialise(RBM.from_arrays([[1, 2]], [3], [4, 5]), "here").decode())
    RBM
    1.0 2.0
    3.0
    4.0 5.0

    ```

    Attributes:
        suffixes: suffixes of the file names, in lower case; the first is the usual one.
        title: a description of such a file, used after "expected" in error messages.
        part: the noun for PART in `FILE:PART`; None if a file stores a single model.
        is_read: whether such files can also be read, not only written.
    """

    suffixes: ClassVar[tuple[str, ...]]
    title: ClassVar[str]
    part: ClassVar[str | None] = None
    is_read: ClassVar[bool] = True

    @abstractmethod
    def recognises(self, start: bytes) -> bool:
        """Return whether a file that begins with these bytes (at most 512) has this format."""

    @abstractmethod
    def read(self, path: Path, part: str | None = None) -> RBM:
        """Read a model from a file; `part` selects one of several models.

        Raises:
            InputError: the file does not contain a model; the message names the file.
            MissingDependencyError: reading needs a package that is not installed.
        """

    @abstractmethod
    def serialise(self, rbm: RBM, source: str) -> bytes:
        """Return the contents of a file that stores this model.

        `source` names the model in error messages.

        Raises:
            InputError: the format cannot represent the layers of the model.
            MissingDependencyError: writing needs a package that is not installed.
        """

    def holds_model(self, path: Path) -> bool:
        """Return whether a file with this suffix is to be read as a model, not as rows of data."""
        return self.is_read


@contextmanager
def model_file_errors() -> Iterator[None]:
    """Convert an `InputError` to a `ModelFileError`, since the model file is at fault."""
    try:
        yield
    except ModelFileError:
        raise
    except InputError as error:
        raise ModelFileError(str(error)) from None


def write_whole(path: str | os.PathLike, content: bytes) -> None:
    """Write a file via a temporary file, so that a crash leaves the old contents intact."""
    target = Path(path)
    # Use a short name, since the target's name may already have the maximum length.
    name = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:12]
    with _written_beside(target, name, content) as partial:
        partial.replace(target)


def write_new(path: str | os.PathLike, content: bytes) -> None:
    """Write a new file atomically: it appears either with all its contents or not at all.

    Raises:
        FileExistsError: the file exists, perhaps because another process has just written it.
    """
    target = Path(path)
    with _written_beside(target, secrets.token_hex(6), content) as partial:  # may run concurrently
        try:
            os.link(partial, target)
            partial.unlink()
        except FileExistsError:
            raise
        except OSError:  # a file system without hard links, where another process may intervene
            if os.path.lexists(target):
                raise FileExistsError(str(target)) from None
            partial.replace(target)


@contextmanager
def _written_beside(target: Path, name: str, content: bytes) -> Iterator[Path]:
    """Write contents to a temporary file, which the body of the context moves to the target."""
    partial = target.with_name(f".{name}.partial")
    try:
        partial.unlink(missing_ok=True)  # otherwise a link with this name would be followed
        with partial.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        yield partial
        sync_folder(target.parent)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError):
            error.filename = str(target)  # rather than the temporary file's name
        raise


def sync_folder(folder: Path) -> None:
    """Flush a folder's directory entries to disk, if the operating system supports this."""
    with suppress(OSError):  # Windows cannot open folders, and some file systems cannot sync them
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def first_member(start: bytes) -> bytes:
    """Return the name of a zip archive's first member, or b"" if `start` begins no zip archive."""
    if start[:4] != b"PK\x03\x04":
        return b""
    # In a member's header, the length of its name is at byte 26, and the name begins at byte 30.
    length = int.from_bytes(start[26:28], "little")
    return start[30 : 30 + length]
