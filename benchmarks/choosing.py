"""Every method on five sets: likelihood reached, bias of the gradient, cost, equilibrium.

    python benchmarks/choosing.py [--out runs/choosing] [--updates 5000] [--seeds 3] [SET ...]

The sets are small enough for exact likelihoods. Every method makes the same number of updates from
the same machine with the same recipe, and results are kept as SET.METHOD.json in the folder; what
is there is not run again. MNIST's zeros and ones need the reference data: HARMONIUM_DATA.
"""

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from published import zeros_and_ones

import harmonium as hm
from harmonium.enumeration import log_z

CHAINS, HIDDEN, BATCH = 500, 12, 100
LOOKS = 200  # updates over which a gradient's bias is averaged
METHODS = {
    "exact": hm.Exact(),
    "CD-1": hm.Contrastive(hm.Gibbs(1)),
    "CD-10": hm.Contrastive(hm.Gibbs(10)),
    "PCD-1": hm.Persistent(hm.Gibbs(1), CHAINS),
    "PCD-10": hm.Persistent(hm.Gibbs(10), CHAINS),
    "FPCD-1": hm.FastPersistent(hm.Gibbs(1), CHAINS, rate=0.01),
    "PT-1": hm.Tempering(10, CHAINS // 10),
    "PTT-1": hm.Trajectory(10, CHAINS // 10),
    "autopilot": hm.Autopilot(10, CHAINS // 10),
    "Jarzynski-1": hm.Jarzynski(hm.Gibbs(1), CHAINS),
    "unbiased CD-1": hm.Coupled(1),
    "TAP": hm.MeanField(2, 100),
    "mean field": hm.MeanField(1, 100),
    "pseudo-likelihood": hm.PseudoLikelihood(),
    "ratio matching": hm.RatioMatching(),
    "probability flow": hm.ProbabilityFlow(),
}


class Problem(NamedTuple):
    """Rows to learn, the kind of their columns, and the rate to begin with."""

    rows: np.ndarray
    visible: hm.AbstractLayer
    rate: float


def chain_of_spins(rows: int, length: int = 16, coupling: float = 1.0) -> np.ndarray:
    """Draw from the periodic one-dimensional Ising model by its states, 2^length of them."""
    states = np.asarray(hm.Ising(length).states(jnp.arange(2**length)))
    weights = np.exp(coupling * (states * np.roll(states, 1, axis=1)).sum(1))
    chosen = np.random.default_rng(0).choice(len(states), rows, p=weights / weights.sum())
    return states[chosen].astype(np.int8)


PROBLEMS = {
    "bars": lambda: Problem(hm.open_source("bars").train, hm.Bernoulli(16), 0.1),
    "shifter": lambda: Problem(hm.open_source("shifter").train, hm.Bernoulli(19), 0.1),
    "chain": lambda: Problem(chain_of_spins(5_000), hm.Ising(16), 0.05),
    "ising": lambda: Problem(
        hm.data.ising_configurations(5_000, side=4, inverse_temperature=0.5), hm.Ising(16), 0.05
    ),
    "zeros and ones": lambda: Problem(zeros_and_ones()[0], hm.Bernoulli(784), 0.05),
}


@eqx.filter_jit
def exact_score(rbm: hm.RBM, v: jax.Array) -> jax.Array:
    """Give ⟨log p⟩ over rows, exactly."""
    return -rbm.free_energy(v).mean() - log_z(rbm)


@eqx.filter_jit
def bias_of(method, rbm, state, v, rate, key):
    """Go on learning; give |⟨gW − exact gW⟩| over the size of the model's own ⟨vhᵀ⟩ − ⟨v⟩⟨h⟩."""
    exact, rows = hm.Exact(), min(BATCH, len(v))

    def update(i, carry):
        rbm, state, total = carry
        key_rows, key_method = jax.random.split(jax.random.fold_in(key, i))
        batch = hm.Cloud.uniform(v[jax.random.choice(key_rows, len(v), (rows,), replace=False)])
        grads, state, _ = method.estimate(rbm, batch, state, key=key_method)
        right, _, _ = exact.estimate(rbm, batch, (), key=key_method)
        total = total + grads.weights - right.weights
        rbm = jax.tree.map(lambda x, g: x - rate * g, rbm, grads)
        return rbm, state, total

    zero = jnp.zeros_like(rbm.weights)
    rbm, state, total = jax.lax.fori_loop(0, LOOKS, update, (rbm, state, zero))
    empty = hm.Cloud(v[:1], jnp.zeros(1))
    model, _, _ = exact.estimate(rbm, empty, (), key=key)  # ⟨v hᵀ⟩ of the model
    mean_v = model.visible.bias
    correlations = model.weights - jnp.outer(mean_v, model.hidden.bias)
    return jnp.linalg.norm(total / LOOKS) / jnp.linalg.norm(correlations)


def measure(problem: Problem, method, updates: int, seed: int) -> dict:
    """Train once; give what the table holds."""
    keys = jax.random.split(jax.random.key(seed), 4)
    rows = problem.rows
    rbm = hm.initialize(problem.visible, hm.Bernoulli(HIDDEN), rows, key=keys[0])
    per_epoch = -(-len(rows) // min(BATCH, len(rows)))
    epochs = max(2, updates // per_epoch)
    recipe = hm.Recipe(rate=problem.rate, averaging=None)
    settings = {"key": keys[1], "gradient": method, "optimizer": recipe, "batch_size": BATCH}
    half = hm.fit(rbm, rows, epochs=epochs // 2, **settings)
    v = problem.visible.encode(rows)
    began = time.perf_counter()
    fit = hm.fit(rbm, rows, epochs=epochs, state=half.state, **settings)
    seconds = time.perf_counter() - began
    bias = bias_of(method, half.state.rbm, half.state.gradient, v, problem.rate, keys[2])
    verdict = hm.equilibrium(
        fit.state.rbm, method, key=keys[3], state=fit.state.gradient, data=rows, seconds=5.0
    )
    made = int(fit.state.updates - half.state.updates)
    return {
        "log_likelihood": float(exact_score(fit.rbm, v)),
        "bias": float(bias),
        "ms": 1e3 * seconds / made,
        "diverged": fit.diverged or half.diverged,
        "at_equilibrium": verdict.at_equilibrium,
        "chains_agree": verdict.chains_agree,
        "notes": list(fit.notes),
    }


def report(folder: Path, sets: list[str]) -> None:
    """Print a table for every set."""
    for name in sets:
        print(f"\n{name}")
        print(f"{'method':18s} {'log-likelihood':>18s} {'bias':>7s} {'ms':>7s}  equilibrium")
        for method in METHODS:
            path = folder / f"{name}.{method}.json"
            if not path.exists():
                continue
            runs = json.loads(path.read_text())
            scores = np.array([run["log_likelihood"] for run in runs])
            bias, ms = (np.median([run[key] for run in runs]) for key in ("bias", "ms"))
            said = [f"{run['at_equilibrium']}/{run['chains_agree']}" for run in runs]
            line = f"{method:18s} {scores.mean():9.3f} ± {scores.std(ddof=1):6.3f} {bias:7.3f}"
            print(f"{line} {ms:7.3f}  {' '.join(said)}")


def main() -> None:
    """Measure what is asked for and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(PROBLEMS), metavar="SET")
    parser.add_argument("--out", default="runs/choosing")
    parser.add_argument("--updates", type=int, default=5_000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in given.sets:
        problem = PROBLEMS[name]()
        for title, method in METHODS.items():
            target = folder / f"{name}.{title}.json"
            if not target.exists():
                runs = [measure(problem, method, given.updates, s) for s in range(given.seeds)]
                target.write_text(json.dumps(runs, indent=1))
                print(name, title, runs[0], flush=True)
    report(folder, given.sets)


if __name__ == "__main__":
    main()
