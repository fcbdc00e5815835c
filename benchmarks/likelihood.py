"""Accuracy of log Z on reference models and trained ones, by annealing and by enumeration.

    HARMONIUM_DATA=... python benchmarks/likelihood.py sm08 mnist exact centred verdict pseudo

Each part prints its results and the time it took. `verdict` prints equilibrium reports, `pseudo`
the pseudo-likelihood; `coverage.py` in this folder measures the coverage of the intervals. MNIST is
read from the folder that HARMONIUM_DATA names. A model that takes minutes to train is stored in
runs/likelihood and used again.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
from published import reference

import harmonium as hm

KEPT = Path("runs/likelihood")


def mnist(part: str = "test") -> np.ndarray:
    """Return the rows of MNIST's fixed binarisation."""
    file = np.load(reference("mnist/binarized_mnist.npz"))
    return np.unpackbits(file[part], axis=1, count=int(file["n_visible"]))


def kept(name: str, train: Callable[[], hm.RBM]) -> hm.RBM:
    """Load a stored model, or train and store it."""
    path = KEPT / f"{name}.safetensors"
    if not path.is_file():
        KEPT.mkdir(parents=True, exist_ok=True)
        started = time.perf_counter()
        hm.save(train(), path)
        print(f"  trained {name} in {time.perf_counter() - started:.0f} s")
    return hm.load(path)


def tell(score: hm.LogLikelihood, seconds: float) -> None:
    z = score.log_z
    print(f"  {score}\n  {z}\n  gap {z.gap:+.3f}, ess {z.ess:.0f}, {seconds:.0f} s. {z.message}")


def judged(rbm: hm.RBM, rows: np.ndarray, seeds: int = 3, **settings) -> None:
    for seed in range(seeds):
        started = time.perf_counter()
        score = hm.log_likelihood(rbm, rows, key=jax.random.key(seed), **settings)
        tell(score, time.perf_counter() - started)


def sm08() -> None:
    """Salakhutdinov & Murray's CD25(500): published log Z 451.28, test −86.34."""
    judged(salakhutdinov(), mnist(), seconds=150.0)


def salakhutdinov() -> hm.RBM:
    """Salakhutdinov & Murray's CD25(500)."""
    return hm.load(reference("rbm_reference/sm08_cd25_500.npz"))


def grey() -> np.ndarray:
    file = np.load(reference("mnist/mnist_train_gray.npz"))
    return file["x" if "x" in file else file.files[0]].reshape(-1, 784)


def own() -> hm.RBM:
    """Train by centred PCD-1: batches of 200, 500 chains, averaging, pixels drawn at each visit."""
    data = hm.Dataset(grey() / np.float32(255), stochastic=True)
    key = jax.random.key(0)
    start = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(500), data, key=key)
    how = {"optimizer": hm.Recipe(), "epochs": 120, "batch_size": 200}
    return hm.fit(start, data, key=key, **how).rbm


def own_mnist() -> None:
    """A 784×500 model trained by harmonium."""
    judged(kept("own_500", own), mnist(), tolerance=0.1, seconds=270.0)


def enumerated() -> None:
    """784×24: log Z by enumeration, then by annealing."""
    rows = mnist("train")

    def train() -> hm.RBM:
        key = jax.random.key(0)
        start = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(24), rows, key=key)
        how = {"optimizer": hm.Recipe(), "epochs": 40, "batch_size": 200}
        return hm.fit(start, rows, key=key, **how).rbm

    rbm = kept("own_24", train)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    exact = hm.log_z(rbm)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"  {exact}: {time.perf_counter() - started:.0f} s, peak {peak / 2**20:.2f} GiB", end="")
    print(f" ({before / 2**20:.2f} before)")
    judged(rbm, mnist(), seeds=1, method="annealed")


def centred() -> None:
    """Like PyDeep's: 500 hidden units, centred PCD-1, rate 0.01, batches of 100, 200 epochs."""
    rows = mnist("train")

    def train() -> hm.RBM:
        key = jax.random.key(0)
        start = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(500), rows, key=key)
        method = hm.Persistent(hm.Gibbs(1), chains=100)
        optimizer = hm.Recipe(rate=0.01, averaging=None, hold=1.0)
        fit = hm.fit(
            start,
            rows,
            key=key,
            gradient=method,
            optimizer=optimizer,
            epochs=200,
            batch_size=100,
        )
        return fit.state.rbm

    judged(kept("centred_500", train), mnist(), seeds=2, seconds=200.0)


def verdict() -> None:
    """Equilibrium reports: zeros and ones by PCD-1 at a high rate, a small model by many sweeps."""
    file = np.load(reference("mnist/mnist_train_gray.npz"))
    rows = (grey()[np.isin(file["y"], (0, 1))] > 127).astype(np.uint8)
    key = jax.random.key(0)
    start = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(100), rows, key=key)
    method = hm.Persistent(hm.Gibbs(1), chains=100)
    fit = hm.fit(start, rows, key=key, gradient=method, optimizer=optax_sgd(0.1), epochs=30)
    print(
        f"  {hm.equilibrium(fit.state.rbm, method, key=key, data=rows, state=fit.state.gradient)}"
    )
    bars = hm.bars_and_stripes(3)
    small = hm.initialize(hm.Bernoulli(9), hm.Bernoulli(6), bars, key=key)
    method = hm.Persistent(hm.Gibbs(100), chains=200)
    fit = hm.fit(small, bars, key=key, gradient=method, optimizer=optax_sgd(0.1), epochs=3_000)
    print(
        f"  {hm.equilibrium(fit.state.rbm, method, key=key, data=bars, state=fit.state.gradient)}"
    )


def optax_sgd(rate: float):
    import optax

    return optax.sgd(rate)


def pictures() -> None:
    """Draw the annealing runs of docs/likelihood.md: with too few steps and with enough."""
    from harmonium.plot import annealing_runs, save_figure

    rbm = salakhutdinov()
    for name, settings in {"short": {"steps": 96}, "long": {"seconds": 150.0}}.items():
        z = hm.log_likelihood(rbm, mnist(), key=jax.random.key(0), **settings).log_z
        figure = annealing_runs(z.forward, z.reverse, value=z.value, low=z.low, high=z.high)
        save_figure(figure, Path("docs/pictures") / f"likelihood_{name}.png")
        print(f"  {name}: {z}")


def pseudo() -> None:
    """Exact pseudo-likelihood of 10,000 rows, 784×500, against the loop over sites."""
    rbm, rows = salakhutdinov(), mnist()
    hm.pseudo_log_likelihoods(rbm, rows[:1024])
    started = time.perf_counter()
    found = hm.pseudo_log_likelihoods(rbm, rows)
    ours = time.perf_counter() - started
    few = rows[:500].astype(np.float32)
    free_energy = eqx.filter_jit(lambda v: rbm.free_energy(v))
    here = np.asarray(free_energy(few))
    started, naive = time.perf_counter(), np.zeros(len(few))
    for i in range(784):
        flipped = few.copy()
        flipped[:, i] = 1 - flipped[:, i]
        naive -= np.logaddexp(0.0, here - np.asarray(free_energy(flipped)))
    loop = (time.perf_counter() - started) * len(rows) / len(few)
    wrong = abs(found[: len(few)] - naive).max()
    print(f"  {found.mean():.3f} nats per row (sum over 784 sites); {ours:.1f} s;", end="")
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    for name in parser.parse_args().parts:
        print(f"{name}: {PARTS[name].__doc__}", flush=True)
        PARTS[name]()


if __name__ == "__main__":
    main()
