"""What all tests share."""

import gc
import itertools
import os
from pathlib import Path

import jax
import pytest

MOST_MAPS = 20_000  # memory maps, of 65,530 that a process may have on Linux
TESTS_BETWEEN_LOOKS, TESTS_BETWEEN_CLEARINGS = 10, 60
_count = itertools.count(1)
if "PYTEST_XDIST_WORKER" in os.environ:
    # Tracing makes millions of objects that live long; looking through them all takes a tenth of
    # the suite's time at Python's own thresholds.
    gc.set_threshold(200_000, 20, 100)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Let compiled programs go now and then: they hold memory maps, which a process has few of."""
    done = next(_count)
    if done % TESTS_BETWEEN_LOOKS == 0 and _maps_are_many(done):
        jax.clear_caches()


def _maps_are_many(done: int) -> bool:
    """Ask the system where it tells, and go by the number of tests where it does not."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n") > MOST_MAPS
    except OSError:
        return done % TESTS_BETWEEN_CLEARINGS == 0
