"""Each type of layer has one row in the registry, from which all its names are read."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.data.coding import CODINGS, as_table
from harmonium.layers import registry
from harmonium.layers.registry import layer_named, registered_layers, row_of

ROWS = {"levels": [[0, 1]], "spins": [[-1, 1]], "codes": [[0, 1]], "reals": [[0.0, 1.0]]}


def test_every_row_makes_its_layer_and_reads_its_rows():
    assert {row.rows for row in registered_layers()} == set(CODINGS) - {"auto"} == set(ROWS)
    for row in registered_layers():
        layer = row.make(2, 3)
        assert row_of(layer) == row == layer_named(row.name, "hidden")
        layer.validate(as_table(ROWS[row.rows], name="x", coding=row.rows).train)


def test_a_wrong_name_is_answered_with_the_known_ones():
    with pytest.raises(hm.InputError, match=r"hidden: expected one of 'auto', 'bernoulli'.*'x'"):
        layer_named("x", "hidden", "auto")
    with pytest.raises(hm.InputError, match="number of states"):
        layer_named("potts", "hidden").make(3)
    with pytest.raises(hm.InputError, match="got 'ising', taken by Ising"):
        hm.layers.register_layer("ising", rows="spins")(hm.Gaussian)
    with pytest.raises(hm.InputError, match="rows to be one of"):
        hm.layers.register_layer("mine", rows="words")


def test_a_user_s_layer_is_known_by_its_name(monkeypatch):
    monkeypatch.setattr(registry, "_BY_NAME", dict(registry._BY_NAME))

    class Other(hm.Gaussian):
        pass

    hm.layers.register_layer("other", rows="reals")(Other)
    from harmonium.sklearn import RBM

    rows = np.random.default_rng(0).normal(size=(20, 2))
    fitted = RBM(2, visible="other", hidden="other", n_iter=1, random_state=0).fit(rows)
    assert type(fitted.rbm_.hidden) is type(fitted.columns_.layer) is Other


def test_composites_have_no_row():
    assert row_of(hm.Mixed(hm.Ising(1))) is None
