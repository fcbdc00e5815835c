"""What all tests share."""

import importlib.util
import itertools

import jax
import pytest

# The faces towards TensorFlow are looked at where it is installed.
collect_ignore = [] if importlib.util.find_spec("tensorflow") else ["faces"]
TESTS_BETWEEN_CLEARINGS = 60
_count = itertools.count(1)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Let compiled programs go now and then: they hold memory maps, which a process has few of."""
    if next(_count) % TESTS_BETWEEN_CLEARINGS == 0:
        jax.clear_caches()
