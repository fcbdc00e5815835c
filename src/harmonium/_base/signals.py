"""Signals that a process has received but not yet handled."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from typing import Any


class Asked:
    """The last signal that has not been handled, if any.

    An exception from a handler can be lost if Python discards it, as in a callback of the garbage
    collector. The signal is therefore handled again at the next chunk of updates
    (`sharding.clock`), which is also the only point at which several processes handle a signal, all
    at once.

    Attributes:
        number: the signal's number, or 0 if there is none.
        heard_at: the last time that Python called one of harmonium's signal handlers, by
            `time.monotonic`.
        act: a function that handles a signal.
        is_shared: whether several processes share the run.
    """

    number = 0
    heard_at = -math.inf
    act: Callable[[int], Any] = signal.raise_signal
    is_shared = False

    @classmethod
    def hear(cls, number: int) -> None:
        """Remember a signal until it is handled; signal handlers call this method."""
        cls.number = number
        cls.heard_at = time.monotonic()

    @classmethod
    def act_on(cls, number: int) -> None:
        """Handle a signal that this or another process received, unless its number is 0."""
        if number:
            cls.number = 0
            cls.act(number)
