"""The autopilot, a method that adapts itself during the run."""

import jax
import numpy as np
import pytest

import harmonium as hm

KEY = jax.random.key(0)
TWO_MODES = np.repeat([[0], [1]], 12, axis=1)  # all off, or all on
AUTO = hm.training.Autopilot(6, 20)
EASY = np.random.default_rng(0).integers(0, 2, (200, 6))  # independent units


def trained(rows, updates, **options):
    rbm = hm.initialize(hm.Bernoulli(rows.shape[1]), hm.Bernoulli(4), rows, key=KEY)
    recipe = hm.Recipe(rate=0.1, hold=1.0)
    chosen = {"gradient": AUTO, "optimizer": recipe, "epochs": updates} | options
    return hm.fit(rbm, rows, key=KEY, **chosen)


@pytest.fixture(scope="module")
def flown():
    return trained(TWO_MODES, 800)


def test_it_raises_k_and_then_exchanges_and_says_why(flown):
    fit = flown
    ks = [record["k"] for record in fit.history]
    ladders = [record["ladder"] for record in fit.history]
    assert ks[0] == 1
    assert sorted(set(ks))[:5] == [1, 2, 4, 8, 16]
    assert ladders[0] == 1
    assert ladders[-1] >= 3
    assert "2 sweeps per update, because the relaxation time" in fit.notes[0]
    assert "a ladder of up to 6 temperatures" in fit.notes[4]
    assert fit.history[-1]["relaxation"] < fit.history[-1]["k"]
    assert hm.log_likelihood(fit.rbm, TWO_MODES).value > -0.9  # −log 2 at best


def test_it_is_at_equilibrium_where_pcd_is_not(flown):
    reports = []
    pcd = hm.Persistent(hm.Gibbs(1), 100)
    plain = trained(TWO_MODES, 800, gradient=pcd)
    for method, fit, sweeps in ((AUTO, flown, 8_192), (pcd, plain, 2_048)):
        settings = {"data": TWO_MODES, "state": fit.state.gradient, "sweeps": sweeps}
        reports.append(hm.equilibrium(fit.state.rbm, method, key=KEY, **settings))
    assert reports[0].at_equilibrium
    assert "steps of replica exchange" in reports[0].message
    assert reports[1].at_equilibrium is False


def test_it_changes_nothing_where_chains_mix():
    fit = trained(EASY, 500)
    assert fit.notes == ()
    assert fit.history[-1]["k"] == 1
    assert fit.history[-1]["ladder"] == 1


def test_a_resumed_run_equals_an_uninterrupted_one():
    whole = trained(TWO_MODES, 400)
    part = trained(TWO_MODES, 250)
    rest = trained(TWO_MODES, 400, state=part.state)
    assert whole.notes
    assert rest.notes == whole.notes
    for a, b in zip(jax.tree.leaves(whole.state), jax.tree.leaves(rest.state), strict=True):
        np.testing.assert_array_equal(a, b)


def test_its_name_is_known_and_others_are_not():
    assert trained(EASY, 2, gradient="auto").history[-1]["k"] == 1
    with pytest.raises(hm.InputError, match=r"gradient: expected one of pcd, .*; got 'autopilot'"):
        trained(EASY, 1, gradient="autopilot")
    with pytest.raises(hm.InputError, match="most_sweeps"):
        hm.training.Autopilot(most_sweeps=0)


def test_every_method_has_a_name():
    """Every method has one, except those that wrap others or need an argument from the user."""
    named = {
        type(hm.training.method_named(name, 2, 20)).__name__ for name in hm.training.METHOD_NAMES
    }
    kinds = {name for name, kind in vars(hm.gradients).items() if isinstance(kind, type)}
    kinds = {
        n for n in kinds if issubclass(getattr(hm.gradients, n), hm.gradients.AbstractGradient)
    }
    others = {"WeightedSum", "Discriminative", "Marginal", "PerPattern", "Autopilot", "External"}
    others.add("ConditionalLikelihood")
    assert named ^ {n for n in kinds if not n.startswith("Abstract")} <= others


def test_the_command_knows_the_same_names():
    from harmonium.runs.options import METHODS

    assert METHODS == hm.training.METHOD_NAMES
    with pytest.raises(hm.InputError, match="expected one of pcd, cd"):
        hm.training.method_named("sgd")
