"""What pytest leaves out, interfaces towards packages that are not installed; names in examples."""

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


@pytest.fixture(autouse=True, scope="session")
def _names_in_examples(doctest_namespace):
    """Give docstrings' examples the names that the reference says are imported."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    import harmonium as hm

    doctest_namespace.update(hm=hm, jax=jax, jnp=jnp, np=np)
