"""What the system asks a process for by a signal, until it is done."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable
from typing import Any


class Asked:
    """The last signal that has not been acted on.

    A handler that raises an exception can do so where Python drops it, as in a callback of the
    garbage collector: then it is raised again at the next chunk of updates (`sharding.clock`).
    Several processes act on it together there, and only there.

    Attributes:
        number: the signal's; 0 for none.
        heard_at: when Python called a handler of ours for the last time, by `time.monotonic`.
        act: does what a signal asks for.
        is_shared: whether several processes share the run.
    """

    number = 0
    heard_at = -math.inf
    act: Callable[[int], Any] = signal.raise_signal
    is_shared = False

    @classmethod
    def hear(cls, number: int) -> None:
        """Keep a signal in mind until it is acted on: handlers call this."""
        cls.number = number
        cls.heard_at = time.monotonic()

    @classmethod
    def act_on(cls, number: int) -> None:
        """Act on a signal, unless its number is 0: what this process, or another one, was asked."""
        if number:
            cls.number = 0
            cls.act(number)
