import itertools

import numpy as np
import pytest

import harmonium as hm

CRITICAL = np.log(1 + np.sqrt(2)) / 2


def enumerated(shape, beta, states):
    """Return log Z, mean and variance of the energy over all configurations."""
    bonds = hm.data.lattice_bonds(shape)
    values = [-1, 1] if states == 2 else range(states)
    s = np.array(list(itertools.product(values, repeat=int(np.prod(shape)))))
    pairs = s[:, bonds[:, 0]], s[:, bonds[:, 1]]
    energy = -(pairs[0] * pairs[1] if states == 2 else pairs[0] == pairs[1]).sum(1).astype(float)
    logs = -beta * energy
    log_z = np.logaddexp.reduce(logs)
    p = np.exp(logs - log_z)
    mean = p @ energy
    return log_z, mean, beta**2 * (p @ (energy - mean) ** 2), -(p * np.log(p)).sum()


@pytest.mark.parametrize("beta", [0.1, CRITICAL, 0.9])
@pytest.mark.parametrize(
    ("shape", "states"), [((7,), 2), ((6,), 3), ((5,), 4), ((3, 3), 2), ((3, 4), 2), ((4, 4), 2)]
)
def test_exact_values_against_all_configurations(shape, states, beta):
    exact = hm.data.lattice_exact(shape, beta, states=states)
    np.testing.assert_allclose(exact, enumerated(shape, beta, states), rtol=1e-6, atol=1e-6)


def test_a_large_lattice_is_onsagers():
    """Free energy per site −β f at the critical point: ½ log 2 + 2 G / π, with Catalan's G."""
    per_site = hm.data.lattice_exact((64, 64), CRITICAL).log_z / 64**2
    assert per_site == pytest.approx(0.5 * np.log(2) + 2 * 0.915965594 / np.pi, abs=3e-4)


@pytest.mark.parametrize(
    ("shape", "beta", "states"),
    [((8, 8), 0.35, 2), ((8, 8), CRITICAL, 2), ((8, 8), 0.55, 2), ((50,), 1.0, 2), ((40,), 1.2, 5)],
)
def test_draws_have_the_exact_energy(shape, beta, states):
    exact = hm.data.lattice_exact(shape, beta, states=states)
    bonds = hm.data.lattice_bonds(shape)
    s = hm.data.lattice_samples(shape, beta, 2_000, states=states, sweeps=60, seed=0).astype(int)
    a = s[:, bonds[:, 0]]
    b = s[:, bonds[:, 1]]
    energy = -(a * b if states == 2 else a == b).sum(1).astype(float)
    error = energy.std() / np.sqrt(len(s))
    assert abs(energy.mean() - exact.energy) < 4.5 * error
    assert beta**2 * energy.var() == pytest.approx(exact.heat_capacity, rel=0.15)


def test_draws_of_a_small_lattice_are_of_its_distribution():
    s = hm.data.lattice_samples((3,), 0.6, 20_000, states=3, sweeps=20, seed=1)
    counts = np.bincount(s.astype(int) @ [1, 3, 9], minlength=27)
    states = np.array(list(itertools.product(range(3), repeat=3)))[:, ::-1]
    equal = (states == np.roll(states, -1, 1)).sum(1)
    expected = np.exp(0.6 * equal)
    expected *= len(s) / expected.sum()
    assert ((counts - expected) ** 2 / expected).sum() < 66  # χ² of 26 degrees, beyond it 3·10⁻⁵


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hm.data.lattice_samples((4, 4), -1, 5, seed=0), "beta: expected a number"),
        (lambda: hm.data.lattice_samples((4, 4), 1, 0, seed=0), "n: expected"),
        (lambda: hm.data.lattice_samples((0,), 1, 5, seed=0), "shape: expected"),
        (lambda: hm.data.lattice_samples((4,), 1, 5, states=200, seed=0), "at most 127"),
        (lambda: hm.data.lattice_exact((4, 4), 0.4, states=3), "a ring, or a square lattice"),
        (lambda: hm.data.lattice_exact((4, 4), 0.0), "beta: expected"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(hm.InputError, match=message):
        call()
