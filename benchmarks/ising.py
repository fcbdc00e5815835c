"""Ising models on a square lattice: what an RBM recovers of a model whose couplings are known.

Configurations are drawn by clusters at several temperatures, below, at and above the critical
point. Two RBMs learn them without a penalty: one with Gaussian hidden units, which is a Boltzmann
machine of all pairs, by its pseudo-likelihood, and one with Ising hidden units by PCD. Their
effective couplings between neighbours are compared with β, the energy and heat capacity of their
samples with exact values (Kaufman 1949).

    python benchmarks/ising.py            # 8 × 8 and 16 × 16
    python benchmarks/ising.py 8          # one size
"""

import sys
import time

import jax
import numpy as np

import harmonium as hm

ROWS, SAMPLES, SWEEPS, SEED = 100_000, 4_000, 3_000, 0
BETAS = (0.35, 0.4406868, 0.55)  # above, at and below the critical temperature


def energies(s: np.ndarray, bonds: np.ndarray) -> np.ndarray:
    return -(s[:, bonds[:, 0]].astype(int) * s[:, bonds[:, 1]]).sum(1).astype(float)


def with_error(values: np.ndarray, beta: float) -> tuple[float, float, float, float]:
    """Return the mean energy and the heat capacity, each with its standard error over draws."""
    squared = beta**2 * (values - values.mean()) ** 2
    n = np.sqrt(len(values))
    return values.mean(), values.std() / n, squared.mean(), squared.std() / n


def by_gaussian_units(rows: np.ndarray, beta: float) -> hm.RBM:
    """Return a model of all pairs; W begins at a multiple of 1, which says nothing of spins."""
    n = rows.shape[1]
    start = hm.RBM(hm.Ising(n), hm.Gaussian(n), np.sqrt(4 * beta) * np.eye(n))
    recipe = hm.Recipe(rate=0.01)
    given = {"gradient": "pseudo-likelihood", "optimizer": recipe, "epochs": 20}
    return hm.fit(start, rows, key=jax.random.key(SEED), **given).rbm


def by_ising_units(rows: np.ndarray, beta: float) -> hm.RBM:
    """Return a model of 2 n hidden spins, learned by PCD."""
    keys = jax.random.split(jax.random.key(SEED))
    n = rows.shape[1]
    start = hm.initialize(hm.Ising(n), hm.Ising(2 * n), rows[:10_000], key=keys[0])
    return hm.fit(start, rows, key=keys[1], epochs=100).rbm


WAYS = {"Gaussian units": by_gaussian_units, "Ising units": by_ising_units}


def measured(side: int, beta: float, way: str) -> str:
    bonds, exact = hm.lattice_bonds((side, side)), hm.lattice_exact((side, side), beta)
    rows = hm.lattice_samples((side, side), beta, ROWS, sweeps=100, seed=SEED)
    began = time.perf_counter()
    rbm = WAYS[way](rows, beta)
    seconds = time.perf_counter() - began
    told = []
    for around in (None, rows[:200]):
        terms = hm.effective_couplings(rbm, units=bonds, around=around)
        j = terms.values[:, 1, 1]
        told.append(f"{j.mean():.4f} ({j.mean() / beta - 1:+.1%}, spread {j.std():.3f})")
    draws = hm.sample(rbm, SAMPLES, key=jax.random.key(SEED + 1), steps=SWEEPS)
    e, e_error, c, c_error = with_error(energies(draws, bonds), beta)
    return (
        f"{side:>2} × {side:<2}  β {beta:.3f}  {way}  J {told[0]}, around rows {told[1]}"
        f"  energy {e:.2f} ± {e_error:.2f} (exact {exact.energy:.2f})"
        f"  heat capacity {c:.1f} ± {c_error:.1f} (exact {exact.heat_capacity:.1f})"
        f"  {seconds:.0f} s"
    )


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]] or [8, 16]
    for side in sizes:
        for beta in BETAS:
            for way in WAYS:
                print(measured(side, beta, way), flush=True)


if __name__ == "__main__":
    main()
