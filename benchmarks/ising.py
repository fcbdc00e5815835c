"""Ising models on a square lattice: what an RBM recovers of a model whose couplings are known.

Configurations are drawn by clusters at several temperatures, below, at and above the critical
point. Two RBMs learn them without a penalty: one with Gaussian hidden units, which is a Boltzmann
machine of all pairs, by its pseudo-likelihood, and one with Ising hidden units by PCD. Their
effective couplings between neighbours are compared with β, the energy and heat capacity of their
samples with exact values (Kaufman 1949).

    python benchmarks/ising.py            # 8 × 8 and 16 × 16
    python benchmarks/ising.py 8          # this size alone
"""

import sys

import jax
import numpy as np
from timing import timed

import harmonium as hm

ROWS = 100_000
SAMPLES = 4_000
SWEEPS = 3_000
SEED = 0
BETAS = (0.35, 0.4406868, 0.55)  # above, at and below the critical temperature


def energies(s: np.ndarray, bonds: np.ndarray) -> np.ndarray:
    return -(s[:, bonds[:, 0]].astype(int) * s[:, bonds[:, 1]]).sum(1).astype(float)


def with_error(values: np.ndarray, beta: float) -> tuple[float, float, float, float]:
    """Return the mean energy and the heat capacity, each with its standard error over draws."""
    squared = beta**2 * (values - values.mean()) ** 2
    n = np.sqrt(len(values))
    return values.mean(), values.std() / n, squared.mean(), squared.std() / n


def by_gaussian_units(rows: np.ndarray, beta: float) -> hm.RBM:
    """Return a model of all pairs; W starts at a multiple of 1, which couples no spins."""
    n = rows.shape[1]
    start = hm.RBM(hm.Ising(n), hm.Gaussian(n), np.sqrt(4 * beta) * np.eye(n))
    recipe = hm.Recipe(rate=0.01)
    settings = {"gradient": "pseudo-likelihood", "optimizer": recipe, "epochs": 20}
    return hm.fit(start, rows, key=jax.random.key(SEED), **settings).rbm


def by_ising_units(rows: np.ndarray, beta: float) -> hm.RBM:
    """Return a model of 2 n hidden spins, learned by PCD."""
    keys = jax.random.split(jax.random.key(SEED))
    n = rows.shape[1]
    start = hm.initialize(hm.Ising(n), hm.Ising(2 * n), rows[:10_000], key=keys[0])
    return hm.fit(start, rows, key=keys[1], epochs=100).rbm


FITS = {"Gaussian units": by_gaussian_units, "Ising units": by_ising_units}


def couplings_in_words(
    rbm: hm.RBM, bonds: np.ndarray, beta: float, around: np.ndarray | None
) -> str:
    j = hm.effective_couplings(rbm, units=bonds, around=around).values[:, 1, 1]
    return f"{j.mean():.4f} ({j.mean() / beta - 1:+.1%}, spread {j.std():.3f})"


def measured(length: int, beta: float, kind: str) -> str:
    bonds = hm.data.lattice_bonds((length, length))
    exact = hm.data.lattice_exact((length, length), beta)
    rows = hm.data.lattice_samples((length, length), beta, ROWS, sweeps=100, seed=SEED)
    rbm, seconds = timed(FITS[kind], rows, beta)
    alone = couplings_in_words(rbm, bonds, beta, None)
    around_rows = couplings_in_words(rbm, bonds, beta, rows[:200])
    draws = hm.sample(rbm, SAMPLES, key=jax.random.key(SEED + 1), steps=SWEEPS)
    e, e_error, c, c_error = with_error(energies(draws, bonds), beta)
    return (
        f"{length:>2} × {length:<2}  β {beta:.3f}  {kind}  J {alone}, around rows {around_rows}"
        f"  energy {e:.2f} ± {e_error:.2f} (exact {exact.energy:.2f})"
        f"  heat capacity {c:.1f} ± {c_error:.1f} (exact {exact.heat_capacity:.1f})"
        f"  {seconds:.0f} s"
    )


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]] or [8, 16]
    for length in sizes:
        for beta in BETAS:
            for kind in FITS:
                print(measured(length, beta, kind), flush=True)


if __name__ == "__main__":
    main()
