"""Deep models beside RBMs of as many weights, on binary sets: where does depth help?

    python benchmarks/deep.py [SET[:ROWS] ...] [--rows 500] [--seconds 60]
        [--json docs/measured/deep.json]

A set is one of those of benchmarks/density.py. Each is modelled by the RBM of a default run, by a
deep Boltzmann machine with two hidden layers of one size, and by a deep belief network of the same
layers, all with about as many weights. All runs have the default settings; a tenth of the training
rows is held out. Scores are mean log-likelihoods of test rows, the same for all models; that of the
deep belief network is a lower bound.
"""

import math
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
from density import rows_of
from reporting import head, parser_of, rounded, row, with_interval, write_records
from timing import timed

import harmonium as hm
from harmonium.data.splits import held_out_rows, usual_fraction
from harmonium.runs.prepare import usual_hidden

SETS = ("nltcs", "plants", "mushrooms", "dna")


def hidden_of_two_layers(columns: int, hidden: int) -> int:
    """Return the size a of two hidden layers for which n a + a² is nearest to n h."""
    return round((math.sqrt(columns**2 + 4 * columns * hidden) - columns) / 2)


def scored(model: Any, rows: np.ndarray, seconds: float) -> dict[str, Any]:
    """Return the mean log-likelihood of rows as a record."""
    score, scoring = timed(hm.log_likelihood, model, rows, key=jax.random.key(1), seconds=seconds)
    return rounded(score) | {"scoring": round(scoring)}


def measured(name: str, train: np.ndarray, test: np.ndarray, seconds: float) -> dict[str, Any]:
    """Return the scores of all models of a set."""
    columns = train.shape[1]
    hidden = usual_hidden(len(train), columns)
    each = hidden_of_two_layers(columns, hidden)
    key_start, key = jax.random.split(jax.random.key(0))
    fraction = usual_fraction(len(train), can_cross_validate=False)
    train_rows, held_rows = held_out_rows(len(train), fraction, seed=0)
    learned = train[train_rows]
    held = train[held_rows]
    record: dict[str, Any] = {"set": name, "rows": len(train), "columns": columns}
    layers = [hm.Bernoulli(size) for size in (columns, each, each)]
    starts = {
        "RBM": hm.initialize(hm.Bernoulli(columns), hm.Bernoulli(hidden), learned, key=key_start),
        "DBM": hm.deep(layers, learned, key=key_start),
    }
    for title, start in starts.items():
        fit, training = timed(hm.fit, start, learned, key=key, validation=held)
        sizes = {"hidden": [layer.n_units for layer in fit.rbm.parts[1:]]}
        record[title] = sizes | scored(fit.rbm, test, seconds) | {"seconds": round(training)}
        print(title, record[title], fit.message, fit.notes, flush=True)
    dbn, training = timed(hm.stack, layers, learned, key=key)
    bound = dbn.log_likelihood_bound(test, key=key, draws=100, seconds=seconds)
    ends = {end: round(getattr(bound, end), 2) for end in ("value", "low", "high")}
    record["DBN"] = {"hidden": [each, each]} | ends | {"seconds": round(training)}
    print("DBN", record["DBN"], flush=True)
    return record


def main() -> None:
    """Print a table in Markdown, and write its figures."""
    parser = parser_of(__doc__, sets=SETS, rows=500, seconds=60.0, json="")
    args = parser.parse_args()
    titles = ["set", "RBM", "deep Boltzmann machine", "deep belief network (bound)"]
    print(head(titles))
    records = []
    for item in args.sets:
        name, _, count = item.partition(":")
        train, test = rows_of(name, int(count) if count else None)
        chosen = np.random.default_rng(0).permutation(len(test))[: args.rows]
        record = measured(name, train, test[chosen], args.seconds)
        records.append(record)
        cells = [with_interval(SimpleNamespace(**record[name])) for name in ("RBM", "DBM", "DBN")]
        print(row([item, *cells]), flush=True)
    if args.json:
        write_records(args.json, __file__, records)


if __name__ == "__main__":
    main()
