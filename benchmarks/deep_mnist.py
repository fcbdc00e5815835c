"""A deep Boltzmann machine of MNIST: kept states of the latent units against their mean field.

    python benchmarks/deep_mnist.py [POSITIVE ...] [--epochs 33] [--rows 60] [--seconds 90]
        [--json docs/measured/deep_mnist.json]

784–500–1000 units, MNIST binarised once; POSITIVE is the positive phase: "kept" or "mean-field".
Scores are the log-likelihood of some test rows, its mean-field bound, and the bound of all test
rows, whose log Z has the same interval.
"""

from typing import Any

import jax
import numpy as np
from reference_data import binarised_mnist
from reporting import head, parser_of, rounded, row, signed, with_interval, write_records
from timing import timed

import harmonium as hm
from harmonium.data.parts import in_parts
from harmonium.likelihood.missing.annealed import mean_field_bounds

POSITIVE = {"kept": False, "mean-field": True}
SIZES = (784, 500, 1000)
RATE = 0.05
SECONDS_OF_LOG_Z = 60


def bounds_of(rbm: hm.RBM, rows: np.ndarray) -> np.ndarray:
    """Return the mean-field bound on log p + log Z of each row."""

    def of_part(part: Any, _: int) -> Any:
        return mean_field_bounds(rbm, rbm.visible.encode_seen(part))

    return -np.asarray(in_parts(of_part, rows, rbm.widest))


def main() -> None:
    """Print a table in Markdown, and write its figures."""
    settings: dict[str, Any] = {"epochs": 33, "rows": 60, "seconds": 90.0}
    args = parser_of(__doc__, positive=POSITIVE, json="", **settings).parse_args()
    train = np.concatenate([binarised_mnist("train"), binarised_mnist("valid")])
    test = binarised_mnist("test")
    test = test[np.random.default_rng(0).permutation(len(test))].astype(np.float32)
    key = jax.random.key(0)
    print(head(["positive phase", "updates", "s", "log-likelihood", "bound", "of all rows"]))
    records = []
    for name in args.positive:
        method = hm.Marginal(
            hm.Persistent(hm.Gibbs(1), chains=200),
            missing=SIZES[-1],
            rows=len(train),
            mean_field=POSITIVE[name],
        )
        start = hm.deep([hm.Bernoulli(size) for size in SIZES], train, key=key)
        optimizer = hm.Recipe(rate=RATE)
        fit, seconds = timed(
            hm.fit, start, train, key=key, epochs=args.epochs, gradient=method, optimizer=optimizer
        )
        log_z = hm.log_z(fit.rbm, key=key, seconds=SECONDS_OF_LOG_Z)
        few = test[: args.rows]
        score = hm.log_likelihood(fit.rbm, few, key=key, log_z=log_z, seconds=args.seconds)
        bound, of_all = (
            float(bounds_of(fit.rbm, rows).mean()) - log_z.value for rows in (few, test)
        )
        record = {"positive": name, "updates": int(fit.state.updates), "seconds": round(seconds)}
        record |= {"bound": round(bound, 2), "bound of all": round(of_all, 2)}
        records.append(record | rounded(score))
        cells = [name, f"{record['updates']:,}", str(record["seconds"]), with_interval(score)]
        print(row([*cells, signed(bound, 2), signed(of_all, 2)]), flush=True)
    if args.json:
        write_records(args.json, __file__, records)


if __name__ == "__main__":
    main()
