"""What a run says where its model is worth nothing, and that it says nothing otherwise."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.data import Dataset
from harmonium.samplers import Cloud
from harmonium.training.monitors import Monitors
from harmonium.training.selection import known_exactly, known_of_chains, reason_against

ALIKE = np.repeat(np.arange(2), 30)[:, None] * np.ones((1, 6), int)  # two modes, 30 rows in each
WEIGHT = 6.0
KEY = jax.random.key(0)


def two_modes(odds: float, weight: float = WEIGHT) -> hm.RBM:
    """Return a model of these modes, with these log odds of the one of ones."""
    weights = np.full((6, 1), weight)
    return hm.RBM.from_arrays(weights, np.full(6, -weight / 2), [odds - 3.0 * weight])


def monitors(rows: np.ndarray = ALIKE, held_out: np.ndarray | None = None) -> Monitors:
    start = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(1), rows, key=KEY)
    return Monitors(start, Dataset(rows), None if held_out is None else Dataset(held_out))


def test_a_model_of_both_modes_is_not_spoken_of():
    for odds in (0.0, 0.8, -0.8):  # shares of 0.5, 0.69 and 0.31
        rbm = two_modes(odds)
        assert reason_against(rbm, monitors(), known_exactly(rbm)) == ""


def test_a_model_that_has_nearly_lost_a_mode_says_how_far_its_means_are_off():
    rbm = two_modes(3.0)  # a share of 0.95
    assert hm.log_likelihood(rbm, ALIKE).value > -3.0  # independent units: −4.2
    reason = reason_against(rbm, monitors(), known_exactly(rbm))
    assert "the means of the model differ from the means of the rows by 0.8" in reason
    assert "standard deviations of a column (root mean square)" in reason
    assert "lower the learning rate" in reason


def test_a_model_worth_less_than_its_units_says_both_numbers():
    rbm = two_modes(-30.0)
    reason = reason_against(rbm, monitors(), known_exactly(rbm))
    value = hm.log_likelihood(rbm, ALIKE).value
    assert f"the log-likelihood of training rows is {value:.2f} nats, and -4.1" in reason


def test_held_out_rows_count_too():
    opposite = np.tile([0, 1], (40, 3))
    known = known_exactly(two_modes(0.0))
    reason = reason_against(two_modes(0.0), monitors(held_out=opposite), known)
    assert "the log-likelihood of held-out rows is" in reason


def test_means_by_enumeration_are_the_same_over_either_layer():
    rbm = hm.RBM.from_arrays(
        np.random.default_rng(0).normal(size=(6, 3)), np.linspace(-1, 1, 6), [0.3, -0.2, 0.1]
    )
    over_hidden = known_exactly(rbm)
    states = rbm.visible.states(jnp.arange(64))
    p = jax.nn.softmax(-rbm.free_energy(states))
    np.testing.assert_allclose(
        over_hidden.states.mean_of(over_hidden.states.states), p @ states, atol=1e-5
    )
    assert over_hidden.log_z == pytest.approx(hm.log_z(rbm).value, abs=1e-4)
    wide = hm.RBM.from_arrays(rbm.weights.T, rbm.hidden.bias, rbm.visible.bias)
    over_visible = known_exactly(wide)  # which has fewer states
    np.testing.assert_allclose(
        over_visible.states.mean_of(over_visible.states.states),
        wide.mean_v_from_h(states).T @ p,
        atol=1e-5,
    )


@pytest.mark.parametrize(("count", "is_lost"), [(200, True), (10, False)])
def test_few_chains_prove_nothing(count, is_lost):
    """All of them in one mode: of ten, that is a chance of one in five hundred for each column."""
    chains = Cloud.uniform(jnp.ones((count, 6)))
    known = known_of_chains(chains, None, 0.0)
    assert bool(reason_against(two_modes(0.0), monitors(), known)) == is_lost


def test_a_log_z_that_is_not_known_well_proves_nothing():
    rbm = two_modes(-30.0)
    log_z = hm.log_z(rbm).value
    assert "is worse than" in reason_against(rbm, monitors(), known_of_chains(None, log_z, 0.1))
    assert reason_against(rbm, monitors(), known_of_chains(None, log_z, 100.0)) == ""
    assert reason_against(rbm, monitors(), known_of_chains(None, None, 0.0)) == ""


def run(rate, **options):
    rows = hm.bars_and_stripes(3)
    rbm = hm.initialize(hm.Bernoulli(9), hm.Bernoulli(4), rows, key=KEY)
    options = {"epochs": 1_200, "optimizer": hm.Recipe(rate=rate)} | options
    return hm.fit(rbm, rows, key=KEY, gradient=hm.training.method_named("pcd", 1, 20), **options)


def test_a_run_at_a_rate_that_is_far_too_high_warns_once_and_notes_why():
    with pytest.warns(hm.PoorModelWarning) as caught:
        fit = run(200.0)
    assert len(caught) == 1
    assert fit.notes[-1] == str(caught[0].message)
    assert fit.message.startswith("finished")
    assert not fit.diverged


def test_a_usual_run_has_nothing_to_note():
    assert run(0.5).notes == ()
