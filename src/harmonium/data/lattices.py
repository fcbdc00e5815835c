"""Ising and Potts models on rings and square lattices: cluster sampling and exact sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..errors import InputError

__all__ = ["Thermodynamics", "lattice_bonds", "lattice_exact", "lattice_samples"]

SITES_AT_ONCE = 2**20
STEP = 1e-3  # step in β for numerical derivatives


def lattice_bonds(shape: Sequence[int]) -> np.ndarray:
    """Return the pairs of neighbouring sites of a periodic lattice, shape (bonds, 2).

    Sites are numbered row by row. Along an axis with two sites, each pair of neighbours has two
    bonds; along an axis with one site, there are no bonds.

    Args:
        shape: number of sites along each axis, such as (16, 16), or (100,) for a ring.

    Raises:
        InputError: `shape` contains anything but positive integers.

    Example:
        >>> hm.data.lattice_bonds((4,)).tolist()
        [[0, 1], [1, 2], [2, 3], [3, 0]]
        >>> len(hm.data.lattice_bonds((3, 3)))  # two for each site
        18
    """
    sizes = tuple(shape)
    if not sizes or not all(isinstance(n, int | np.integer) and n >= 1 for n in sizes):
        raise InputError(
            f"shape: expected whole numbers of at least 1; got {shape!r}; give the number of"
            " sites along each axis, such as (16, 16)."
        )
    sites = np.arange(math.prod(sizes)).reshape(sizes)
    pairs = [
        np.stack([sites.ravel(), np.roll(sites, -1, axis).ravel()], axis=1)
        for axis, n in enumerate(sizes)
        if n > 1
    ]
    return np.concatenate([np.zeros((0, 2), int), *pairs])


def lattice_samples(
    shape: Sequence[int], beta: float, n: int, *, states: int = 2, sweeps: int = 200, seed: int
) -> np.ndarray:
    """Draw configurations of the ferromagnetic Ising or Potts model on a periodic lattice.

    With two states, this is the Ising model p(s) ∝ exp(β Σ s_i s_j) with s = ±1, summed over the
    bonds; with more states, the Potts model p(s) ∝ exp(β Σ δ(s_i, s_j)) with s = 0 … states − 1.
    Each configuration comes from a separate Markov chain, which starts from random states and makes
    Swendsen–Wang updates: bonds between equal neighbours are kept with probability 1 − e^(−2β)
    (Ising) or 1 − e^(−β) (Potts), and each cluster of sites connected by kept bonds gets a new
    random state. Near the critical point, chains of single-site updates on a lattice of side L need
    about L² sweeps; Swendsen–Wang chains need only a few.

    Args:
        shape: number of sites along each axis, such as (16, 16), or (100,) for a ring.
        beta: inverse temperature, at least 0.
        n: number of configurations.
        states: number of states; 2 for the Ising model.
        sweeps: number of updates of each chain.
        seed: random seed.

    Returns:
        An int8 array of shape (n, sites): −1 and +1 for two states, otherwise codes.

    Raises:
        InputError: an argument is out of range.

    Example:
        >>> hm.data.lattice_samples((4, 4), 0.2, 100, seed=0).shape
        (100, 16)
        >>> cold = hm.data.lattice_samples((4, 4), 5.0, 100, seed=0)
        >>> np.unique(cold.sum(1)).tolist()  # all spins down, or all up
        [-16, 16]

    Source: Swendsen & Wang 1987.
    """
    bonds = lattice_bonds(shape)
    if not 0 <= beta < math.inf:
        raise InputError(f"beta: expected a number of at least 0; got {beta!r}.")
    for name, value, least in (("n", n, 1), ("states", states, 2), ("sweeps", sweeps, 1)):
        if not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{name}: expected a whole number of at least {least}; got {value!r}.")
    if states > 127:
        raise InputError(f"states: expected at most 127; got {states}.")
    rng = np.random.default_rng(seed)
    sites = math.prod(shape)
    # s_i s_j differs by 2 between equal and unequal spins, δ(s_i, s_j) only by 1.
    coupling = 2.0 * beta if states == 2 else beta
    bond_probability = -np.expm1(-coupling)
    at_once = max(1, SITES_AT_ONCE // sites)
    parts = [
        _chains(bonds, sites, min(at_once, n - start), bond_probability, states, sweeps, rng)
        for start in range(0, n, at_once)
    ]
    codes = np.concatenate(parts).astype(np.int8)
    return 2 * codes - 1 if states == 2 else codes


def _chains(
    bonds: np.ndarray,
    sites: int,
    chains: int,
    bond_probability: float,
    states: int,
    sweeps: int,
    rng: np.random.Generator,
) -> np.ndarray:
    """Run Swendsen–Wang chains and return their final states, shape (chains, sites).

    The lattices of all chains form one disconnected graph, so a single search for connected
    components finds the clusters of all chains.
    """
    from scipy.sparse import coo_array  # imported here, since it takes a tenth of a second
    from scipy.sparse.csgraph import connected_components

    first = (np.arange(chains)[:, None] * sites + bonds[:, 0]).ravel()
    second = (np.arange(chains)[:, None] * sites + bonds[:, 1]).ravel()
    size = chains * sites
    spins = rng.integers(0, states, size)
    for _ in range(sweeps):
        is_bonded = (spins[first] == spins[second]) & (rng.random(len(first)) < bond_probability)
        edges = (np.ones(is_bonded.sum(), bool), (first[is_bonded], second[is_bonded]))
        count, cluster = connected_components(coo_array(edges, (size, size)), directed=False)
        spins = rng.integers(0, states, count)[cluster]
    return spins.reshape(chains, sites)


class Thermodynamics(NamedTuple):
    """Exact thermodynamic quantities of a whole lattice at one temperature.

    Attributes:
        log_z: log Z, in nats.
        energy: the expected energy, −Σ s_i s_j or −Σ δ(s_i, s_j), summed over the bonds.
        heat_capacity: β² times the variance of the energy.
        entropy: the entropy, in nats.

    Example:
        >>> found = hm.data.lattice_exact((3, 3), 0.4)
        >>> bool(np.isclose(found.entropy, found.log_z + 0.4 * found.energy))
        True
    """

    log_z: float
    energy: float
    heat_capacity: float
    entropy: float


def lattice_exact(shape: Sequence[int], beta: float, *, states: int = 2) -> Thermodynamics:
    """Return exact thermodynamic quantities of a ring, or of the Ising model on a square lattice.

    Both lattices are periodic. Rings are solved with their transfer matrix, and square lattices of
    m × n sites with Kaufman's sum of four products; as m and n grow, the free energy per site
    approaches Onsager's solution.

    Args:
        shape: (n,) or (m, n), with m and n at least 3, so that no pair of sites has two bonds.
        beta: inverse temperature, above 0.
        states: number of states; more than two only on a ring.

    Raises:
        InputError: no exact solution is known for this lattice, or an argument is out of range.

    Example:
        >>> ring = hm.data.lattice_exact((3,), 0.5)
        >>> round(ring.log_z, 3)  # log(2 e^1.5 + 6 e^-0.5)
        2.534

    Source: Kaufman 1949; Onsager 1944.
    """
    if not isinstance(shape, Sequence):
        raise InputError(
            f"shape: expected the number of sites along each axis; got {shape!r}; write ({shape},)"
            " for a ring."
        )
    is_known = (len(shape) == 1 or (len(shape) == 2 and states == 2)) and min(shape) >= 3
    if not is_known:
        raise InputError(
            "shape: expected a ring, or a square lattice with two states, with at least 3"
            f" sites along each axis; got {tuple(shape)} with {states} states."
        )
    if not 2 * STEP < beta < math.inf:
        raise InputError(f"beta: expected a number above {2 * STEP:g}; got {beta!r}.")

    def log_z(b: float) -> float:
        if len(shape) == 2:
            return _square(int(shape[0]), int(shape[1]), b)
        return _ring(int(shape[0]), b, states)

    low = log_z(beta - STEP)
    mid = log_z(beta)
    high = log_z(beta + STEP)
    further = log_z(beta - 2 * STEP), log_z(beta + 2 * STEP)
    slope = (8 * (high - low) - (further[1] - further[0])) / (12 * STEP)
    bend = (16 * (high + low) - (further[0] + further[1]) - 30 * mid) / (12 * STEP**2)
    return Thermodynamics(mid, -slope, beta**2 * bend, mid - beta * slope)


def _ring(n: int, beta: float, states: int) -> float:
    """Return log Z of a ring: log(λ₁ⁿ + (q − 1) λ₂ⁿ), with the transfer matrix's eigenvalues λ."""
    if states == 2:
        return n * math.log(2 * math.cosh(beta)) + math.log1p(math.tanh(beta) ** n)
    large = math.exp(beta) + states - 1
    small = math.expm1(beta)
    return n * math.log(large) + math.log1p((states - 1) * (small / large) ** n)


def _square(m: int, n: int, beta: float) -> float:
    """Return log Z of the Ising model on a torus with m rows and n columns."""
    of = np.arange(2 * n)
    ratio = math.cosh(2 * beta) ** 2 / math.sinh(2 * beta)
    gamma = np.arccosh(np.maximum(ratio - np.cos(np.pi * of / n), 1.0))
    gamma[0] = 2 * beta + math.log(math.tanh(beta))  # negative above the critical point
    logs = []
    signs = []
    for angles in (gamma[1::2], gamma[0::2]):
        half = m / 2 * np.abs(angles)
        logs.append((half + np.log1p(np.exp(-2 * half))).sum())  # ∏ 2 cosh
        signs.append(1.0)
        logs.append((half + np.log(-np.expm1(-2 * half))).sum())  # ∏ 2 sinh
        signs.append(np.prod(np.sign(angles)))
    top = max(logs)
    total = sum(sign * math.exp(log - top) for log, sign in zip(logs, signs, strict=True))
    return -math.log(2) + m * n / 2 * math.log(2 * math.sinh(2 * beta)) + top + math.log(total)
