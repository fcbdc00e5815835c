"""The forms in which JAX's own functions are used."""

import logging

import jax
import numpy as np
import pytest

from harmonium._special import from_numpy, normals
from harmonium._threefry import quick


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.linspace(0.0, 1.0, 391).reshape(17, 23), np.float32),
        (np.array([1e300, -1e300, np.nan]), np.float32),
        (np.arange(407), np.int32),
        (np.arange(409) % 2 == 0, bool),
        (np.arange(419).astype(np.uint8)[::-1], np.uint8),
    ],
    ids=lambda x: None if isinstance(x, type) else str(x.dtype),
)
def test_arrays_become_jaxs_as_they_are_and_nothing_is_compiled(array, dtype, caplog):
    with jax.log_compiles(), caplog.at_level(logging.WARNING):
        found = from_numpy(array)
    assert not caplog.records
    assert isinstance(found, jax.Array)
    assert found.dtype == dtype
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, array.astype(dtype))
    with jax.enable_x64(True):
        assert from_numpy(array).dtype == array.dtype


@pytest.mark.parametrize("shape", [(), (5,), (4, 3), (2, 3, 1)], ids=str)
@pytest.mark.parametrize("kind", [lambda key: key, quick], ids=["JAX's key", "quick key"])
def test_normals_are_those_of_jax(shape, kind):
    key = jax.random.key(3)
    found = normals(shape, np.float32, key=kind(key))
    np.testing.assert_allclose(found, jax.random.normal(key, shape), rtol=1e-6)
