"""Deep Boltzmann machines of MNIST: kept states, mean field, and a start from a trained RBM.

    python benchmarks/deep_mnist.py [RUN ...] [--epochs 33] [--below 83] [--rows 60] [--seconds 90]
        [--seconds_of_log_z 60] [--json docs/measured/deep_mnist.json]

784–500–1000 units; pixels are drawn from their grey levels at each visit, and test rows are those
of the fixed binarisation. RUN is "kept" or "mean-field", the positive phase of a machine that
starts with small random weights, or one of two greedy starts, which go on with the mean field:

* "deepened": an RBM of 500 hidden units is trained for `below` epochs, with an L1 penalty, and gets
  a second hidden layer with small random weights.
* "doubled": an RBM for each pair of layers is trained for `below` epochs, with two copies of the
  layer that has no other neighbour in the deep machine (Salakhutdinov & Hinton 2009), whose weights
  are then averaged.

Scores are the log-likelihood of some test rows, its mean-field bound, and the bound of all test
rows, whose log Z has the same interval.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import numpy as np
from reference_data import binarised_mnist, grey_mnist
from reporting import head, parser_of, rounded, row, signed, with_interval, write_records
from timing import timed

import harmonium as hm
from harmonium.data.parts import in_parts
from harmonium.likelihood.missing.both_ways import bounds_of_rows

SIZES = (784, 500, 1000)
BATCH = 200
PENALTIES = (hm.L1(5e-5),)  # as in docs/results.md
RATE_BELOW = 0.4
KEY = jax.random.key(0)


def trained(visible: int, hidden: int, rows: hm.Dataset, epochs: int, penalties: tuple) -> hm.RBM:
    """Return a trained RBM with these numbers of units."""
    start = hm.initialize(hm.Bernoulli(visible), hm.Bernoulli(hidden), rows, key=KEY)
    recipe = hm.Recipe(rate=RATE_BELOW, penalties=penalties)
    return hm.fit(start, rows, key=KEY, epochs=epochs, batch_size=BATCH, optimizer=recipe).rbm


def random_start(rows: hm.Dataset, epochs: int) -> hm.RBM:
    """Return a machine with small random weights."""
    return hm.deep([hm.Bernoulli(size) for size in SIZES], rows, key=KEY)


def deepened(rows: hm.Dataset, epochs: int) -> hm.RBM:
    """Return a trained RBM with another layer."""
    rbm = trained(*SIZES[:2], rows, epochs, PENALTIES)
    return hm.deepen(rbm, hm.Bernoulli(SIZES[2]), key=KEY)


def doubled(rows: hm.Dataset, epochs: int) -> hm.RBM:
    """Return a machine with the weights of two RBMs, trained with doubled inputs."""
    size, middle, top = SIZES
    pictures = rows.values(0, len(rows))
    twice = np.hstack([pictures, pictures])
    below = trained(2 * size, middle, hm.Dataset(twice, stochastic=True), epochs, ())
    means = in_parts(lambda part, _: below.mean_h_from_v(part), twice, below.widest)
    above = trained(middle, 2 * top, hm.Dataset(means, stochastic=True), epochs, ())
    first = np.asarray(below.weights).reshape(2, size, middle).mean(0)
    second = np.asarray(above.weights).reshape(middle, 2, top).mean(1)
    biases = (
        np.asarray(below.visible.bias).reshape(2, size).mean(0),
        (np.asarray(below.hidden.bias) + np.asarray(above.visible.bias)) / 2,
        np.asarray(above.hidden.bias).reshape(2, top).mean(0),
    )
    parts = [hm.Bernoulli(len(bias), bias) for bias in biases]
    weights = hm.weights.BlockWeights([[first], [second.T]])
    return hm.RBM(hm.Mixed(parts[0], parts[2], latent=1), parts[1], weights)


class Run(NamedTuple):
    """How a machine is trained.

    Attributes:
        start: a function of the rows and the number of epochs, which returns the machine to start
            from.
        mean_field: whether the positive phase is the mean field, or else kept states.
        recipe: the optimiser.
    """

    start: Callable[[hm.Dataset, int], hm.RBM]
    mean_field: bool = True
    recipe: Any = hm.Recipe(rate=0.05)


RUNS = {
    "kept": Run(random_start, mean_field=False),
    "mean-field": Run(random_start),
    "doubled": Run(doubled),
    "deepened": Run(deepened, recipe=hm.Recipe(rate=0.02, penalties=PENALTIES)),
}


def main() -> None:
    """Print a table in Markdown, and write its figures."""
    settings: dict[str, Any] = {"epochs": 33, "below": 83, "rows": 60, "seconds": 90.0}
    settings |= {"seconds_of_log_z": 60.0, "json": ""}
    args = parser_of(__doc__, runs=RUNS, **settings).parse_args()
    train = hm.Dataset(grey_mnist()[0].astype(np.float32) / 255.0, stochastic=True)
    test = binarised_mnist("test")
    test = test[np.random.default_rng(0).permutation(len(test))].astype(np.float32)
    few = test[: args.rows]
    print(head(["run", "updates", "s", "log-likelihood", "bound", "of all rows"]))
    records = []
    for name in args.runs:
        run = RUNS[name]
        start, before = timed(run.start, train, args.below)
        fit, seconds = timed(
            hm.fit,
            start,
            train,
            key=KEY,
            epochs=args.epochs,
            batch_size=BATCH,
            gradient=hm.Marginal(
                hm.Persistent(hm.Gibbs(1), chains=200),
                missing=SIZES[-1],
                rows=len(train),
                mean_field=run.mean_field,
            ),
            optimizer=run.recipe,
        )
        log_z = hm.log_z(fit.rbm, key=KEY, seconds=args.seconds_of_log_z)
        score = hm.log_likelihood(fit.rbm, few, key=KEY, log_z=log_z, seconds=args.seconds)
        bounds = -bounds_of_rows(fit.rbm, test) - log_z.value
        bound = float(bounds[: args.rows].mean())
        of_all = float(bounds.mean())
        record = {"run": name, "updates": int(fit.state.updates), "seconds": round(seconds)}
        if run.start is not random_start:
            record |= {"epochs below": args.below, "seconds below": round(before)}
        record |= {"bound": round(bound, 2), "bound of all": round(of_all, 2)}
        record |= {"log Z below": round(log_z.value - log_z.low, 2)}
        record |= {"log Z above": round(log_z.high - log_z.value, 2)}
        records.append(record | rounded(score))
        cells = [name, f"{record['updates']:,}", str(record["seconds"]), with_interval(score)]
        print(row([*cells, signed(bound, 2), signed(of_all, 2)]), flush=True)
    if args.json:
        write_records(args.json, __file__, records)


if __name__ == "__main__":
    main()
