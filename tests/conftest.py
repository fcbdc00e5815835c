"""What all tests share."""

import importlib.util
import itertools
from importlib.util import find_spec

import jax
import pytest

# The faces towards TensorFlow are looked at where it is installed.
collect_ignore = [] if importlib.util.find_spec("tensorflow") else ["faces"]
TESTS_BETWEEN_CLEARINGS = 60
_count = itertools.count(1)
# Tests against packages that plain `make test` does without.
collect_ignore = [] if find_spec("torch") and find_spec("rbms") else ["faces/interop"]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Let compiled programs go now and then: they hold memory maps, which a process has few of."""
    if next(_count) % TESTS_BETWEEN_CLEARINGS == 0:
        jax.clear_caches()
