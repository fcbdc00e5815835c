"""Ising models on a square lattice: what an RBM recovers of a model whose couplings are known.

Configurations are drawn by clusters at several temperatures, below, at and above the critical
point. An RBM with Ising hidden units learns them without a penalty; its effective couplings between
neighbours are compared with β, the energy and heat capacity of its samples with exact values
(Kaufman 1949).

    python benchmarks/ising.py            # 8 × 8 and 16 × 16
    python benchmarks/ising.py 8          # one size
"""

import sys
import time

import jax
import numpy as np

import harmonium as hm

ROWS, SAMPLES, EPOCHS, SEED = 100_000, 4_000, 100, 0
BETAS = (0.35, 0.4406868, 0.55)  # above, at and below the critical temperature


def energies(s: np.ndarray, bonds: np.ndarray) -> np.ndarray:
    return -(s[:, bonds[:, 0]].astype(int) * s[:, bonds[:, 1]]).sum(1).astype(float)


def with_error(values: np.ndarray, beta: float) -> tuple[float, float, float, float]:
    """Return the mean energy and the heat capacity, each with its standard error over draws."""
    squared = beta**2 * (values - values.mean()) ** 2
    n = np.sqrt(len(values))
    return values.mean(), values.std() / n, squared.mean(), squared.std() / n


def measured(side: int, beta: float) -> str:
    bonds, exact = hm.lattice_bonds((side, side)), hm.lattice_exact((side, side), beta)
    rows = hm.lattice_samples((side, side), beta, ROWS, sweeps=100, seed=SEED)
    keys = jax.random.split(jax.random.key(SEED), 3)
    began = time.perf_counter()
    hidden = hm.Ising(2 * side * side)
    rbm = hm.initialize(hm.Ising(side * side), hidden, rows[:10_000], key=keys[0])
    fit = hm.fit(rbm, rows, key=keys[1], epochs=EPOCHS)
    seconds = time.perf_counter() - began
    told = []
    for around in (None, rows[:200]):
        terms = hm.effective_couplings(fit.rbm, units=bonds, around=around)
        j = terms.values[:, 1, 1]
        told.append(f"{j.mean():.4f} ({j.mean() / beta - 1:+.1%}, spread {j.std():.3f})")
    draws = hm.sample(fit.rbm, SAMPLES, key=keys[2], steps=2_000)
    e, e_error, c, c_error = with_error(energies(draws, bonds), beta)
    return (
        f"{side:>2} × {side:<2}  β {beta:.3f}  J {told[0]}, around rows {told[1]}"
        f"  energy {e:.2f} ± {e_error:.2f} (exact {exact.energy:.2f})"
        f"  heat capacity {c:.1f} ± {c_error:.1f} (exact {exact.heat_capacity:.1f})"
        f"  {seconds:.0f} s"
    )


def main() -> None:
    sizes = [int(text) for text in sys.argv[1:]] or [8, 16]
    for side in sizes:
        for beta in BETAS:
            print(measured(side, beta), flush=True)


if __name__ == "__main__":
    main()
