"""Every equation of the four lecture notes, tested against the library (see docs/equations.md).

The notes' side is computed by brute force in plain NumPy, from the energy of all v and h, summed
term by term.
All parameters are one vector θ = (W row by row, a, b). A test called `test_slip_…` shows that a
line fails as it is printed and that its correction holds. All of it is in float64.
"""

import pkgutil
import re
from itertools import product
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chi2

import harmonium as hm
from harmonium.gradients import mean_free_energy
from harmonium.likelihood.partition_function.enumerated import log_z as traced_log_z

N_V = 4
N_H = 3
N_ROWS = 7
N_W = N_V * N_H
SEED = 7  # of the statistical tests, which passed with each of the seeds 0 to 9
LEVEL = 1e-4  # probability that a statistical test fails by chance
PAGE = Path(__file__).parents[1] / "docs" / "equations.md"


@pytest.fixture(autouse=True)
def float64():
    """Switch JAX to float64 for one test only."""
    with jax.enable_x64(True):
        yield


# ------------------------------------------------------------------ the notes' side, by brute force


def split(theta):
    return theta[:N_W].reshape(N_V, N_H), theta[N_W : N_W + N_V], theta[N_W + N_V :]


def energy(v, h, theta):
    W, a, b = split(theta)
    pairs = sum(W[i, j] * v[i] * h[j] for i in range(N_V) for j in range(N_H))
    return -pairs - sum(a[i] * v[i] for i in range(N_V)) - sum(b[j] * h[j] for j in range(N_H))


class Brute:
    """A model enumerated from E alone: axis 0 runs over all v, axis 1 over all h, axis 2 over θ."""

    def __init__(self, theta):
        self.v, self.h = (np.array(list(product([0.0, 1.0], repeat=n))) for n in (N_V, N_H))
        self.E = np.array([[energy(v, h, theta) for h in self.h] for v in self.v])
        minus = [[np.r_[np.outer(v, h).ravel(), v, h] for h in self.h] for v in self.v]
        self.dE = -np.array(minus)  # ∂E/∂θ: −v_i h_j, −v_i, −h_j
        self.Z = np.exp(-self.E).sum()
        self.p = np.exp(-self.E) / self.Z
        self.p_v = self.p.sum(1)
        self.p_h = self.p.sum(0)
        self.h_given_v = self.p / self.p_v[:, None]
        self.v_given_h = self.p / self.p_h
        self.p_h1 = self.h_given_v @ self.h  # p(h_j = 1 | v), shape (all v, hidden)
        self.p_v1 = self.v_given_h.T @ self.v  # p(v_i = 1 | h), shape (all h, visible)
        self.F = -np.log(np.exp(-self.E).sum(1))
        self.dF = np.einsum("vh,vht->vt", self.h_given_v, self.dE)  # Σ_h p(h|v) ∂E/∂θ
        self.negative = np.einsum("vh,vht->t", self.p, self.dE)  # Σ_vh p(v, h) ∂E/∂θ
        self.vh = np.einsum("vh,vi,hj->ij", self.p, self.v, self.h)  # E[v_i h_j]


class World(NamedTuple):
    """A random model on both sides; data as numbers of states, as rows, as frequencies q(v)."""

    theta: np.ndarray
    brute: Brute
    rbm: hm.RBM
    index: np.ndarray
    data: np.ndarray
    q: np.ndarray
    ascent: np.ndarray  # ∂/∂θ of the mean log-likelihood by the library's `Exact`


@pytest.fixture(params=range(3))
def world(request):
    rng = np.random.default_rng(request.param)
    theta = rng.normal(size=N_W + N_V + N_H)
    brute = Brute(theta)
    index = rng.integers(2**N_V, size=N_ROWS)
    rbm = hm.RBM.from_arrays(*split(theta))
    data = brute.v[index]
    q = np.bincount(index, minlength=2**N_V) / N_ROWS
    return World(theta, brute, rbm, index, data, q, exact_ascent(rbm, data))


@eqx.filter_jit
def estimate(method, rbm, batch, seed=0):
    """Return the gradient, which points downhill, and the info that comes with it."""
    grads, _, info = method.estimate(rbm, batch, (), key=jax.random.key(seed))
    return grads, info


def exact_ascent(rbm, data):
    return -flat(estimate(hm.Exact(), rbm, cloud(data))[0])


def log_likelihood(theta, index):
    """J = Σ_t log p(v_t)."""
    return np.log(Brute(theta).p_v[index]).sum()


def kl(theta, q):
    """Σ_v q(v) ln q(v) − Σ_v q(v) ln p(v)."""
    seen = q > 0
    return q[seen] @ np.log(q[seen]) - q[seen] @ np.log(Brute(theta).p_v[seen])


def slope(f, theta, step=1e-5):
    """∂f/∂θ by central differences."""
    moves = step * np.eye(len(theta))
    return np.array([(f(theta + move) - f(theta - move)) / (2 * step) for move in moves])


def flat(grads):
    return np.concatenate([np.ravel(grads.weights), grads.visible.bias, grads.hidden.bias])


def cloud(states):
    return hm.samplers.Cloud.uniform(jnp.asarray(states))


def pairs(v, h):
    """Return all pairs of the rows of v and h."""
    return jnp.repeat(v[:, None], len(h), axis=1), jnp.repeat(h[None], len(v), axis=0)


def close(x, y, tolerance=1e-9):
    np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=0, atol=tolerance)


def far(printed, right):
    assert np.abs(np.asarray(printed) - np.asarray(right)).max() > 1e-3


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def chances(p_one, x):
    """∏_k p(x_k), with p_one the probabilities of ones."""
    return np.where(x == 1, p_one, 1 - np.asarray(p_one)).prod(-1)


# ------------------------------------------------------------------------ the model and its parts


def test_energy(world):
    (v, h) = pairs(world.brute.v, world.brute.h)
    brute = world.brute
    close(world.rbm.energy(v, h), brute.E)
    close(world.rbm.T.energy(h, v), brute.E)
    by_parameters = slope(lambda theta: energy(brute.v[13], brute.h[6], theta), world.theta)
    close(by_parameters, brute.dE[13, 6], 1e-8)


def test_joint_probability(world):
    log_z = hm.log_z(world.rbm).value
    close(log_z, np.log(world.brute.Z))
    E = world.rbm.energy(*pairs(world.brute.v, world.brute.h))
    close(np.exp(-E - log_z), world.brute.p)


def test_marginal_and_free_energy(world):
    F = world.rbm.free_energy(jnp.asarray(world.brute.v))
    log_z = hm.log_z(world.rbm).value
    close(F, world.brute.F)
    close(np.exp(-F - log_z), world.brute.p.sum(1))
    close(np.log(np.exp(-F).sum()), log_z)
    F_of_h = world.rbm.T.free_energy(jnp.asarray(world.brute.h))
    close(np.exp(-F_of_h - log_z), world.brute.p.sum(0))


def test_conditional_means(world):
    (W, a, b) = split(world.theta)
    brute = world.brute
    close(sigmoid(brute.v @ W + b), brute.p_h1)
    close(sigmoid(brute.h @ W.T + a), brute.p_v1)
    close(world.rbm.mean_h_from_v(jnp.asarray(brute.v)), brute.p_h1)
    close(world.rbm.mean_v_from_h(jnp.asarray(brute.h)), brute.p_v1)


def test_conditionals_factorise(world):
    brute = world.brute
    p_h1 = world.rbm.mean_h_from_v(jnp.asarray(brute.v))
    p_v1 = world.rbm.mean_v_from_h(jnp.asarray(brute.h))
    close(chances(p_h1[:, None], brute.h[None]), brute.h_given_v)
    close(chances(p_v1[None], brute.v[:, None]), brute.v_given_h)


def test_one_unit_given_the_other_layer(world):
    brute = world.brute
    sides = (world.rbm, brute.v, brute.h, brute.p), (world.rbm.T, brute.h, brute.v, brute.p.T)
    for layer, x, other, joint in sides:
        W = np.asarray(layer.weights)
        bias = np.asarray(layer.visible.bias)
        ones = layer.mean_v_from_h(jnp.asarray(other))
        for j in range(x.shape[1]):
            alpha = -other @ W[j] - bias[j]
            pair = np.stack([joint[x[:, j] == value].sum(0) for value in (0, 1)])  # p(x_j, other)
            given = pair / pair.sum(0)
            close(given, np.exp([0 * alpha, -alpha]) / (1 + np.exp(-alpha)))
            close(given, [1 - 1 / (1 + np.exp(alpha)), 1 / (1 + np.exp(alpha))])
            close(given, [1 - sigmoid(-alpha), sigmoid(-alpha)])
            close(given[1], ones[:, j])


def test_biases_are_weights_to_always_on_units(world):
    (W, a, b) = split(world.theta)
    brute = world.brute
    v, h = (jnp.asarray(np.c_[x, np.ones(len(x))]) for x in (brute.v, brute.h))
    joined = np.block([[W, a[:, None]], [b[None], np.zeros((1, 1))]])
    rbm = hm.RBM.from_arrays(joined, np.zeros(N_V + 1), np.zeros(N_H + 1))
    close(rbm.energy(*pairs(v, h)), brute.E)
    close(rbm.mean_h_from_v(v)[:, :-1], brute.p_h1)
    close(rbm.mean_v_from_h(h)[:, :-1], brute.p_v1)
    rbm = hm.RBM.from_arrays(joined[:, :-1], np.r_[a, 0], np.zeros(N_H))  # only a visible one
    model = hm.samplers.Cloud(v, jnp.asarray(brute.p_v))
    grads, _ = hm.gradients.cloud_gradient(rbm, cloud(v[world.index]), model)
    close(rbm.free_energy(v), brute.F)
    close(-grads.weights[:-1], split(world.ascent)[0])
    close(-grads.weights[-1], split(world.ascent)[2])


# -------------------------------------------------------------------- the likelihood's gradient


def test_likelihood_of_data(world):
    E = world.brute.E[world.index]
    p = world.brute.p_v[world.index]
    J = N_ROWS * hm.log_likelihood(world.rbm, world.data).value
    close(J, np.log(p.prod()))
    close(J, np.log(p).sum())
    close(J, (np.log(np.exp(-E).sum(1)) - np.log(world.brute.Z)).sum())


def test_derivative_of_one_row(world):
    brute = world.brute
    t = world.index[0]
    weights = np.exp(-brute.E)
    by_weights = -weights[t] @ brute.dE[t] / weights[t].sum()
    by_weights += np.einsum("vh,vht->t", weights, brute.dE) / weights.sum()
    phases = -brute.h_given_v[t] @ brute.dE[t] + np.einsum("vh,vht->t", brute.p, brute.dE)
    close(by_weights, phases)
    close(slope(lambda theta: log_likelihood(theta, [t]), world.theta), phases, 1e-8)
    close(exact_ascent(world.rbm, world.data[:1]), phases)


def test_positive_and_negative_phase(world):
    every_v = hm.samplers.Cloud(jnp.asarray(world.brute.v), jnp.asarray(world.brute.p_v))
    positive = flat(jax.grad(mean_free_energy)(world.rbm, cloud(world.data)))
    negative = flat(jax.grad(mean_free_energy)(world.rbm, every_v))
    close(positive, world.q @ world.brute.dF)
    close(negative, world.brute.negative)
    gap = flat(jax.grad(hm.gradients.free_energy_gap)(world.rbm, cloud(world.data), every_v))
    close(-gap, -positive + negative)
    close(-gap, world.ascent)


def test_factorisation_trick(world):
    brute = world.brute
    v = world.brute.v[11]
    products = chances(brute.p_h1[11], brute.h)  # ∏_k p(h_k | v) for all h
    over_all_h = np.einsum("h,i,hj->ij", products, v, brute.h)
    close(over_all_h, np.outer(v, brute.p_h1[11]))
    close(-jax.grad(mean_free_energy)(world.rbm, cloud(v[None])).weights, over_all_h)


def test_three_derivatives(world):
    brute = world.brute
    t = world.index[0]
    p_v = world.brute.p_v
    W, a, b = split(exact_ascent(world.rbm, world.data[:1]))
    average = np.einsum("v,vi,vj->ij", p_v, brute.v, brute.p_h1)
    close(np.outer(brute.v[t], brute.p_h1[t]) - average, W)
    close(brute.v[t] - p_v @ brute.v, a)
    close(brute.p_h1[t] - p_v @ brute.p_h1, b)
    close(average, brute.vh)  # E[v_i h_j]
    close(p_v @ brute.p_h1, brute.p_h @ brute.h)  # E[h_j]


def test_two_terms_of_the_gradient(world):
    brute = world.brute
    index = world.index
    first = slope(lambda theta: -Brute(theta).F[index].sum(), world.theta)
    second = slope(lambda theta: -N_ROWS * np.log(Brute(theta).Z), world.theta)
    p_data = world.q[:, None] * brute.h_given_v  # P_data(v, h)
    close(first, -brute.dF[index].sum(0), 1e-8)
    close(first, -N_ROWS * np.einsum("vh,vht->t", p_data, brute.dE), 1e-8)
    close(second, N_ROWS * brute.negative, 1e-8)
    close(-N_ROWS * flat(jax.grad(traced_log_z)(world.rbm)), N_ROWS * brute.negative)
    close(slope(lambda theta: log_likelihood(theta, index), world.theta), first + second, 1e-8)
    close(N_ROWS * world.ascent, first + second, 1e-8)


def test_small_step_raises_the_likelihood(world):
    J = log_likelihood(world.theta, world.index)
    g = N_ROWS * world.ascent
    direction = np.random.default_rng(0).normal(size=len(g))
    moved = log_likelihood(world.theta + 1e-6 * direction, world.index)
    close((moved - J) / 1e-6, g @ direction, 1e-4)  # Taylor: the remainder is O(step)
    grads, info = estimate(hm.Exact(), world.rbm, cloud(world.data))
    for step in (1e-5, 1e-6):
        recipe = hm.Recipe(rate=N_ROWS * step, centring=None, averaging=None, hold=1.0)(1)
        updates, _ = recipe.update(grads, recipe.init(world.rbm), world.rbm, info=info)
        raised = log_likelihood(world.theta + flat(updates), world.index) - J
        close(raised / (step * g @ g), 1, 10 * step)


# ------------------------------------------------------------------------- free energy and KL


def test_derivative_of_free_energy(world):
    weights = np.exp(-world.brute.E)
    of_F = jax.grad(lambda rbm, v: rbm.free_energy(v))
    for t, v in enumerate(world.brute.v):
        close(flat(of_F(world.rbm, jnp.asarray(v))), world.brute.dF[t])
        close(weights[t] @ world.brute.dE[t] / weights[t].sum(), world.brute.dF[t])
    close(slope(lambda theta: Brute(theta).F[11], world.theta), world.brute.dF[11], 1e-8)


def test_kl(world):
    close(hm.exact_kl(world.rbm, world.data), kl(world.theta, world.q))
    assert hm.exact_kl(world.rbm, world.data) > 0
    close(hm.exact_kl(world.rbm, world.brute.v, weights=world.brute.p_v), 0)


def test_kl_gradient(world):
    q = world.q
    brute = world.brute
    weights = np.exp(-world.brute.F)
    downhill = -slope(lambda theta: kl(theta, q), world.theta)
    close(downhill, world.ascent, 1e-8)
    close(-q @ brute.dF + q.sum() * weights @ brute.dF / weights.sum(), world.ascent)
    close(-q @ brute.dF + brute.p_v @ brute.dF, world.ascent)
    p_data = q[:, None] * brute.h_given_v
    close(-np.einsum("vh,vht->t", p_data, brute.dE) + brute.negative, world.ascent)


def test_analytic_hidden_average(world):
    brute = world.brute
    q = world.q
    sampled = np.einsum("vi,hj->vhij", brute.v, brute.h)
    analytic = np.einsum("vi,vj->vij", brute.v, brute.p_h1)
    p_data = q[:, None] * brute.h_given_v
    mean = np.einsum("v,vij->ij", q, analytic)
    close(np.einsum("vh,vhij->ij", p_data, sampled), mean)
    variance = np.einsum("vh,vhij->ij", p_data, (sampled - mean) ** 2)
    smaller = np.einsum("v,vij->ij", q, (analytic - mean) ** 2)
    saved = np.einsum("v,vij->ij", q, analytic * (1 - brute.p_h1[:, None, :]))
    close(variance, smaller + saved)  # the law of total variance
    assert (saved[q @ brute.v > 0] > 0).all()
    # χ² of the library's own draws: their mean is the analytic average.
    n = 20_000
    p = brute.p_h1[11]
    many = jnp.broadcast_to(jnp.asarray(brute.v[11]), (n, N_V))
    drawn = world.rbm.sample_h_from_v(many, key=jax.random.key(SEED)).mean(0)
    assert n * ((drawn - p) ** 2 / (p * (1 - p))).sum() < chi2.isf(LEVEL / 3, N_H)


# -------------------------------------------------------------------- contrastive divergence


class Jump(hm.samplers.AbstractSampler):
    """A sampler that returns given states in place of a chain's v^(k)."""

    reached: jax.Array

    def init(self, rbm, v, *, key):
        return v

    def step(self, rbm, state, *, key):
        return self.reached, None

    def positions(self, state):
        return state


def test_contrastive_is_equation_30(world):
    brute = world.brute
    index = world.index
    k = np.random.default_rng(1).integers(2**N_V, size=N_ROWS)  # the number of v^(k)
    positive = np.einsum("rh,rht->rt", brute.h_given_v[index], brute.dE[index])
    negative = np.einsum("rh,rht->rt", brute.h_given_v[k], brute.dE[k])
    method = hm.Contrastive(Jump(jnp.asarray(brute.v[k])))
    close(-flat(estimate(method, world.rbm, cloud(world.data))[0]), (-positive + negative).mean(0))
    grads, _ = hm.gradients.cloud_gradient(world.rbm, cloud(world.data), cloud(brute.v[k]))
    close(-flat(grads), (-positive + negative).mean(0))


def test_contrastive_approaches_the_negative_phase():
    """χ² of the mean of equation (30)'s second term over 20,000 chains that start at one v."""
    signs = np.array([[1, 1, -1], [1, 1, -1], [1, -1, 1], [1, -1, 1]])
    W = 2.0 * signs + 0.1 * np.random.default_rng(0).normal(size=(N_V, N_H))
    theta = np.concatenate([W.ravel(), -W.sum(1) / 2, -W.sum(0) / 2])
    brute = Brute(theta)
    rbm = hm.RBM.from_arrays(*split(theta))
    n = 20_000
    first = 12
    round_trip = brute.v_given_h @ brute.h_given_v.T  # column v: p(v^(1) | v)
    terms = brute.dF[:, :N_W]
    batch = cloud(np.tile(brute.v[first], (n, 1)))

    def statistic(mean, law):
        away = mean - law @ terms
        return n * away @ np.linalg.solve(np.cov(terms.T, aweights=law, bias=True), away)

    distances = {}
    limit = chi2.isf(LEVEL / 4, N_W)
    for k in (1, 4, 64):
        grads, _ = estimate(hm.Contrastive(hm.Gibbs(k)), rbm, batch, SEED)
        mean = terms[first] - flat(grads)[:N_W]
        assert statistic(mean, np.linalg.matrix_power(round_trip, k)[:, first]) < limit
        distances[k] = statistic(mean, brute.p_v)
    assert distances[1] > distances[4] > 10 * limit  # short chains have a visible bias
    assert distances[64] < limit


# --------------------------- slips: the printed equation fails, the corrected one holds


def test_slip_p_of_v_dropped(world):
    brute = world.brute
    t = world.index[0]
    W, _, b = split(exact_ascent(world.rbm, world.data[:1]))
    row = np.outer(brute.v[t], brute.p_h1[t])
    far(row - np.einsum("vi,vj->ij", brute.v, brute.p_h1), W)
    close(row - np.einsum("v,vi,vj->ij", brute.p_v, brute.v, brute.p_h1), W)
    far(brute.p_h1[t] - brute.p_h1.sum(0), b)
    close(brute.p_h1[t] - brute.p_v @ brute.p_h1, b)


def test_slip_index_of_the_hidden_bias(world):
    left = split(exact_ascent(world.rbm, world.data[:1]))[2]
    right = world.brute.p_h1[world.index[0]] - world.brute.p_v @ world.brute.p_h1
    for i, j in product(range(N_H), repeat=2):
        (close if i == j else far)(left[i], right[j])


def test_slip_step_equal_to_the_gradient(world):
    # J, a sum, grows with the data
    many = np.tile(world.index, 20)
    g = 20 * N_ROWS * world.ascent
    J = log_likelihood(world.theta, many)
    assert log_likelihood(world.theta + g, many) < J - 1  # printed: ε ΔW = ∂J/∂W
    raised = log_likelihood(world.theta + 1e-8 * g, many) - J  # meant: ΔW = ∂J/∂W
    close(raised / (1e-8 * g @ g), 1, 1e-4)


def test_slip_row_missing_from_the_normaliser(world):
    E = world.brute.E
    dE = world.brute.dE
    dF = world.brute.dF
    total = [np.exp(-E[k]) @ dE[k] for k in world.index]
    right = -dF[world.index].sum(0)
    close(-sum(x / np.exp(-E[k]).sum() for x, k in zip(total, world.index, strict=True)), right)
    for v in range(2**N_V):  # whichever v is meant without its (k)
        far(-sum(total) / np.exp(-E[v]).sum(), right)


def test_slip_row_left_in_the_average(world):
    p_data = world.q[:, None] * world.brute.h_given_v
    right = -world.brute.dF[world.index].sum(0)
    close(-N_ROWS * np.einsum("vh,vht->t", p_data, world.brute.dE), right)
    for k in world.index:
        far(-N_ROWS * np.einsum("vh,ht->t", p_data, world.brute.dE[k]), right)


def test_slip_stray_logarithm(world):
    weighted = np.einsum("vh,vht->t", np.exp(-world.brute.E), world.brute.dE)
    right = slope(lambda theta: -N_ROWS * np.log(Brute(theta).Z), world.theta)
    far(N_ROWS * np.log(1 / world.brute.Z) * weighted, right)
    assert (weighted / world.brute.Z < 0).all()  # so the logarithm of the whole does not exist
    close(N_ROWS * weighted / world.brute.Z, right, 1e-8)
    close(N_ROWS * weighted / world.brute.Z, N_ROWS * world.brute.negative)


def test_slip_sign_of_the_final_gradient(world):
    data = np.einsum("v,vi,vj->ij", world.q, world.brute.v, world.brute.p_h1)
    printed = -data + world.brute.vh
    right = split(world.ascent)[0]
    far(printed, right)
    assert (printed * right).sum() < 0  # downhill
    close(data - world.brute.vh, right)


def test_slip_sample_code(world):
    page = PAGE.read_text("utf-8").replace("\n> ", "\n")
    printed, corrected = re.findall(r"```python\n(.*?)```", page, flags=re.S)
    (W, a, b) = split(world.theta)
    reached = []

    def visible_given_hidden(hidden):
        reached.append(np.round(sigmoid(W @ hidden + a)))
        return reached[-1]

    def hidden_given_visible(visible):  # the mean in place of a draw, in both programs
        return sigmoid(visible @ W + b)

    names = {"input_data": world.data, "k": 1, "outer": np.outer, "weights": W.copy()}
    names["sample_hidden_given_visible"] = hidden_given_visible
    names["sample_visible_given_hidden"] = visible_given_hidden
    with pytest.raises(NameError, match="gradient"):
        exec(printed, dict(names))
    names["gradient"] = np.zeros_like(W)
    with pytest.raises(TypeError):
        exec(printed, dict(names))
    exec(printed.replace("hidden * outer", "outer(visible, hidden)"), names)
    # It runs now, but row t of N = 7 has been applied N − t + 1 times, at a rate of 1.
    both = zip(world.data, reached, strict=True)
    rows = [np.outer(v, sigmoid(v @ W + b)) - np.outer(u, sigmoid(u @ W + b)) for v, u in both]
    close(names["weights"] - W, sum((N_ROWS - t) * row for t, row in enumerate(rows)))
    grads, _ = hm.gradients.cloud_gradient(world.rbm, cloud(world.data), cloud(np.array(reached)))
    far(names["weights"] - W, -grads.weights)
    names |= {"batch": world.data, "weights": W.copy(), "rate": 0.1, "zeros_like": np.zeros_like}
    names["mean_hidden_given_visible"] = hidden_given_visible
    exec(corrected, names)
    close(names["weights"] - W, -0.1 * grads.weights)


def test_slip_transposed_weights(world):
    W, a, b = split(world.theta)
    # the notes' w_ij: i hidden, j visible
    notes_w = W.T
    v = world.brute.v[13]
    h = world.brute.h[6]
    with pytest.raises(ValueError, match="matmul"):
        v @ notes_w @ h
    close(-(h @ notes_w @ v + v @ a + h @ b), world.brute.E[13, 6])
    square = notes_w[:, :N_H]  # with as many visible as hidden units the shapes agree
    by_sum = np.einsum("ij,hi,vj->hv", square, world.brute.h, world.brute.h)
    far(np.einsum("vi,ij,hj->hv", world.brute.h, square, world.brute.h), by_sum)
    close(world.brute.h @ square @ world.brute.h.T, by_sum)


def test_slip_joint_as_product_of_pairs(world):
    brute = world.brute
    of_pairs = np.ones_like(world.brute.p)
    for j, i in product(range(N_V), range(N_H)):
        same_v, same_h = (1.0 * (x[:, None] == x) for x in (brute.v[:, j], brute.h[:, i]))
        of_pairs *= same_v @ brute.p @ same_h  # p(v_j, h_i)
    far(of_pairs, brute.p)
    far(of_pairs / of_pairs.sum(0), brute.v_given_h)
    far(of_pairs / of_pairs.sum(1, keepdims=True), brute.h_given_v)
    close(chances(brute.p_v1[None], brute.v[:, None]), brute.v_given_h)
    close(chances(brute.p_h1[:, None], brute.h[None]), brute.h_given_v)


def test_slip_other_units_not_summed(world):
    W, a, _ = split(world.theta)
    boltzmann = np.exp(-world.brute.E) / world.brute.Z
    for j in range(N_V):
        off, on = (boltzmann[world.brute.v[:, j] == value] for value in (0, 1))
        for rest in off:  # e^(−E(v_j = 0, h))/Z, the other visible units at each of their states
            far(rest, off.sum(0))
        close(on.sum(0) / (off + on).sum(0), sigmoid(world.brute.h @ W[j] + a[j]))


def test_slip_sum_over_rows_dropped(world):
    row_gradient = -world.brute.dF[world.index] + world.brute.negative
    for row in row_gradient:
        far(row, N_ROWS * world.ascent)
    close(row_gradient.sum(0), N_ROWS * world.ascent)


def test_slip_product_of_conditional_means(world):
    brute = world.brute
    far(np.einsum("vh,hi,vj->ij", brute.p, brute.p_v1, brute.p_h1), brute.vh)
    close(np.einsum("v,vi,vj->ij", brute.p_v, brute.v, brute.p_h1), brute.vh)
    close(np.einsum("h,hi,hj->ij", brute.p_h, brute.p_v1, brute.h), brute.vh)


def test_slip_kl_maximised(world):
    uphill = slope(lambda theta: kl(theta, world.q), world.theta)
    far(uphill, world.ascent)
    close(-uphill, world.ascent, 1e-8)
    J = log_likelihood(world.theta, world.index)
    assert log_likelihood(world.theta + 1e-3 * uphill, world.index) < J
    assert log_likelihood(world.theta - 1e-3 * uphill, world.index) > J


def test_slip_scope_of_the_sum(world):
    q = world.q
    ln_p = np.log(world.brute.p_v)
    dF = world.brute.dF
    entropy = -q[q > 0] @ np.log(q[q > 0])
    for v in range(2**N_V):
        far(-entropy - q[v] * ln_p[v], hm.exact_kl(world.rbm, world.data))
    close(-entropy - (q * ln_p).sum(), hm.exact_kl(world.rbm, world.data))
    model = world.brute.p_v @ dF
    far((-q[:, None] * dF + model).sum(0), world.ascent)  # one Σ_v over both terms
    close((-q[:, None] * dF).sum(0) + model, world.ascent)


def test_slip_term_without_its_sum(world):
    brute = world.brute
    model = world.brute.p_v @ world.brute.dF
    terms = world.q[:, None] * (-brute.dF + model)  # ∂/∂θ of q(v) ln p(v), for each v
    for v in range(2**N_V):
        far(terms[v], world.ascent)
        far(-world.q @ brute.dF + brute.p_v[v], world.ascent)  # the arrow: "the fraction → p(v)"
    close(terms.sum(0), world.ascent)


def test_slip_last_lines(world):
    (W, *_) = split(world.theta)
    brute = world.brute
    q = world.q
    fields = brute.v @ W  # (wv)_i in the notes' orientation
    derivative = -jax.grad(mean_free_energy)(world.rbm, cloud(world.data)).weights
    terms = np.einsum("v,vh,hi,vi->i", q, brute.h_given_v, brute.h, fields)  # ⟨h_i (wv)_i⟩
    far(-terms.sum(), derivative)  # E where ∂E/∂w is meant
    close(np.einsum("v,vj,vi->ji", q, brute.v, brute.p_h1), derivative)  # ⟨p(h_i = 1|v) v_j⟩
    far(-terms[0] + terms[1:].sum(), -terms.sum())  # the minus sign of the first term only
    analytic = q @ (brute.p_h1 * fields)
    far(analytic.sum(), -terms.sum())  # the last line, without any minus sign
    close(-analytic.sum(), -terms.sum())
    close((W * derivative).sum(), analytic.sum())  # what the last line is
    for p_h1 in (brute.p_h @ brute.h, q @ brute.p_h1):  # p(h_2 = 1) of the model, or of the data
        far(p_h1[1] * (q @ fields[:, 1]), terms[1])
    close(analytic[1], terms[1])


# ------------------------------------------------------------------------------ the page itself


def test_page_names_every_test_and_no_other():
    named = set(re.findall(r"`(test_\w+)`", PAGE.read_text("utf-8")))
    assert named == {name for name in globals() if re.match("test_(?!page_)", name)}


def test_page_names_only_what_exists():
    page = PAGE.read_text("utf-8")
    for name in sorted(set(re.findall(r"`hm((?:\.\w+)+)", page))):
        assert pkgutil.resolve_name(f"harmonium{name}") is not None


def test_page_gives_each_equation_its_function_and_test():
    for section in re.split(r"^### ", PAGE.read_text("utf-8"), flags=re.M)[1:]:
        section = section.split("\n## ")[0]
        for part in ("$$", "`hm.", "`test_"):
            assert part in section, f"{part} is missing from {section.splitlines()[0]}"
