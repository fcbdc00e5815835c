"""MNIST: Keras networks that start from deep models, and from random weights.

    python benchmarks/fine_tuning.py [START ...] [--sizes 500,500,2000] [--machine 500,1000]
        [--passes 10] [--epochs 30] [--json docs/measured/fine_tuning.json]

START is "random" or "belief" for the hidden layers `sizes`, from random weights or from a deep
belief network, or "machine" for two layers `machine` of a deep Boltzmann machine. The deep models
are trained on all 60,000 grey training pictures, without labels: layer by layer, the machine then
as a whole. The first layer of its network has the mean-field means of the highest layer as
additional inputs (Salakhutdinov & Hinton 2009). All networks have the same optimiser and epochs,
and learn from 55,000 labelled pictures; the epoch is the one with the fewest errors on the other
5,000. The error is that of the 10,000 test pictures.
"""

import os
from typing import Any, NamedTuple

os.environ.setdefault("KERAS_BACKEND", "jax")

import jax
import keras
import numpy as np
from reference_data import PIXELS, grey_mnist
from reporting import head, parser_of, row, write_records
from timing import timed

import harmonium as hm
import harmonium.keras as hk

PARTS = ("train", "test")
HELD_OUT = 5_000
RATE = 3e-4
BATCH = 100
HALF = 0.5
RATE_OF_MACHINE = 0.02
KEY = jax.random.key(0)


class Start(NamedTuple):
    """The hidden layers of a network, and the pictures as its inputs.

    Attributes:
        layers: Keras layers.
        inputs: the inputs of training and of test pictures.
    """

    layers: list[Any]
    inputs: list[np.ndarray]


def from_random_weights(pictures: list[np.ndarray], args: Any) -> Start:
    """Return layers with Keras's random weights."""
    return Start([keras.layers.Dense(size, "sigmoid") for size in sizes_of(args.sizes)], pictures)


def from_belief_network(pictures: list[np.ndarray], args: Any) -> Start:
    """Return the hidden layers of a deep belief network."""
    layers = [hm.Bernoulli(size) for size in (PIXELS, *sizes_of(args.sizes))]
    dbn = hm.stack(layers, dataset_of(pictures), **settings_of(args))
    return Start([hk.RBM.from_harmonium(rbm).to_layer() for rbm in dbn.rbms], pictures)


def from_machine(pictures: list[np.ndarray], args: Any) -> Start:
    """Return the hidden layers of a deep Boltzmann machine, with its highest layer as inputs."""
    rows = dataset_of(pictures)
    first, second = map(hm.Bernoulli, sizes_of(args.machine))
    start = hm.initialize(hm.Bernoulli(PIXELS), first, rows, key=KEY)
    rbm = hm.deepen(hm.fit(start, rows, **settings_of(args)).rbm, second, key=KEY)
    method = hm.Marginal(hm.Persistent(hm.Gibbs(1), chains=200), rows=len(rows), mean_field=True)
    recipe = hm.Recipe(rate=RATE_OF_MACHINE)
    rbm = hm.fit(rbm, rows, gradient=method, optimizer=recipe, **settings_of(args)).rbm
    between = np.asarray(rbm.weights.blocks[1][0]).T
    of_second = np.asarray(rbm.parts[2].bias)
    weights = [(rbm.dense_weights, rbm.hidden.bias), (between, of_second)]
    layers = [keras.layers.Dense(len(bias), "sigmoid") for _, bias in weights]
    inputs = [np.hstack([rows, hm.features(rbm, rows >= HALF)]) for rows in pictures]
    for layer, (matrix, bias) in zip(layers, weights, strict=True):
        layer.build((None, len(matrix)))
        layer.set_weights([np.asarray(matrix), np.asarray(bias)])
    return Start(layers, inputs)


STARTS = {
    "random": from_random_weights,
    "belief": from_belief_network,
    "machine": from_machine,
}


def sizes_of(text: str) -> list[int]:
    """Return the numbers of units in a list such as "500,1000"."""
    return [int(size) for size in text.split(",")]


def dataset_of(pictures: list[np.ndarray]) -> hm.Dataset:
    """Return the training pictures, of which pixels are drawn from their grey levels."""
    return hm.Dataset(pictures[0], stochastic=True)


def settings_of(args: Any) -> dict[str, Any]:
    """Return the settings of all runs that train a deep model."""
    return {"key": KEY, "epochs": args.passes, "batch_size": BATCH}


def network(layers: list[Any], width: int) -> Any:
    """Return a classifier of these hidden layers, with this number of inputs."""
    model = keras.Sequential([keras.Input((width,)), *layers, keras.layers.Dense(10, "softmax")])
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
    options: dict[str, Any] = {"sizes": "500,500,2000", "machine": "500,1000"}
    options |= {"passes": 10, "epochs": 30, "json": ""}
    args = parser_of(__doc__, starts=STARTS, **options).parse_args()
    keras.utils.set_random_seed(0)
    sets = [grey_mnist(part) for part in PARTS]
    pictures = [rows.astype(np.float32) / 255.0 for rows, _ in sets]
    labels = [of_set for _, of_set in sets]
    print(head(["start", "hidden layers", "test error", "s"]))
    records = []
    for name in args.starts:
        start, seconds = timed(STARTS[name], pictures, args)
        model = network(start.layers, start.inputs[0].shape[1])
        train, test = zip(start.inputs, labels, strict=True)
        share, tuning = timed(error, model, train, test, args.epochs)
        sizes = [layer.units for layer in start.layers]
        spent = round(seconds + tuning)
        record = {"start": name, "sizes": sizes, "passes": args.passes, "epochs": args.epochs}
        records.append(record | {"error": round(share, 4), "seconds": spent})
        print(row([name, str(sizes), f"{100 * share:.2f} %", str(spent)]), flush=True)
    if args.json:
        write_records(args.json, __file__, records, ("jax", "keras"))


if __name__ == "__main__":
    main()
