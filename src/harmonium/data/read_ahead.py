"""The windows of a stream, read ahead of the updates in a thread."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.dtypes import canonicalize_dtype
from jaxtyping import PRNGKeyArray

from ..errors import InputError
from .blocks import AbstractReading, AbstractSource, Parts
from .dataset import Dataset
from .windows import NO_END, AbstractWindows, Window, count_of_rows

ORDER_OF_BLOCKS = 5  # folded into a run's key, whose parts 0 to 4 are used otherwise


class Joined(NamedTuple):
    """Rows of a source one below the other, and the number of each in the source."""

    rows: Any
    places: np.ndarray


class Space:
    """Memory in which dense rows are joined, used again and again."""

    def __init__(self) -> None:
        self.array = np.empty((0, 0))

    def joined(self, parts: Parts, name: str) -> Joined:
        """Return parts one below the other, until the next call."""
        places, done, sparse, width = [], 0, [], None
        for part in parts.each:
            count = part.rows.shape[0]
            places.append(np.arange(part.first, part.first + count))
            width = part.rows.shape[1] if width is None else width
            if part.rows.shape[1] != width:
                found = f"{part.rows.shape[1]:,} from row {part.first:,} on"
                raise InputError(f"{name}: expected {width:,} columns, as at first; got {found}.")
            if hasattr(part.rows, "tocsr"):
                sparse.append(part.rows)
                continue
            self._make_room(parts.count, part.rows, done)
            self.array[done : done + count] = part.rows
            done += count
        if sparse and done:
            raise InputError(f"{name}: expected batches of one kind; got sparse and dense ones.")
        if sparse:
            from scipy.sparse import vstack  # imported here: it takes a tenth of a second

            return Joined(vstack(sparse, format="csr"), np.concatenate(places))
        return Joined(self.array[:done], np.concatenate(places))

    def _make_room(self, count: int, rows: np.ndarray, done: int) -> None:
        """Make room for so many rows like these, of which some are there."""
        dtype = np.result_type(rows, self.array) if done else rows.dtype
        width = rows.shape[1]
        if self.array.dtype != dtype or self.array.shape[1] != width or len(self.array) < count:
            new = np.empty((count, width), dtype)
            if done:
                new[:done] = self.array[:done]
            self.array = new


class StreamWindows(AbstractWindows[Dataset]):
    """The windows of a stream: the next one is read while a model learns from the last."""

    def __init__(
        self,
        source: AbstractSource,
        store: Callable[[Parts, Space], Dataset],
        window: int,
        batch_size: int,
        key: PRNGKeyArray,
        end: int = NO_END,
    ):
        """Fix the settings.

        Args:
            source: the rows.
            store: makes a dataset of parts of them.
            window: rows of a window, if it were not rounded to full batches.
            batch_size: rows in an update.
            key: the run's random key.
            end: the number of updates at the end of the run.
        """
        self.source, self.store, self.batch, self.rows = source, store, batch_size, len(source)
        self.size = max(1, window // batch_size) * batch_size
        self.an_epoch = -(-self.rows // self.size)  # windows
        self.updates = -(-self.rows // batch_size)  # in an epoch
        data = jax.random.key_data(jax.random.fold_in(key, ORDER_OF_BLOCKS))
        self.seed, self.end = np.asarray(data).tolist(), end
        self.space = Space()
        self.reading: tuple[int, AbstractReading] | None = None
        self.tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self.here: tuple[int, Window[Dataset]] | None = None
        self.ahead: tuple[int, Future[Window[Dataset]]] | None = None
        self.thread: Thread | None = None  # one for all windows: an iterator may be bound to it

    def at(self, updates: int) -> Window[Dataset]:
        """Return the window of an update; waits until it is read."""
        epoch, made = divmod(updates, self.updates)
        number = epoch * self.an_epoch + made * self.batch // self.size
        if self.here is None or self.here[0] != number:
            self.here = None  # two windows are in memory, not three
            coming = self.ahead if self.ahead and self.ahead[0] == number else self._begin(number)
            window = coming[1].result()
            # A run that has ended reads no more: the source may be closed, or be used by another.
            self.ahead = self._begin(number + 1) if window.end < self.end else None
            self.here = number, window
        return self.here[1]

    def _begin(self, number: int) -> tuple[int, Future[Window[Dataset]]]:
        """Let the thread read a window."""
        if self.thread is None:
            self.thread = Thread(target=_work, args=(self.tasks,), daemon=True)
            self.thread.start()
            weakref.finalize(self, self.tasks.put, None)
        found: Future[Window[Dataset]] = Future()
        is_double = canonicalize_dtype(float).itemsize == 8  # may be told to this thread alone

        def read() -> None:
            try:
                with jax.enable_x64(is_double):
                    found.set_result(self._read(number))
            except BaseException as error:
                found.set_exception(error)

        self.tasks.put(read)
        return number, found

    def _read(self, number: int) -> Window[Dataset]:
        epoch, place = divmod(number, self.an_epoch)
        first = place * self.size
        count = min(self.size, self.rows - first)
        dataset = self.store(self._pass(epoch).take(first, count), self.space)
        begin = epoch * self.updates + first // self.batch
        end = begin + -(-count // self.batch)
        return Window(dataset.filled_to(self.size), count_of_rows(dataset), begin, end, number)

    def _pass(self, epoch: int) -> AbstractReading:
        if self.reading is None or self.reading[0] != epoch:
            order = np.random.default_rng([*self.seed, epoch])
            self.reading = epoch, self.source.epoch(order)
        return self.reading[1]


def _work(tasks: SimpleQueue[Callable[[], None] | None]) -> None:
    """Do one task after the other, until the windows that they are of are forgotten."""
    for task in iter(tasks.get, None):
        task()
        del task  # it holds the windows
