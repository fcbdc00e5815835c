"""Default runs on seventeen further sets of rows of 0 and 1, beside the obvious and exact models.

    python benchmarks/obvious.py [SET ...] [--seconds 30] [--seeds 1]
        [--json docs/measured/obvious.json]

The sets are those of binary_sources.py; a quarter of the rows is kept for the test, and it alone
scores. The models are independent columns; the tree of Chow & Liu 1968, with the links that
cross-validation keeps; a mixture of products, whose number of classes and prior are chosen by
held-out rows (tables/peers.py); and `harmonium train FILE` without any option. For each: test nats
a row, and for ours what it has above the best of the others *on the test rows*, with the 95 %
interval of the difference, in which that of log Z is contained. The seconds are those of the
command, which scores its training rows too.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
from binary_sources import BINARY_SETS, SET_ASIDE, parts_of
from command import trained
from reporting import (
    head,
    parser_of,
    rounded,
    row,
    unless_converged,
    with_interval,
    with_minus,
    write_records,
)
from timing import timed

import harmonium as hm

sys.path.append(str(Path(__file__).parent / "tables"))
from peers import chosen_mixture, independent

SURE = 1.96  # standard errors on either side of a 95 % interval


def of_bases(train: np.ndarray, test: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Return log p of the test rows under the exact models."""
    states = (2,) * train.shape[1]
    mixture, _ = chosen_mixture(train, states, seed)
    return {
        "independent": independent(train, states)(test),
        "tree": hm.analysis.tree_log_p(train, test),
        "mixture": mixture.log_p(test),
    }


def default_run(train: np.ndarray) -> tuple[hm.RBM, str]:
    """Return the model of the run that the command makes of a file of rows, and what it says."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rows.npy")
        out = Path(folder, "run")
        np.save(source, train)
        summary = trained(source, out)
        return hm.load(out), "; ".join([summary["message"], *summary["notes"]])


def measured(name: str, seed: int, args: argparse.Namespace) -> dict[str, Any] | None:
    """Return the scores of a set, None for one that is left out."""
    parts = parts_of(name, seed)
    if parts is None:
        return None
    train, test = parts
    bases = of_bases(train, test, seed)
    (rbm, message), seconds = timed(default_run, train)
    score = hm.log_likelihood(rbm, test, key=jax.random.key(1), seconds=args.seconds)
    print(f"  {name}: {rbm}, {message}", file=sys.stderr, flush=True)
    best = max(bases, key=lambda base: bases[base].mean())
    log_p = -np.asarray(hm.free_energies(rbm, test), float) - score.log_z.value
    gains = log_p - bases[best]
    margin = SURE * gains.std(ddof=1) / np.sqrt(len(gains))
    low = gains.mean() - margin - (score.log_z.high - score.log_z.value)
    high = gains.mean() + margin + (score.log_z.value - score.log_z.low)
    of_base = {base: round(float(log_p.mean()), 2) for base, log_p in bases.items()}
    above = {"value": gains.mean(), "low": low, "high": high}
    record = {"set": name, "rows": len(train), "columns": train.shape[1]} | of_base
    record |= {"default": rounded(score), "seconds": round(seconds)}
    return record | {"above": {end: round(float(value), 2) for end, value in above.items()}}


def cells_of(record: dict[str, Any]) -> list[str]:
    """Return a line of the table."""
    name = record["set"]
    title = f"*{name}*" if name in SET_ASIDE else name
    score = SimpleNamespace(**record["default"])
    above = "{value:+.2f} [{low:+.2f}, {high:+.2f}]".format(**record["above"])
    return [
        f"{title}: {record['rows']:,} × {record['columns']}",
        *(f"{record[base]:.2f}" for base in ("independent", "tree", "mixture")),
        with_interval(score) + unless_converged(score),
        above,
        f"{record['seconds']}",
    ]


def main() -> None:
    """Print a table in Markdown; sets that were set aside are in italics."""
    args = parser_of(__doc__, sets=[*BINARY_SETS], seconds=30.0, seeds=1, json="").parse_args()
    titles = ["rows", "independent", "tree", "mixture", "default", "above the best", "s"]
    print(head(titles), flush=True)
    records = []
    for name in args.sets:
        for seed in range(args.seeds):
            record = measured(name, seed, args)
            if record is not None:
                records.append(record)
                print(with_minus(row(cells_of(record))), flush=True)
                write_records(args.json, "benchmarks/obvious.py", records)


if __name__ == "__main__":
    main()
