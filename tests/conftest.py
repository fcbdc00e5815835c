"""What all tests share."""

import itertools

import jax
import pytest

TESTS_BETWEEN_CLEARINGS = 60
_count = itertools.count(1)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Let compiled programs go now and then: they hold memory maps, which a process has few of."""
    if next(_count) % TESTS_BETWEEN_CLEARINGS == 0:
        jax.clear_caches()
