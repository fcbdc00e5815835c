"""Learning from rows with missing values: MNIST with half its pixels removed at random.

    python benchmarks/missing_values.py [--hidden 100] [--epochs 8] [--rows 100] [--chains 10]
        [--steps 1000]

Models of 784×100 learn from the binarised training rows, a random half of each of which is
missing, in three ways: with the missing pixels summed out (`Marginal`), with one model for each
pattern of missing pixels (`PerPattern`), and with zeros in place of the missing values; and from
the complete rows, for comparison. Two scores compare them on test rows. The first is the held-out
half of a row given the other half, log p(v_missing | v_seen), which is −F(v) − log Z of the model
with the seen half held; log Z is annealed for every row. The second takes each held-out pixel by
itself, Σ_i log p(v_i | v_seen). `--rows` is the number of test rows, `--chains` that of the chains
for each. Set HARMONIUM_DATA to the folder of reference data.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from reference_data import binarised_mnist
from reporting import parser_of
from timing import timed

import harmonium as hm
from harmonium.likelihood.missing.marginal import given_seen
from harmonium.samplers import Annealing, anneal

SWEEPS = 500  # after which chains count as draws of the conditional model


def binarised(part: str) -> np.ndarray:
    """Return the rows of MNIST's fixed binarisation."""
    return binarised_mnist(part).astype(np.float32)


def halved(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return the rows with a random half of each replaced by NaN."""
    order = np.random.default_rng(seed).random(rows.shape).argsort(axis=1)
    return np.where(order < rows.shape[1] // 2, np.nan, rows).astype(np.float32)


def trained(
    rows: np.ndarray, gradient: hm.gradients.AbstractGradient, hidden: int, epochs: int
) -> hm.RBM:
    key_start, key_run = jax.random.split(jax.random.key(0))
    rbm = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(hidden), rows, key=key_start)
    settings = {"gradient": gradient, "optimizer": hm.Recipe(), "epochs": epochs}
    return hm.fit(rbm, rows, key=key_run, **settings).rbm


@eqx.filter_jit
def conditional_log_z(rbm, base, seen, v, chains, steps, key):
    """Return the forward and reverse estimates of log Z given the seen half, for each row.

    The forward estimate is below log Z on average, and so overrates the model. The reverse estimate
    is above log Z on average if its chains start as draws of the model given the seen half. These
    chains make many Gibbs sweeps from the true row, which would itself be such a draw if the rows
    came from the model.
    """
    keys = jax.random.split(key, 4)
    model = given_seen(rbm, seen)
    held = eqx.tree_at(lambda layer: layer.layer, model.visible, base)
    path = hm.path.Heating(held, rbm.hidden.base(), model)
    shape = (chains, *seen.shape)
    zeros = jnp.zeros(shape[:2])
    forward = Annealing(held.sample_without_inputs(shape[:2], key=keys[0]), zeros)
    forward = anneal(path, 0.0, 1.0, steps, forward, key=keys[1])

    def sweep(i, v):
        return model.gibbs_sweep(v, key=jax.random.fold_in(keys[2], i))

    draws = jax.lax.fori_loop(0, SWEEPS, sweep, jnp.broadcast_to(v, shape))
    reverse = anneal(path, 1.0, 0.0, steps, Annealing(draws, zeros), key=keys[3])

    def log_mean(log_weights):
        return jax.nn.logsumexp(log_weights, axis=0) - jnp.log(chains)

    base_z = path.log_z_of_base
    return base_z + log_mean(forward.log_weights), base_z - log_mean(reverse.log_weights)


def joint(rbm, base, rows, seen, chains, steps):
    """Return log p(v_missing | v_seen) of rows by both estimates."""
    v = jnp.asarray(rows)
    steps = jnp.asarray(steps)
    key = jax.random.key(1)
    forward, reverse = conditional_log_z(rbm, base, jnp.asarray(seen), v, chains, steps, key)
    energies = np.asarray(rbm.free_energy(v), np.float64)
    above = -energies - np.asarray(forward, np.float64)
    below = -energies - np.asarray(reverse, np.float64)
    return above, below


def of_single_pixels(p: np.ndarray, rows: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """Return Σ_i log p(v_i | v_seen) over the held-out pixels of each row."""
    p = np.clip(p, 1e-6, 1 - 1e-6)
    log_p = rows * np.log(p) + (1 - rows) * np.log(1 - p)
    return np.where(np.isnan(seen), log_p, 0.0).sum(1)


def family_means(rbm: hm.RBM, seen: np.ndarray) -> np.ndarray:
    """Return p(v_i = 1 | v_seen) by the model of the seen pixels and pixel i alone."""
    weights = np.asarray(rbm.weights, np.float64)
    filled = np.nan_to_num(seen).astype(np.float64)
    inputs = filled @ weights + np.asarray(rbm.hidden.bias)  # pyright: ignore
    bias = np.asarray(rbm.visible.bias)  # pyright: ignore
    without = np.logaddexp(0, inputs).sum(1, keepdims=True)
    log_odds = np.stack([np.logaddexp(0, row + weights).sum(1) for row in inputs]) - without
    return 1 / (1 + np.exp(-(log_odds + bias)))


def main() -> None:
    options = {"hidden": 100, "epochs": 8, "rows": 100, "chains": 10, "steps": 1_000}
    args = parser_of(__doc__, **options).parse_args()
    whole = binarised("train")
    test = binarised("test")[: args.rows]
    incomplete = halved(whole, 0)
    seen = halved(test, 1)
    base = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(1), whole, key=jax.random.key(0)).visible
    pcd = hm.Persistent(hm.Gibbs(1), chains=200)
    fits = {
        "missing pixels summed out": (incomplete, hm.Marginal(pcd, sweeps=5, missing=392)),
        "one model for each pattern": (incomplete, hm.PerPattern(hm.Gibbs(5))),
        "zeros in the missing values": (np.nan_to_num(incomplete), pcd),
        "whole rows": (whole, pcd),
    }
    print(f"784×{args.hidden}, {args.epochs} epochs, {args.rows} test rows; nats per row")
    for name, (rows, gradient) in fits.items():
        rbm, seconds = timed(trained, rows, gradient, args.hidden, args.epochs)
        above, below = joint(rbm, base, test, seen, args.chains, args.steps)
        means = hm.impute(rbm, seen, key=jax.random.key(2), draws=20, sweeps=200).mean
        single = of_single_pixels(means, test, seen)
        error = above.std(ddof=1) / np.sqrt(args.rows)
        line = (
            f"  {name:28s} joint {above.mean():8.2f} (backward {below.mean():8.2f}) ± {error:.2f}"
        )
        line += f", single pixels {single.mean():8.2f}"
        if name.startswith("one model"):
            own = of_single_pixels(family_means(rbm, seen), test, seen)
            line += f" (by the family's own models {own.mean():8.2f})"
        print(f"{line}, trained in {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
