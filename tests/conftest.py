"""Set-up that all tests share."""

import gc
import itertools
import os

import jax
import pytest

TESTS_BETWEEN_CLEARINGS = 60
_count = itertools.count(1)
if "PYTEST_XDIST_WORKER" in os.environ:
    # Tracing makes millions of long-lived objects. At Python's default thresholds, garbage
    # collection takes a tenth of the suite's time.
    gc.set_threshold(200_000, 20, 100)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Free compiled programs now and then: each holds memory maps, whose number is limited."""
    if next(_count) % TESTS_BETWEEN_CLEARINGS == 0:
        jax.clear_caches()
