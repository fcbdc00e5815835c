"""The processor, and the number of cores available to this process."""

from __future__ import annotations

import functools
import hashlib
import os
import platform
from contextlib import suppress
from pathlib import Path


def cores() -> int:
    """Return the number of cores on which this process may run."""
    if hasattr(os, "sched_getaffinity"):  # absent on some systems
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@functools.cache
def processor() -> str:
    """Return the processor's name, followed by a hash of the features that Linux lists for it."""
    known: dict[str, str] = {}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            name, _, value = line.partition(":")
            known.setdefault(name.strip().lower(), value.strip())
    features = known.get("flags", known.get("features", ""))
    name = known.get("model name", platform.processor() or platform.machine())
    return f"{name} {hashlib.sha256(features.encode()).hexdigest()[:8]}"
