"""What the system asks a process for by a signal, until it is done."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any


class Asked:
    """The last signal that has not been acted on.

    A handler that raises an exception can do so where Python drops it, as in a callback of the
    garbage collector: then it is raised again at the next chunk of updates (`sharding.clock`).
    Several processes act on it together there.

    Attributes:
        number: the signal's; 0 for none.
        act: does what a signal asks for.
    """

    number = 0
    act: Callable[[int], Any] = signal.raise_signal

    @classmethod
    def act_on(cls, number: int) -> None:
        """Act on a signal, unless its number is 0: what this process, or another one, was asked."""
        if number:
            cls.number = 0
            cls.act(number)
