"""Accuracy of log Z on reference models and trained ones, by annealing and by enumeration.

    HARMONIUM_DATA=... python benchmarks/likelihood.py sm08 mnist exact centred verdict pseudo

Each part prints its results and the time it took. `verdict` prints equilibrium reports, `pseudo`
the pseudo-likelihood; `coverage.py` in this folder measures the coverage of the intervals. MNIST is
read from the folder that HARMONIUM_DATA names. A model that takes minutes to train is stored in
runs/likelihood and used again.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
import optax
from reference_data import binarised_mnist, grey_mnist, reference, zeros_and_ones
from reporting import parser_of
from timing import timed

import harmonium as hm

MODELS = Path("runs/likelihood")


def stored_or_trained(name: str, train: Callable[[], hm.RBM]) -> hm.RBM:
    """Load a stored model, or train and store it."""
    path = MODELS / f"{name}.safetensors"
    if not path.is_file():
        MODELS.mkdir(parents=True, exist_ok=True)
        rbm, seconds = timed(train)
        hm.save(rbm, path)
        print(f"  trained {name} in {seconds:.0f} s")
    return hm.load(path)


def fitted(rows: np.ndarray | hm.Dataset, visible: int, hidden: int, **settings) -> hm.training.Fit:
    key = jax.random.key(0)
    start = hm.initialize(hm.Bernoulli(visible), hm.Bernoulli(hidden), rows, key=key)
    return hm.fit(start, rows, key=key, **settings)


def report(score: hm.LogLikelihood, seconds: float) -> None:
    z = score.log_z
    print(f"  {score}\n  {z}\n  gap {z.gap:+.3f}, ess {z.ess:.0f}, {seconds:.0f} s. {z.message}")


def scores(rbm: hm.RBM, rows: np.ndarray, seeds: int = 3, **settings) -> None:
    for seed in range(seeds):
        key = jax.random.key(seed)
        report(*timed(hm.log_likelihood, rbm, rows, key=key, **settings))


def sm08() -> None:
    """Salakhutdinov & Murray's CD25(500): published log Z 451.28, test −86.34."""
    scores(salakhutdinov(), binarised_mnist("test"), seconds=150.0)


def salakhutdinov() -> hm.RBM:
    """Salakhutdinov & Murray's CD25(500)."""
    return hm.load(reference("rbm_reference/sm08_cd25_500.npz"))


def own() -> hm.RBM:
    """Train by centred PCD-1: batches of 200, 500 chains, averaging, pixels drawn at each visit."""
    grey, _ = grey_mnist()
    data = hm.Dataset(grey / np.float32(255), stochastic=True)
    return fitted(data, 784, 500, optimizer=hm.Recipe(), epochs=120, batch_size=200).rbm


def own_mnist() -> None:
    """A 784×500 model trained by harmonium."""
    scores(stored_or_trained("own_500", own), binarised_mnist("test"), tolerance=0.1, seconds=270.0)


def enumerated() -> None:
    """784×24: log Z by enumeration, then by annealing."""
    rows = binarised_mnist("train")

    def train() -> hm.RBM:
        return fitted(rows, 784, 24, optimizer=hm.Recipe(), epochs=40, batch_size=200).rbm

    rbm = stored_or_trained("own_24", train)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    exact, seconds = timed(hm.log_z, rbm)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    memory = f"peak {peak / 2**20:.2f} GiB ({before / 2**20:.2f} before)"
    print(f"  {exact}: {seconds:.0f} s, {memory}")
    scores(rbm, binarised_mnist("test"), seeds=1, method="annealed")


def centred() -> None:
    """Like PyDeep's: 500 hidden units, centred PCD-1, rate 0.01, batches of 100, 200 epochs."""
    rows = binarised_mnist("train")

    def train() -> hm.RBM:
        settings = {
            "gradient": hm.Persistent(hm.Gibbs(1), chains=100),
            "optimizer": hm.Recipe(rate=0.01, averaging=None, hold=1.0),
            "epochs": 200,
            "batch_size": 100,
        }
        return fitted(rows, 784, 500, **settings).state.rbm

    scores(stored_or_trained("centred_500", train), binarised_mnist("test"), seeds=2, seconds=200.0)


def verdict() -> None:
    """Equilibrium reports: zeros and ones by PCD-1 at a high rate, a small model by many sweeps."""
    rows, _ = zeros_and_ones()
    print(f"  {equilibrium(rows, 100, hm.Persistent(hm.Gibbs(1), chains=100), 30)}")
    bars = hm.bars_and_stripes(3)
    print(f"  {equilibrium(bars, 6, hm.Persistent(hm.Gibbs(100), chains=200), 3_000)}")


def equilibrium(rows: np.ndarray, hidden: int, method: hm.Persistent, epochs: int):
    """Train by plain ascent at rate 0.1; return the report on the run's chains."""
    optimizer = optax.sgd(0.1)
    fit = fitted(rows, rows.shape[1], hidden, gradient=method, optimizer=optimizer, epochs=epochs)
    key = jax.random.key(0)
    return hm.equilibrium(fit.state.rbm, method, key=key, data=rows, state=fit.state.gradient)


def pictures() -> None:
    """Draw the annealing runs of docs/log_z.md: with too few steps and with enough."""
    from harmonium.plot import annealing_runs, save_figure

    rbm = salakhutdinov()
    for name, settings in {"short": {"steps": 96}, "long": {"seconds": 150.0}}.items():
        z = hm.log_likelihood(rbm, binarised_mnist("test"), key=jax.random.key(0), **settings).log_z
        figure = annealing_runs(z.forward, z.reverse, value=z.value, low=z.low, high=z.high)
        save_figure(figure, Path("docs/pictures") / f"likelihood_{name}.png")
        print(f"  {name}: {z}")


def pseudo() -> None:
    """Exact pseudo-likelihood of 10,000 rows, 784×500, against the loop over sites."""
    rbm = salakhutdinov()
    rows = binarised_mnist("test")
    hm.pseudo_log_likelihoods(rbm, rows[:1024])
    values, ours = timed(hm.pseudo_log_likelihoods, rbm, rows)
    sample = rows[:500].astype(np.float32)
    free_energy = eqx.filter_jit(lambda v: rbm.free_energy(v))
    energies = np.asarray(free_energy(sample))
    started = time.perf_counter()
    naive = np.zeros(len(sample))
    for i in range(784):
        flipped = sample.copy()
        flipped[:, i] = 1 - flipped[:, i]
        naive -= np.logaddexp(0.0, energies - np.asarray(free_energy(flipped)))
    loop = (time.perf_counter() - started) * len(rows) / len(sample)
    wrong = abs(values[: len(sample)] - naive).max()
    print(f"  {values.mean():.3f} nats per row (sum over 784 sites); {ours:.1f} s;", end="")
    print(f" the loop over sites {loop:.0f} s, {loop / ours:.1f}×; largest difference {wrong:.1g}")


PARTS = {
    "sm08": sm08,
    "mnist": own_mnist,
    "exact": enumerated,
    "centred": centred,
    "verdict": verdict,
    "pseudo": pseudo,
    "pictures": pictures,
}


def main() -> None:
    for name in parser_of(__doc__, parts=PARTS).parse_args().parts:
        print(f"{name}: {PARTS[name].__doc__}", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
