"""RBMs with shared filters beside RBMs with dense weights, on images and on an alignment.

    python benchmarks/filters.py images [--updates 5000] [--rows 300] [--seconds 120]
        [--picture docs/pictures/filters.png]
    python benchmarks/filters.py alignment [--updates 5000] [--rows 300] [--seconds 120]
        [--json docs/measured/filters.json]

--picture draws the filters of the first model of images.

* `images`: MNIST, 28 × 28 pixels, binarised once (Salakhutdinov & Murray 2008).
* `alignment`: response regulators (PF00072), 112 sites of 21 states, weighted sequences.

All models of a set are trained with the default rate and the same number of updates. Scores are
mean log-likelihoods of test rows. The parameters are those of W; each hidden unit also has a bias.
"""

import math
from pathlib import Path
from typing import Any

import jax
import numpy as np
from reference_data import binarised_mnist, reference
from reporting import head, parser_of, rounded, row, write_records
from timing import timed

import harmonium as hm
from harmonium import plot
from harmonium.plot.base import save_figure

BATCH = 200
DENSE = {"images": (2, 16, 64), "alignment": (10, 50, 200)}  # numbers of hidden units
# Numbers of filters, sizes of windows, and strides.
FILTERS = {
    "images": ((16, 7, 2), (64, 7, 2), (64, 11, 3)),
    "alignment": ((16, 8, 1), (16, 16, 4), (64, 16, 4)),
}


def images() -> tuple[hm.layers.AbstractLayer, tuple[int, ...], Any, np.ndarray]:
    """Return a visible layer, the grid of its units, training rows and test rows."""
    train = np.concatenate([binarised_mnist("train"), binarised_mnist("valid")])
    return hm.Bernoulli(784), (28, 28), train, binarised_mnist("test")


def alignment() -> tuple[hm.layers.AbstractLayer, tuple[int, ...], Any, np.ndarray]:
    """Return a visible layer, the grid of its units, training rows and test rows."""
    train = np.load(reference("proteins/pf00072_train0.6.npz"))["x"]
    test = np.load(reference("proteins/pf00072_test0.4.npz"))["x"]
    weights = hm.sequences.neighbours(train).weights
    sites = train.shape[1]
    return hm.Potts(sites, states=21), (sites,), hm.Dataset(train, weights), test


SETS = {"images": images, "alignment": alignment}


def measured(
    name: str, visible: Any, hidden: int, like: Any, train: Any, test: np.ndarray, args: Any
) -> tuple[dict[str, Any], hm.RBM]:
    """Train a model; return its record and the model."""
    key = jax.random.key(0)
    train = hm.Dataset.of(train)
    start = hm.initialize(visible, hm.Bernoulli(hidden), train, key=key, pattern=like)
    epochs = max(1, round(args.updates / math.ceil(len(train) / BATCH)))
    fit, seconds = timed(hm.fit, start, train, key=key, epochs=epochs)
    score = hm.log_likelihood(fit.rbm, test, key=key, seconds=args.seconds)
    count = sum(leaf.size for leaf in jax.tree.leaves(start.weights))
    about = {
        "model": name,
        "hidden": hidden,
        "parameters": count,
        "updates": int(fit.state.updates),
    }
    return about | rounded(score) | {"seconds": round(seconds)}, fit.rbm


def main() -> None:
    """Print a table in Markdown, and write its figures."""
    settings: dict[str, Any] = {"updates": 5_000, "rows": 300, "seconds": 120.0}
    parser = parser_of(__doc__, sets=SETS, json="", picture="", **settings)
    args = parser.parse_args()
    print(head(["set", "weights", "parameters", "hidden units", "log-likelihood", "s"]))
    records = []
    for name in args.sets:
        visible, grid, train, test = SETS[name]()
        test = test[np.random.default_rng(0).permutation(len(test))[: args.rows]]
        channels = visible.size // math.prod(grid)
        models: list[tuple[str, int, Any]] = [(f"dense {n}", n, None) for n in DENSE[name]]
        for count, window, stride in FILTERS[name]:
            shape = (count, *(window,) * len(grid), channels)
            like = hm.weights.ConvolutionalWeights(np.zeros(shape), grid, stride=stride)
            title = f"{count} filters of {' × '.join([str(window)] * len(grid))}, stride {stride}"
            models.append((title, like.shape[1], like))
        for title, hidden, like in models:
            of_model, rbm = measured(title, visible, hidden, like, train, test, args)
            record = {"set": name} | of_model
            records.append(record)
            if args.picture and title == models[len(DENSE[name])][0]:
                save_figure(plot.filters(rbm), Path(args.picture))
            cells = [name, title, f"{record['parameters']:,}", f"{hidden:,}"]
            print(row([*cells, str(record["value"]), str(record["seconds"])]), record, flush=True)
    if args.json:
        write_records(args.json, __file__, records)


if __name__ == "__main__":
    main()
