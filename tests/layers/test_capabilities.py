import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.layers.capabilities import (
    correlated,
    curvature,
    has_independent_units,
    has_inputs_at,
    inputs_at,
    is_rescalable,
    is_shiftable,
    joint_states,
    proposals_from,
    takes_lengths,
    whitening,
)


def test_every_question_has_an_answer_for_a_layer_without_the_capability():
    layer = hm.UnitInterval(2)
    columns, changes = proposals_from(layer, jnp.zeros((3, 2)))
    assert (columns.shape, changes.shape) == ((0, 1), (3, 0, 1))
    assert has_independent_units(layer)
    assert not is_rescalable(layer).any()
    assert not is_shiftable(layer).any()
    assert np.isinf(curvature(layer)).all()  # it is bounded
    assert not len(correlated(layer))
    assert whitening(layer).shape == (0, 0)
    assert not takes_lengths(layer)
    assert not has_inputs_at(layer)
    with pytest.raises(hm.InputError, match="inputs can be computed from its means"):
        inputs_at(layer, jnp.full(2, 0.5))


def test_states_of_a_continuum_are_refused():
    for layer in (hm.Gaussian(2), hm.Mixed(hm.Bernoulli(1), hm.Gaussian(1))):
        assert layer.n_states is None
        with pytest.raises(hm.InputError, match="states can be enumerated; got"):
            joint_states(layer, jnp.arange(2))


def test_a_mixed_layer_passes_questions_on_to_its_parts():
    layer = hm.Mixed(
        hm.Bernoulli(1), hm.ReLU(1), hm.MultivariateGaussian(2), hm.Exclusive(2, [[0, 1]])
    )
    assert is_rescalable(layer).tolist() == [False, True, True, True, False, False]
    assert is_shiftable(layer).tolist() == [False, False, True, True, False, False]
    assert correlated(layer).tolist() == [2, 3]
    assert not has_independent_units(layer)
    assert not has_inputs_at(layer)  # of rectified units they do not follow from the means
    assert np.isinf(curvature(layer)).tolist() == [True, False, False, False, True, True]
