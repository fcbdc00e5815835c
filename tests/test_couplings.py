"""Effective couplings against sums over all states, and the scores made of them."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.analysis import couplings
from harmonium.analysis.couplings import values_of_units
from registry import ALL, random_rbm

VISIBLE = [
    hm.Potts(4, 3),
    hm.Ising(6),
    hm.Bernoulli(5),
    hm.Categorical(3, [2, 4, 3]),
    hm.Binomial(3, 3),
    hm.Mixed(hm.Bernoulli(2), hm.Potts(2, 3)),
]


@eqx.filter_jit
def energies_of(rbm, states):
    return rbm.free_energy(states)


def log_p(rbm):
    """Return the values of all units, and log p up to a constant as an array over their states."""
    states = rbm.visible.states(jnp.arange(rbm.visible.n_states))
    rows = rbm.visible.decode(states)
    values = values_of_units(rbm.visible)
    table = np.zeros((~np.isnan(values)).sum(1))
    places = [tuple(np.argmax(row[:, None] == values, axis=1)) for row in rows]
    for place, energy in zip(places, np.asarray(energies_of(rbm, states), float), strict=True):
        table[place] = -energy
    return rows, values, table


def exact_term(table, units):
    others = tuple(k for k in range(table.ndim) if k not in units)
    term = table.mean(axis=others)
    for axis in range(len(units)):
        term = term - term.mean(axis=axis, keepdims=True)
    return term


# Orders are dealt out in turn: in `make laws`, each layer meets all orders, and all layers of the
# other side; else all orders and layers occur, but half of the pairs.
@pytest.mark.parametrize(
    ("visible", "hidden", "order"),
    [
        (visible, hidden, 1 + (i + j) % 3)
        for i, visible in enumerate(VISIBLE)
        for j, hidden in enumerate([hm.Bernoulli(4), hm.DReLU(3), hm.Potts(2, 3)])
        if ALL or (i + j) % 2 == 0
    ],
    ids=str,
)
def test_terms_around_all_states_are_exact(visible, hidden, order, monkeypatch):
    rbm = random_rbm(visible, hidden, seed=3)
    rows, values, table = log_p(rbm)
    monkeypatch.setattr(couplings, "MOST_ROWS", len(rows))
    terms = hm.effective_couplings(rbm, order, around=rows)
    assert len(terms.units) == len({tuple(sorted(units)) for units in terms.units.tolist()})
    largest = max(np.abs(table - table.mean()).max(), 1.0)
    for units, term in zip(terms.units, terms.values, strict=True):
        own = tuple(slice(0, (~np.isnan(values[k])).sum()) for k in units)
        np.testing.assert_allclose(term[own], exact_term(table, units), atol=3e-6 * largest)
        padding = term.copy()
        padding[own] = 0.0
        assert not padding.any()


def test_gaussian_hidden_units_need_no_rows():
    rbm = random_rbm(hm.Potts(5, 3), hm.Gaussian(2), seed=1)
    _, _, table = log_p(rbm)
    terms = hm.effective_couplings(rbm)
    for units, term in zip(terms.units, terms.values, strict=True):
        np.testing.assert_allclose(term, exact_term(table, units), atol=1e-5)


def test_a_spin_model_gets_its_terms_back():
    """Gaussian hidden units with W are the couplings J = WWᵀ of a Hopfield model."""
    w = np.random.default_rng(0).normal(size=(6, 2)).astype(np.float32) / 3
    rbm = hm.RBM(hm.Ising(6), hm.Gaussian(2), w)
    terms = hm.effective_couplings(rbm)
    i, j = terms.units.T
    np.testing.assert_allclose(terms.values[:, 1, 1], (w @ w.T)[i, j], atol=1e-6)
    assert hm.effective_couplings(rbm, 3).norms.max() < 1e-6


def test_normal_inputs_are_right_for_many_units():
    rbm = random_rbm(hm.Ising(14), hm.Bernoulli(6), seed=0, coupling=0.5)
    _, _, table = log_p(rbm)
    terms = hm.effective_couplings(rbm)
    exact = np.array([exact_term(table, units)[1, 1] for units in terms.units])
    error = terms.values[:, 1, 1] - exact
    assert np.sqrt((error**2).mean()) < 0.05 * np.sqrt((exact**2).mean())


def test_some_terms_and_progress():
    rbm = random_rbm(hm.Potts(6, 3), hm.Bernoulli(3), seed=0)
    every = hm.effective_couplings(rbm)
    done = []
    few = hm.effective_couplings(rbm, units=[(4, 1), (0, 5)], progress=done.append)
    place = every.units.tolist().index([1, 4])
    np.testing.assert_allclose(few.values[0], every.values[place].T, atol=1e-6)
    assert done[-1] == 1.0


def test_scores_are_norms_less_what_averages_explain():
    rbm = random_rbm(hm.Potts(6, 4), hm.Bernoulli(5), seed=2)
    terms = hm.effective_couplings(rbm)
    scores = hm.contact_scores(terms, without=0)
    np.testing.assert_array_equal(scores, scores.T)
    assert not np.diag(scores).any()
    norms = np.zeros((6, 6))
    for (i, j), term in zip(terms.units, terms.values, strict=True):
        norms[i, j] = norms[j, i] = np.linalg.norm(term[1:, 1:])
    mean = norms.sum(0) / 5
    expected = norms - np.outer(mean, mean) / mean.mean()
    off = ~np.eye(6, dtype=bool)
    np.testing.assert_allclose(scores[off], expected[off], rtol=1e-5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda rbm: hm.effective_couplings(rbm, 4), "1, 2 or 3 units per term"),
        (lambda rbm: hm.effective_couplings(rbm, 2, units=[(1, 1)]), "a repeated unit"),
        (lambda rbm: hm.effective_couplings(rbm, 2, units=[(1, 9)]), "from 0 to 2"),
        (lambda rbm: hm.effective_couplings(rbm.T), "units with few values"),
        (
            lambda rbm: hm.effective_couplings(
                random_rbm(hm.Bernoulli(3), hm.Bernoulli(2), 0), around=[[0.5, 0, 1]]
            ),
            "expected only values that the units can take; got 0.5 in column 0",
        ),
        (lambda rbm: hm.contact_scores(rbm), "the result of effective_couplings"),
        (lambda rbm: hm.contact_scores(hm.effective_couplings(rbm, 1)), "for all 3 pairs"),
        (
            lambda rbm: hm.effective_couplings(random_rbm(hm.Potts(2, 3), hm.Bernoulli(1), 0), 3),
            "at most the 2 visible units",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(hm.InputError, match=message):
        call(random_rbm(hm.Potts(3, 3), hm.Gaussian(2), 0))


@pytest.mark.parametrize("visible", VISIBLE, ids=str)
def test_single_changes_are_differences_of_free_energies(visible):
    rbm = random_rbm(visible, hm.Bernoulli(4), seed=5)
    row = visible.decode(visible.sample_without_inputs((), key=jax.random.key(0)))
    changes = hm.analysis.single_changes(rbm, row)
    values = values_of_units(visible)
    assert (np.isnan(changes) == np.isnan(values)).all()
    places = np.argwhere(~np.isnan(values))
    rows = np.repeat(row[None].astype(float), len(places) + 1, axis=0)
    for other, (unit, place) in zip(rows[1:], places, strict=True):
        other[unit] = values[unit, place]
    here, *there = hm.free_energies(rbm, rows)
    np.testing.assert_allclose(changes[tuple(places.T)], here - np.array(there), atol=1e-4)


@pytest.mark.parametrize(
    ("visible", "times"),
    [
        (visible, times)
        for i, visible in enumerate(VISIBLE)
        for times in ((1, 2, 3) if ALL else (1 + i % 3,))
    ],
    ids=str,
)
def test_sharpened_models_have_as_many_times_the_free_energy(visible, times):
    rbm = random_rbm(visible, hm.Bernoulli(3), seed=1)
    if isinstance(visible, hm.Binomial) and times > 1:
        with pytest.raises(hm.InputError, match="energy is linear in their parameters"):
            hm.sharpened(rbm, times)
        return
    states = visible.states(jnp.arange(visible.n_states))
    sharp = hm.sharpened(rbm, times)
    expected = times * np.asarray(energies_of(rbm, states))
    np.testing.assert_allclose(energies_of(sharp, states), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize(
    "counts",
    [
        hm.Poisson(3, [-5.0, -6.0, -7.0]),
        hm.Binomial(3, 20, [-7.0, -8.0, -9.0]),
        hm.ReplicatedSoftmax(4, length=1),
        hm.Mixed(hm.Gaussian(2), hm.Poisson(1, [-5.0])),
    ],
    ids=str,
)
def test_counts_are_not_sharpened_though_they_are_mostly_0(counts):
    """Their draws hardly ever show log x!, which the copies of the hidden layer do not multiply."""
    rbm = hm.RBM(counts, hm.Bernoulli(2), np.zeros((counts.size, 2)))
    with pytest.raises(hm.InputError, match="energy is linear in their parameters"):
        hm.sharpened(rbm, 2)


@pytest.mark.parametrize(
    "visible",
    [
        hm.Mixed(hm.Gaussian(2), hm.Exclusive(6, [(0, 1, 2), (3, 4)]), hm.Potts(2, 3)),
        hm.MultivariateGaussian(3),
        hm.Binomial(3, 1),
        hm.UnitInterval(2),
        hm.ReLU(2),
    ],
    ids=str,
)
def test_layers_without_other_terms_are_sharpened(visible):
    rbm = random_rbm(visible, hm.Bernoulli(3), seed=1)
    rows = visible.decode(rbm.visible.sample_without_inputs((50,), key=jax.random.key(2)))
    energies = hm.free_energies(hm.sharpened(rbm, 2), rows)
    np.testing.assert_allclose(energies, 2 * hm.free_energies(rbm, rows), rtol=1e-4, atol=1e-3)


def test_entropy_of_a_model_is_that_of_its_probabilities():
    rbm = random_rbm(hm.Potts(4, 3), hm.Bernoulli(3), seed=1)
    _, _, table = log_p(rbm)
    p = np.exp(table - table.max())
    p /= p.sum()
    exact = -(p * np.log(p)).sum()
    covered = 0
    for seed in range(10):
        samples = hm.sample(rbm, 500, key=jax.random.key(seed), steps=100)
        entropy = hm.entropy(rbm, samples)
        covered += entropy.low <= exact <= entropy.high
    assert covered >= 7  # of 10 intervals of 95 %: fewer have a probability of 10⁻⁴
    with pytest.raises(hm.InputError, match="at least two rows"):
        hm.entropy(rbm, samples[:1])
