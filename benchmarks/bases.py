"""Models that start from a tree of dependences, beside the same ones of independent units.

    python benchmarks/bases.py [SET ...] [--seconds 60] [--runs 1]

A set is one of the binary sets in the folder that HARMONIUM_DATA names; "words", rows drawn from a
topic model; "digits", scikit-learn's at a threshold of 7; "lattice", 2,000 configurations of the
Ising model on 8 × 8 sites at β = 0.35; or one of binary_sources.py.

Both models have 64 Bernoulli hidden units and default runs, a tenth of the training rows held out.
The tree is that of Chow & Liu 1968, of the rows that are learned from (`hm.data.dependence_tree`),
and its couplings are learned on.

For each model: the test log-likelihood with its interval, the seconds that log Z took, the
milliseconds of an update, and the relaxation time of Gibbs chains, in sweeps.
"""

import sys

import binary_sources
import jax
import numpy as np
from density import rows_of
from rates import digits, divided
from reporting import head, parser_of, row, unless_converged, with_interval
from timing import timed
from trees import independent

import harmonium as hm
from harmonium.data.splits import held_out_rows

SETS = ("nltcs", "plants", "adult", "mushrooms", "dna", "words", "digits", "lattice")
HIDDEN = 64


def parts_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return training and test rows."""
    if name == "digits":
        return digits(spins=False)[1:]
    if name == "lattice":
        spins = hm.data.lattice_samples((8, 8), 0.35, 2_500, seed=0)
        return divided((spins > 0).astype(np.uint8))
    if name in binary_sources.BINARY_SETS:
        parts = binary_sources.parts_of(name)
        return parts or sys.exit(f"{name}: expected its package to be installed")
    return rows_of(name, None)


def measured(
    visible: hm.layers.AbstractLayer,
    rows: tuple[np.ndarray, np.ndarray, np.ndarray],
    seed: int,
    seconds: float,
) -> list[str]:
    """Return the cells of a model of such visible units, after a default run."""
    train, held, test = rows
    key_start, key = jax.random.split(jax.random.key(seed))
    rbm = hm.initialize(visible, hm.Bernoulli(HIDDEN), train, key=key_start)
    fit, training = timed(hm.fit, rbm, train, key=key, validation=held)
    print(f"  {visible}: {fit.message}; {'; '.join(fit.notes)}", file=sys.stderr)
    score, scoring = timed(hm.log_likelihood, fit.rbm, test, key=key, seconds=seconds)
    mixing = hm.mixing(fit.rbm, key=key, seconds=seconds)
    relaxation = f"{mixing.relaxation:.0f}"
    if not mixing.resolved:
        relaxation = f"> {relaxation}"
    return [
        with_interval(score) + unless_converged(score),
        f"{scoring:.0f}",
        f"{1e3 * training / int(fit.state.updates):.2f}",
        relaxation,
    ]


def main() -> None:
    """Print a table in Markdown."""
    args = parser_of(__doc__, sets=SETS, seconds=60.0, runs=1).parse_args()
    kinds = ("independent", "tree")
    about = ("test nats", "s of log Z", "ms an update", "relaxation")
    print(head(["rows", "by themselves", *(f"{k}: {a}" for k in kinds for a in about)]), flush=True)
    for name in args.sets:
        train, test = parts_of(name)
        columns = train.shape[1]
        train_rows, held_rows = held_out_rows(len(train), 0.1, seed=0)
        rows = (train[train_rows], train[held_rows], test)
        tree = hm.Tree(columns, hm.data.dependence_tree(rows[0]))
        both = f"{independent(train, test):.2f}, {hm.analysis.tree_log_likelihood(train, test):.2f}"
        for seed in range(args.runs):
            cells = [f"{name}: {len(train):,} × {columns}", both]
            for visible in (hm.Bernoulli(columns), tree):
                cells += measured(visible, rows, seed, args.seconds)
            print(row(cells), flush=True)


if __name__ == "__main__":
    main()
