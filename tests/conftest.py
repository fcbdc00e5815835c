"""What all tests share."""

import gc
import itertools
import os

import jax
import pytest

TESTS_BETWEEN_CLEARINGS = 60
_count = itertools.count(1)
if "PYTEST_XDIST_WORKER" in os.environ:
    # Tracing makes millions of objects that live long; looking through them all takes a tenth of
    # the suite's time at Python's own thresholds.
    gc.set_threshold(200_000, 20, 100)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Let compiled programs go now and then: they hold memory maps, which a process has few of."""
    if next(_count) % TESTS_BETWEEN_CLEARINGS == 0:
        jax.clear_caches()
