"""Classification by an RBM over (row, label): MNIST's test error with three objectives.

    python benchmarks/labels.py hybrid                  train on all 60,000 rows, test on 10,000
    python benchmarks/labels.py hybrid --validate       train on 50,000, judge on the last 10,000

`--share` is the weight of the generative part, and `--before` its epochs alone before the others.
The published figures are those of Larochelle & Bengio 2008: generative 3.39 %, discriminative
1.81 %, hybrid 1.28 %. Grey levels are used as they are, and the generative part is CD-1. Set
HARMONIUM_DATA to the folder of reference data.
"""

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from reference_data import grey_mnist
from reporting import parser_of

import harmonium as hm

PUBLISHED = {"generative": 3.39, "discriminative": 1.81, "hybrid": 1.28}
ROWS_AT_ONCE = 2_000


def labelled(part: str) -> tuple[np.ndarray, np.ndarray]:
    """Return MNIST's grey levels in [0, 1] with the label as the last column, and the labels."""
    grey, labels = grey_mnist(part)
    labels = labels.astype(int)
    return np.column_stack([grey / 255.0, labels]).astype(np.float32), labels


@eqx.filter_jit
def log_odds(rbm: hm.RBM, rows: jax.Array) -> jax.Array:
    """Return log p(label | row) of ten labels, less a constant."""
    with_label = rbm.visible.encode(rows.at[:, -1].set(0))
    inputs = rbm.inputs_to_h(with_label) - rbm.weights[784]

    def score(label: jax.Array) -> jax.Array:
        bias = rbm.visible.parts[1].bias[label]  # pyright: ignore[reportAttributeAccessIssue]
        return bias + rbm.hidden.cgf(inputs + rbm.weights[784 + label])

    return jax.lax.map(score, jnp.arange(10)).T


def error(rbm: hm.RBM, rows: np.ndarray, labels: np.ndarray) -> float:
    """Return the percentage of wrong labels."""
    parts = np.split(rows, range(ROWS_AT_ONCE, len(rows), ROWS_AT_ONCE))
    predictions = np.concatenate([np.asarray(log_odds(rbm, part)).argmax(1) for part in parts])
    return 100 * float((predictions != labels).mean())


def method(objective: str, weight: float) -> tuple[hm.gradients.AbstractGradient, float]:
    """Return the method of an objective, and its learning rate with momentum 0.9."""
    generative = hm.Contrastive(hm.Gibbs(1))
    if objective == "generative":
        return generative, 0.05
    if objective == "discriminative":
        return hm.Discriminative(), 0.5
    return hm.WeightedSum(hm.Discriminative(), generative, shares=(1.0, weight)), 0.5


def main() -> None:
    parser = parser_of(__doc__, hidden=1500, epochs=30, share=0.1, before=0, seed=0, validate=False)
    parser.add_argument("objective", choices=tuple(PUBLISHED))
    parser.add_argument("--rate", type=float, help="learning rate, with momentum 0.9")
    args = parser.parse_args()
    rows, labels = labelled("train")
    if args.validate:
        judged = rows[50_000:], labels[50_000:]
        rows = rows[:50_000]
    else:
        judged = labelled("test")
    key_start, key_run = jax.random.split(jax.random.key(args.seed))
    visible = hm.Mixed(hm.Bernoulli(784), hm.Potts(1, states=10))
    gradient, rate = method(args.objective, args.share)
    started = time.perf_counter()
    dataset = hm.Dataset(rows)
    curve = []

    def watch(report: hm.training.Report) -> None:
        if args.validate and report.metrics and report.epoch >= len(curve) + 1:
            curve.append(error(report.rbm, *judged))

    rbm = hm.initialize(visible, hm.Bernoulli(args.hidden), dataset, key=key_start)
    if args.before:
        generative, slow = method("generative", 1.0)
        settings = {"gradient": generative, "epochs": args.before, "batch_size": 100}
        recipe = hm.Recipe(rate=slow, momentum=0.5)
        key = jax.random.fold_in(key_run, 1)
        rbm = hm.fit(rbm, dataset, key=key, optimizer=recipe, **settings).rbm
        print(f"  before: {error(rbm, *judged):.2f} %", flush=True)
    settings = {"gradient": gradient, "epochs": args.epochs, "batch_size": 100}
    recipe = hm.Recipe(rate=args.rate or rate, momentum=0.9)
    fit = hm.fit(rbm, dataset, key=key_run, optimizer=recipe, callbacks=[watch], **settings)
    seconds = time.perf_counter() - started
    part = "validation" if args.validate else "test"
    print(
        f"{args.objective} ({gradient.title}), 784 + 10 × {args.hidden}, {args.epochs} epochs of"
        f" {len(rows):,} rows: {part} error {error(fit.rbm, *judged):.2f} %"
        f" (published {PUBLISHED[args.objective]} %), {seconds:.0f} s",
        flush=True,
    )
    if curve:
        print("  at each epoch:", *(f"{value:.2f}" for value in curve))


if __name__ == "__main__":
    main()
