"""What layers, models and methods have from their base class."""

import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm

RBM = hm.RBM.from_arrays(np.ones((3, 2)), np.zeros(3), np.zeros(2))
STATES = jnp.array([[0.0, 1.0, 1.0], [1.0, 1.0, 1.0]])


def test_methods_are_looked_up_as_pythons_are():
    """Equinox would make a module of each, which takes longer than most of them do."""
    assert type(RBM.free_energy) is type(RBM.visible.sample) is types.MethodType
    assert type(hm.Gibbs(1).step) is types.MethodType


@pytest.mark.parametrize("transformed", [jax.jit, jax.vmap, eqx.filter_jit])
def test_jax_takes_methods(transformed):
    np.testing.assert_allclose(transformed(RBM.free_energy)(STATES), RBM.free_energy(STATES))


def test_fields_cannot_be_assigned():
    with pytest.raises(AttributeError, match="cannot assign"):
        RBM.weights = None  # pyright: ignore[reportAttributeAccessIssue]
