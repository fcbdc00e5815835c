"""MNIST: Keras networks that start from a deep belief network, and from random weights.

    python benchmarks/fine_tuning.py [--sizes 500,500,2000] [--passes 10] [--epochs 30]
        [--json docs/measured/fine_tuning.json]

The deep belief network is trained greedily on all 60,000 grey training pictures, without labels.
Both networks have the same layers, optimiser and epochs, and learn from 55,000 labelled pictures;
the epoch is the one with the fewest errors on the other 5,000. The error is that of the 10,000 test
pictures.
"""

import os
from typing import Any

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import keras
import numpy as np
from reference_data import grey_mnist
from reporting import head, parser_of, row, write_records
from timing import timed

import harmonium as hm
import harmonium.keras as hk

PARTS = ("train", "test")
HELD_OUT = 5_000
RATE = 3e-4
BATCH = 100


def network(layers: list[Any]) -> Any:
    """Return a classifier of these hidden layers."""
    model = keras.Sequential([keras.Input((784,)), *layers, keras.layers.Dense(10, "softmax")])
    optimizer = keras.optimizers.Adam(RATE)
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def error(model: Any, train: tuple, test: tuple, epochs: int) -> float:
    """Return the share of test pictures that the model of the best epoch gets wrong."""
    rows, labels = train
    best = keras.callbacks.EarlyStopping(
        "val_accuracy", patience=epochs, restore_best_weights=True, mode="max"
    )
    model.fit(
        rows[:-HELD_OUT],
        labels[:-HELD_OUT],
        validation_data=(rows[-HELD_OUT:], labels[-HELD_OUT:]),
        epochs=epochs,
        batch_size=BATCH,
        callbacks=[best],
        verbose=0,
    )
    guesses = model.predict(test[0], verbose=0).argmax(1)
    return float((guesses != test[1]).mean())


def main() -> None:
    """Print a table in Markdown, and write its figures."""
    parser = parser_of(__doc__, sizes="500,500,2000", passes=10, epochs=30, json="")
    args = parser.parse_args()
    sizes = [int(size) for size in args.sizes.split(",")]
    keras.utils.set_random_seed(0)
    train, test = [
        (rows.astype(np.float32) / 255.0, labels) for rows, labels in map(grey_mnist, PARTS)
    ]
    rows = hm.Dataset(train[0], stochastic=True)
    layers = [hm.Bernoulli(size) for size in (784, *sizes)]
    dbn, seconds = timed(
        hm.stack, layers, rows, key=jax.random.key(0), epochs=args.passes, batch_size=BATCH
    )
    starts = {
        "random weights": [keras.layers.Dense(size, "sigmoid") for size in sizes],
        "deep belief network": [hk.RBM.from_harmonium(rbm).to_layer() for rbm in dbn.rbms],
    }
    print(head(["start", "test error", "s"]))
    records = []
    for name, of_start in starts.items():
        share, tuning = timed(error, network(of_start), train, test, args.epochs)
        spent = tuning + (seconds if name == "deep belief network" else 0.0)
        records.append(
            {"start": name, "sizes": sizes, "error": round(share, 4), "seconds": round(spent)}
        )
        print(row([name, f"{100 * share:.2f} %", f"{spent:.0f}"]), flush=True)
    if args.json:
        write_records(args.json, __file__, records, ("jax", "keras"))


if __name__ == "__main__":
    main()
