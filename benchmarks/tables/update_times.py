"""The time of an update where cells are missing, beside that where none is.

    python benchmarks/tables/update_times.py

Tables: UCI Adult (`HARMONIUM_DATA`), scikit-learn's wine, and 2,000 rows of 784 binary columns.
Cells are removed at random. All times are medians of a few blocks of updates in one process.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

sys.path.append(str(Path(__file__).parents[1]))  # what all benchmarks share
from reference_data import reference
from reporting import parser_of

import harmonium as hm
from harmonium._base.numerics import whole_number
from harmonium.training.arguments import first_state, plan_run
from harmonium.training.chunks import advance

FRACTIONS = (0.0, 0.01, 0.1, 0.3, 0.6)
BLOCKS = 9  # of updates, in each of which the pace is measured
LONGEST = 0.3  # seconds of a block


def adult() -> tuple[Any, np.ndarray, int]:
    """Return the columns' layer and 5,000 rows of Adult, and a number of hidden units."""
    table = hm.open_source(str(reference("tables/adult.data")))
    return table.columns.layer, np.asarray(table.train[:5_000], np.float32), 64


def wine() -> tuple[Any, np.ndarray, int]:
    """Return 178 rows of 13 correlated numbers."""
    from sklearn.datasets import load_wine
    from sklearn.preprocessing import scale

    return hm.MultivariateGaussian(13), scale(load_wine().data).astype(np.float32), 16


def binary() -> tuple[Any, np.ndarray, int]:
    """Return 2,000 rows of 784 binary columns."""
    rng = np.random.default_rng(0)
    return hm.Bernoulli(784), (rng.random((2_000, 784)) < 0.2).astype(np.float32), 64


TABLES = {"adult": adult, "wine": wine, "binary": binary}


def milliseconds(layer: Any, rows: np.ndarray, hidden: int) -> float:
    """Return the median time of an update."""
    rbm = hm.initialize(layer, hm.Bernoulli(hidden), rows, key=jax.random.key(0))
    plan = plan_run(rbm, rows)
    key = jax.random.key(1)
    dataset = plan.dataset.padded()
    n = whole_number(len(plan.dataset))
    state = first_state(rbm, plan, key=key)
    updates = 0
    block = 1
    times = []
    while len(times) < BLOCKS:
        started = time.perf_counter()
        state = advance(plan.method, dataset, n, state, jnp.asarray(updates + block), key=key)
        jax.block_until_ready(state.rbm)
        seconds = time.perf_counter() - started
        updates += block
        if seconds > LONGEST / 3.0:
            times.append(1e3 * seconds / block)
        else:
            block *= 2
    return float(np.median(times[1:]))


def main() -> None:
    """Print a line for each table."""
    args = parser_of(__doc__, tables=",".join(TABLES)).parse_args()
    for name in args.tables.split(","):
        layer, rows, hidden = TABLES[name]()
        rows = np.where(np.isnan(rows), 0.0, rows).astype(np.float32)
        rng = np.random.default_rng(1)
        times = {}
        for fraction in FRACTIONS:
            is_gap = rng.random(rows.shape) < fraction
            incomplete = np.where(is_gap, np.nan, rows).astype(np.float32)
            times[f"{fraction:.0%}"] = milliseconds(layer, incomplete, hidden)
        words = (
            f"{fraction} missing {time:.3f} ms ({time / times['0%']:.2f}×)"
            for fraction, time in times.items()
        )
        print(f"{name}: {', '.join(words)}", flush=True)


if __name__ == "__main__":
    main()
