"""What pytest leaves out, for packages that are missing or by time; names in examples."""

from importlib.util import find_spec

import pytest

NEEDED = {
    "src/harmonium/keras": ["keras"],
    "tests/interfaces/keras": ["keras"],
    "tests/cli/test_tune.py": ["optuna"],
    "tests/runs/test_tune.py": ["optuna"],
    "tests/interfaces/io": ["torch", "rbms"],
    "tests/interfaces/from_scratch": ["tensorflow"],
}
collect_ignore = [place for place, names in NEEDED.items() if not all(map(find_spec, names))]


def pytest_addoption(parser):
    """Add --share, with which `make changed` says how many of the slow tests a change runs."""
    parser.addoption(
        "--share", type=float, help="part of the slow tests, by time: see tests/suites.py"
    )


def pytest_collection_modifyitems(config, items):
    """Leave out the slow tests that are not in the --share of this tree of files."""
    share = config.getoption("share")
    if share is None:
        return
    import suites

    names = {item: f"{item.location[0]}::{item.name}" for item in items}
    chosen = suites.dealt(names.values(), share)
    left_out = [item for item in items if names[item] not in chosen]
    items[:] = [item for item in items if names[item] in chosen]
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(autouse=True, scope="session")
def _names_in_examples(doctest_namespace):
    """Give docstrings' examples the names that the reference says are imported."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import harmonium as hm

    doctest_namespace.update(hm=hm, jax=jax, jnp=jnp, np=np)
