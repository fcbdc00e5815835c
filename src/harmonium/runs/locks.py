"""Locks that many processes share, on one computer or several, and that end with their process.

They are locks of single bytes of one file (POSIX record locks). The system releases them when a
process ends, however it ends, and network file systems such as NFS know them across computers.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ..errors import InputError, input_error


class Locks:
    """The locks of a folder, told apart by their numbers.

    They exclude other processes, not other users of `Locks` in the same process.
    """

    def __init__(self, folder: Path, name: str):
        """Open the file of the locks, which is made if it is not there.

        Raises:
            InputError: the file system has no locks.
        """
        self.folder = folder
        self._file = os.open(folder / name, os.O_RDWR | os.O_CREAT, 0o666)
        with self.hold(0):
            pass

    def close(self) -> None:
        """Release all locks."""
        os.close(self._file)

    def attempt(self, number: int) -> bool:
        """Return whether a lock could be had at once; it is then held."""
        return self._lock(number, wait=False)

    def wait(self, number: int) -> None:
        """Hold a lock, after other processes have released it."""
        self._lock(number, wait=True)

    @contextmanager
    def hold(self, number: int) -> Iterator[None]:
        """Hold a lock for the time of a context."""
        self.wait(number)
        try:
            yield
        finally:
            self.release(number)

    def release(self, number: int) -> None:
        """Release a lock."""
        import fcntl

        fcntl.lockf(self._file, fcntl.LOCK_UN, 1, number)

    def _lock(self, number: int, wait: bool) -> bool:
        try:
            import fcntl  # POSIX only

            fcntl.lockf(self._file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB), 1, number)
        except ImportError:
            raise self._no_locks("this system has none of POSIX") from None
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            raise self._no_locks(error.strerror or str(error)) from None
        return True

    def _no_locks(self, reason: str) -> InputError:
        expected = "a folder on a file system with locks"
        found, advice = f"none ({reason})", "choose a folder elsewhere"
        return input_error(str(self.folder), expected, found, advice)


class Mutex(NamedTuple):
    """One lock, with the two methods that Optuna calls."""

    locks: Locks
    number: int

    def acquire(self) -> bool:
        """Wait for the lock and hold it."""
        self.locks.wait(self.number)
        return True

    def release(self) -> None:
        """Release it."""
        self.locks.release(self.number)
