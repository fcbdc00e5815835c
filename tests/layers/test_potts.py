import jax
import numpy as np
import pytest

import harmonium as hm
from harmonium.layers.potts import _passed, _passed_in_turn

EXAMPLES = [hm.Potts(2, states=3)]


def test_rows_are_codes_and_states_are_one_hot():
    layer = hm.Potts(2, states=3)
    assert (layer.size, layer.n_units) == (6, 2)
    x = layer.encode(np.array([[2, 0]]))
    np.testing.assert_array_equal(x, [[0, 0, 1, 1, 0, 0]])
    np.testing.assert_array_equal(layer.decode(x), [[2, 0]])
    assert layer.decode(x).dtype == np.uint8
    assert hm.Potts(1, states=300).decode(np.eye(300)[[299]]).tolist() == [[299]]


def test_codes_out_of_range_are_refused():
    with pytest.raises(
        hm.InputError, match="integer codes from 0 to 2; found 3 in row 0, column 1"
    ):
        hm.Potts(2, states=3).validate([[0, 3]])
    with pytest.raises(hm.InputError, match=r"found 0\.5"):
        hm.Potts(2, states=3).validate([[0.5, 1.0]])
    with pytest.raises(hm.InputError, match="at least 2"):
        hm.Potts(2, states=1)


@pytest.mark.parametrize("states", [2, 5, 21])
def test_draws_invert_the_cumulative_distribution_on_every_device(states):
    """On a CPU and elsewhere; a state of probability 0 is never drawn, whatever the rounding."""
    rng = np.random.default_rng(states)
    odds = rng.exponential(size=(states, 200, 50)).astype(np.float32)
    odds[rng.random(odds.shape) < 0.4] = 0
    odds[0, odds.sum(0) == 0] = 1
    uniforms = rng.random(odds.shape[1:], dtype=np.float32)
    uniforms[0] = 0
    cumulative = odds.astype(float).cumsum(0)
    expected = (cumulative <= uniforms * cumulative[-1]).sum(0)
    for passed in (_passed, _passed_in_turn):
        chosen = np.asarray(jax.jit(passed)(odds, uniforms))
        assert (np.take_along_axis(odds, chosen[None], axis=0) > 0).all()
        # Rounded sums move a draw with a probability below states² / 2^24.
        assert (chosen != expected).sum() <= 10
