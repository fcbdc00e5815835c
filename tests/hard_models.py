"""Families of models on which estimates of log Z go wrong, small enough for exact answers.

Each family has a dial from easy (0) to impossible (1). All models of a family have the same shapes,
so that they share their compiled programs. Exact draws and log Z come from an enumeration of the
hidden layer, which estimates are not told of.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import optax

import harmonium as hm
from harmonium._base.numerics import from_numpy

Rng = np.random.Generator


def _bernoulli(spins: np.ndarray, fields: np.ndarray, biases: np.ndarray) -> hm.RBM:
    """Return the model of 0/1 units that equals one of spins with these couplings and fields.

    With s = 2v − 1 and t = 2h − 1: sᵀJt + sᵀa + tᵀb = 4 vᵀJh + v·(2a − 2J1) + h·(2b − 2Jᵀ1) + …
    """
    v_bias = 2.0 * fields - 2.0 * spins.sum(1)
    h_bias = 2.0 * biases - 2.0 * spins.sum(0)
    return hm.RBM.from_arrays(4.0 * spins, v_bias, h_bias)


def two_modes(rng: Rng, dial: float, mass: float = 0.03) -> hm.RBM:
    """Two opposite modes along a random pattern; the smaller has about this share of the mass."""
    pattern = rng.choice([-1.0, 1.0], (14, 1))
    signs = rng.choice([-1.0, 1.0], (1, 6))
    couplings = (0.15 + 0.35 * dial) * pattern * signs
    couplings = couplings + 0.05 * rng.standard_normal(couplings.shape)

    def tilted(field: float) -> hm.RBM:
        return _bernoulli(couplings, field * pattern[:, 0], np.zeros(6))

    def share(field: float) -> float:
        rbm = tilted(field)
        states = np.asarray(rbm.visible.states(jnp.arange(2**14, dtype=jnp.uint32)))
        energies = np.asarray(rbm.free_energy(from_numpy(states)), np.float64)
        p = np.exp(energies.min() - energies)
        return float(p[(2 * states - 1) @ pattern[:, 0] < 0].sum() / p.sum())

    low = 0.0
    high = 2.0
    for _ in range(25):
        middle = (low + high) / 2
        low, high = (middle, high) if share(middle) > mass else (low, middle)
    return tilted(high)


def ferromagnet(rng: Rng, dial: float) -> hm.RBM:
    """All spins coupled alike, in a small field."""
    strength = 0.1 + 0.5 * dial
    couplings = strength * (1.0 + 0.1 * rng.standard_normal((16, 8)))
    return _bernoulli(couplings, 0.02 * rng.standard_normal(16) + 0.01, np.zeros(8))


def glass(rng: Rng, dial: float) -> hm.RBM:
    """Random couplings, up to so strong that many states are metastable."""
    couplings = (0.2 + 1.3 * dial) * rng.standard_normal((12, 10)) / np.sqrt(3.0)
    return _bernoulli(couplings, 0.3 * rng.standard_normal(12), 0.3 * rng.standard_normal(10))


def needle(rng: Rng, dial: float) -> hm.RBM:
    """One state that has half of the mass, besides a broad rest."""
    target = rng.integers(0, 2, 14).astype(float)
    weights = 0.3 * rng.standard_normal((14, 6))
    sharpness = 2.0 + 8.0 * dial
    weights[:, 0] = sharpness * (2.0 * target - 1.0)
    h_bias = 0.3 * rng.standard_normal(6)
    v_bias = 0.3 * rng.standard_normal(14)
    rest = hm.RBM.from_arrays(weights[:, 1:], v_bias, h_bias[1:])
    at_target = -float(rest.free_energy(from_numpy(target.astype(np.float32))))
    # At the target, the first hidden unit has the input that makes its mass that of the rest.
    h_bias[0] = hm.log_z(rest).value - at_target - sharpness * target.sum()
    return hm.RBM.from_arrays(weights, v_bias, h_bias)


def far_gaussian(rng: Rng, dial: float) -> hm.RBM:
    """Reals whose modes, one for each hidden state, lie up to far from each other."""
    weights = (0.3 + 2.7 * dial) * rng.standard_normal((8, 10))
    return hm.RBM(
        hm.Gaussian(8), hm.Bernoulli(10, rng.normal(0.0, 1.0, 10)), from_numpy(np.float32(weights))
    )


def far_mixed(rng: Rng, dial: float) -> hm.RBM:
    """Reals, yes/no and states of one model, with few hidden units that have strong weights."""
    visible = hm.Mixed(hm.Gaussian(4), hm.Bernoulli(3), hm.Potts(1, states=3))
    weights = (0.5 + 9.5 * dial) * rng.standard_normal((10, 3))
    return hm.RBM(visible, hm.Bernoulli(3), from_numpy(np.float32(weights)))


def two_sided_counts(rng: Rng, dial: float) -> hm.RBM:
    """Counts of successes among ten trials that are nearly all or nearly none."""
    couplings = (0.03 + 0.12 * dial) * rng.choice([-1.0, 1.0], (8, 1)) * np.ones((1, 5))
    weights = 4.0 * couplings + 0.05 * rng.standard_normal((8, 5))
    visible = hm.Binomial(8, total=10, bias=-weights.sum(1) / 2 + 0.03 * rng.standard_normal(8))
    return hm.RBM(
        visible, hm.Bernoulli(5, -10.0 * weights.sum(0) / 2), from_numpy(np.float32(weights))
    )


def far_poisson(rng: Rng, dial: float) -> hm.RBM:
    """Counts with rates that differ between two modes."""
    sides = rng.choice([-1.0, 1.0], (8, 1)) * np.ones((1, 5))
    weights = (0.1 + 0.5 * dial) * sides + 0.05 * rng.standard_normal((8, 5))
    return hm.RBM(
        hm.Poisson(8, bias=-weights.sum(1) / 2), hm.Bernoulli(5), from_numpy(np.float32(weights))
    )


def documents(rng: Rng, dial: float) -> hm.RBM:
    """Documents of 300 words with topics that exclude each other."""
    weights = (0.1 + 0.9 * dial) * rng.standard_normal((12, 6))
    return hm.RBM(
        hm.ReplicatedSoftmax(12, length=300), hm.Bernoulli(6), from_numpy(np.float32(weights))
    )


def badly_trained(rng: Rng, dial: float) -> hm.RBM:
    """A model trained by CD-1 or PCD-1 with large steps: its chains have modes of their own."""
    prototypes = rng.integers(0, 2, (5, 16))
    rows = prototypes[rng.integers(0, 5, 200)] ^ (rng.random((200, 16)) < 0.05)
    key = jax.random.key(int(rng.integers(2**31)))
    method = (
        hm.Persistent(hm.Gibbs(1), chains=50) if rng.random() < 0.5 else hm.Contrastive(hm.Gibbs(1))
    )
    start = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(12), rows, key=key)
    epochs = int(20 + 180 * dial)
    optimizer = optax.sgd(0.1 + 0.4 * dial)
    settings = {"gradient": method, "epochs": epochs, "optimizer": optimizer, "batch_size": 20}
    fit = hm.fit(start, rows, key=key, **settings)
    return fit.state.rbm


FAMILIES: dict[str, Callable[[Rng, float], hm.RBM]] = {
    "two modes, 1 %": lambda rng, dial: two_modes(rng, dial, 0.01),
    "two modes, 3 %": lambda rng, dial: two_modes(rng, dial, 0.03),
    "two modes, 8 %": lambda rng, dial: two_modes(rng, dial, 0.08),
    "two modes, 50 %": lambda rng, dial: two_modes(rng, dial, 0.499),
    "ferromagnet": ferromagnet,
    "glass": glass,
    "needle": needle,
    "far Gaussian": far_gaussian,
    "far mixed": far_mixed,
    "two-sided counts": two_sided_counts,
    "far Poisson": far_poisson,
    "documents": documents,
    "badly trained": badly_trained,
}


def exact_rows(rbm: hm.RBM, n: int, rng: Rng) -> np.ndarray:
    """Return n independent draws of the visible units, in the user's coding."""
    hidden = rbm.hidden
    states = hidden.states(jnp.arange(hidden.n_states, dtype=jnp.uint32))
    log_p = -np.asarray(rbm.T.free_energy(states), np.float64)
    p = np.exp(log_p - log_p.max())
    chosen = rng.choice(len(p), n, p=p / p.sum())
    key = jax.random.key(int(rng.integers(2**31)))
    return np.asarray(rbm.visible.decode(rbm.sample_v_from_h(states[chosen], key=key)))
