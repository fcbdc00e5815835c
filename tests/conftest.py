"""Set-up that all tests share."""

import ctypes
import gc
import itertools
import os
import sys
from pathlib import Path

import jax
import jaxtyping
import pytest

from harmonium._base import programs

# What is whole runs, of the command, of estimators, or of a page: there, checks of shapes and types
# at run time would take a third of the time, for functions that other tests call as well.
WHOLE = ("browser", "cli", "hostile", "interfaces", "runs", "sklearn")
WHOLE_FILES = ("test_readme", "test_how_to", "test_end_to_end")
TESTS_BETWEEN_CHECKS = 40
MOST_MEMORY_MAPS = 30_000  # of the 65,530 that Linux allows a process by default
C = ctypes.CDLL(None) if os.name == "posix" else None
_count = itertools.count(1)
if "PYTEST_XDIST_WORKER" in os.environ:
    # Tracing makes millions of long-lived objects. At Python's default thresholds, garbage
    # collection takes a tenth of the suite's time.
    gc.set_threshold(200_000, 20, 100)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Check shapes and types at run time in tests of parts, not in those of whole runs."""
    place = item.path.relative_to(item.config.rootpath).parts
    name = item.path.stem
    is_whole = place[1] in WHOLE or name in WHOLE_FILES or name.endswith("_page")
    jaxtyping.config.update("jaxtyping_disable", is_whole)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item):
    """Free compiled programs now and then: they hold memory, and maps, whose number is limited.

    Not more often than needed: what all tests use is traced anew each time.
    """
    if next(_count) % TESTS_BETWEEN_CHECKS == 0 and _holds_much():
        jax.clear_caches()
        programs.forget()
        gc.collect()
        if hasattr(C, "malloc_trim"):  # else glibc keeps what was freed
            C.malloc_trim(0)


def _holds_much() -> bool:
    """Return whether this process holds many memory maps, or half of its share of the memory.

    Where that is not known, on other systems than Linux, it is taken for granted.
    """
    if sys.platform != "linux":
        return True
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    processes = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    maps = Path("/proc/self/maps").read_bytes().count(b"\n")
    return maps > MOST_MEMORY_MAPS or pages > os.sysconf("SC_PHYS_PAGES") / (2 * processes)
