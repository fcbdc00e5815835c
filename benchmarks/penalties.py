"""Exact log-likelihoods of models trained with and without penalties, and their weights at 0.

    python benchmarks/penalties.py [--epochs 500] [--json docs/measured/penalties.json]

The rows, the model and the seed are those of docs/practice.md: binarised digits, of which 1,200 are
for training and the others are held out, and 16 hidden units, trained by PCD-1. `--json` writes all
figures to a file.
"""

from typing import Any

import jax
from reporting import head, parser_of, row, signed, write_records

import harmonium as hm

TRAINING_ROWS = 1_200
HIDDEN = 16
PENALTIES = {
    "none": (),
    "L1(3e-4)": (hm.L1(3e-4),),
    "SquaredL1(3e-5)": (hm.SquaredL1(3e-5),),
    "L1(1e-3)": (hm.L1(1e-3),),
}


def measured(name: str, epochs: int) -> dict[str, Any]:
    """Return the share of weights at 0 and the log-likelihoods of a model with a penalty."""
    rows = hm.open_source("digits").train >= 8
    train = rows[:TRAINING_ROWS]
    held_out = rows[TRAINING_ROWS:]
    key = jax.random.key(0)
    start = hm.initialize(hm.Bernoulli(rows.shape[1]), hm.Bernoulli(HIDDEN), train, key=key)
    recipe = hm.Recipe(penalties=PENALTIES[name])
    rbm = hm.fit(start, train, key=key, optimizer=recipe, epochs=epochs).rbm
    return {
        "penalty": name,
        "weights at 0": round(float((rbm.weights == 0).mean()), 3),
        "training": round(hm.log_likelihood(rbm, train).value, 2),
        "held out": round(hm.log_likelihood(rbm, held_out).value, 2),
    }


def cells_of(record: dict[str, Any]) -> list[str]:
    """Return a line of the table."""
    zeros = record["weights at 0"]
    return [
        record["penalty"] if record["penalty"] == "none" else f"`{record['penalty']}`",
        f"{100 * zeros:.0f} %" if zeros else "0",
        signed(record["training"], 2),
        signed(record["held out"], 2),
    ]


def main() -> None:
    """Print a table in Markdown, and write its figures."""
    args = parser_of(__doc__, epochs=500, json="").parse_args()
    print(head(["penalty", "weights at 0", "training, nats per row", "held out, nats per row"]))
    records = []
    for name in PENALTIES:
        records.append(measured(name, args.epochs))
        print(row(cells_of(records[-1])), flush=True)
        write_records(args.json, "benchmarks/penalties.py", records)


if __name__ == "__main__":
    main()
