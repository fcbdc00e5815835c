import jax
import numpy as np
import pytest

import harmonium as hm
from harmonium.tables import Frame, RawColumn, columns_of

KEY = jax.random.key(0)


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    colours = RawColumn(
        "colour", np.array(["red", "green", "blue"], object)[rng.integers(3, size=90)]
    )
    columns = columns_of(Frame((colours, RawColumn("x", rng.normal(size=90)))))
    return hm.RBM(columns.layer, hm.Bernoulli(2), np.zeros((4, 2))), columns


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        # one chain has no differences to others, and its interval of width 0 would mean "exact"
        ({"chains": 1}, "chains: expected at least 8; got 1"),
        ({"chains": 0}, "chains: expected a whole number of at least 1"),
        ({"sweeps": 0}, "sweeps: expected a whole number of at least 1"),
    ],
)
def test_what_cannot_be_used_is_named(model, changed, message):
    with pytest.raises(hm.InputError, match=message):
        hm.ask(*model, "colour | x=0..1", key=KEY, **changed)


def test_another_key_gives_other_draws_and_the_same_key_the_same(model):
    first, again, other = (
        hm.ask(*model, "x", key=jax.random.key(i), chains=50, sweeps=4)[0].quantiles
        for i in (0, 0, 1)
    )
    assert first == again != other
