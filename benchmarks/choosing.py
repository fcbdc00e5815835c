"""Every method on five data sets: likelihood, bias of the gradient, cost and equilibrium.

    python benchmarks/choosing.py [--out runs/choosing] [--updates 5000] [--seeds 3] [SET ...]

The sets are small enough for exact likelihoods. Every method makes the same number of updates from
the same initial model with the same recipe. The cost of an update is measured separately, for all
methods in turn, each halfway through its own run. Results are stored as SET.METHOD.json and
SET.costs.json in the folder, and stored results are not computed again; the tables are for
docs/choosing_a_method.md, choosing.json is for benchmarks/pictures.py. MNIST's zeros and ones need
the reference data: set HARMONIUM_DATA to its folder.
"""

import argparse
import json
import multiprocessing
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from published import zeros_and_ones

import harmonium as hm
from harmonium._threefry import key_of
from harmonium.partition_function.enumerated import log_z

CHAINS, BATCH = 500, 100
LOOKS, COPIES = 100, 4  # updates, and copies of a run, over which a gradient's bias is averaged
ROUNDS, TIMED = 5, 200  # rounds, and updates of each method in a round, to measure costs
SWEEPS = 16_384  # of the chains that measure a relaxation time
LIMIT = 240  # seconds for each half of a run; a slower run is stopped
STUCK = 2 * LIMIT + 120  # seconds after which a run is abandoned: an update does not end
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
    """Rows, the visible layer, the initial learning rate, and the number of hidden units."""

    rows: np.ndarray
    visible: hm.AbstractLayer
    rate: float
    hidden: int = 12


def chain_of_spins(rows: int, length: int = 16, coupling: float = 1.0) -> np.ndarray:
    """Draw from the periodic one-dimensional Ising model by enumeration of its 2^length states."""
    states = np.asarray(hm.Ising(length).states(jnp.arange(2**length)))
    weights = np.exp(coupling * (states * np.roll(states, 1, axis=1)).sum(1))
    chosen = np.random.default_rng(0).choice(len(states), rows, p=weights / weights.sum())
    return states[chosen].astype(np.int8)


PROBLEMS = {
    "bars": lambda: Problem(hm.open_source("bars").train, hm.Bernoulli(16), 0.1),
    "shifter": lambda: Problem(hm.open_source("shifter").train, hm.Bernoulli(19), 0.1),
    "chain": lambda: Problem(chain_of_spins(5_000), hm.Ising(16), 0.05),
    "ising": lambda: Problem(
        hm.data.ising_configurations(5_000, side=4, inverse_temperature=0.5, seed=0),
        hm.Ising(16),
        0.05,
    ),
    "zeros and ones": lambda: Problem(zeros_and_ones()[0], hm.Bernoulli(784), 0.05, 8),
}


@eqx.filter_jit
def exact_score(rbm: hm.RBM, v: jax.Array) -> jax.Array:
    """Return the exact mean ⟨log p⟩ over rows."""
    return -rbm.free_energy(v).mean() - log_z(rbm)


@eqx.filter_jit
def bias_of(method, rbm, state, v, rate, key):
    """Continue training; return |⟨gW⟩ − exact gW| over the norm of the model's ⟨vhᵀ⟩ − ⟨v⟩⟨h⟩.

    The mean over copies of the run is noisy, and the square of the noise would look like a bias.
    The squared bias is therefore the mean of ⟨d, d'⟩ over pairs of different copies; a negative
    value counts as zero before the root is taken.
    """
    exact, rows = hm.Exact(), min(BATCH, len(v))

    def copy(key):
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
        return jax.lax.fori_loop(0, LOOKS, update, (rbm, state, zero))[2] / LOOKS

    each = jax.lax.map(copy, jax.random.split(key, COPIES))
    pairs = jnp.square(each.sum(0)).sum() - jnp.square(each).sum()
    size = jnp.sqrt(jnp.maximum(pairs / (COPIES * (COPIES - 1)), 0.0))
    empty = hm.Cloud(v[:1], jnp.zeros(1))
    model, _, _ = exact.estimate(rbm, empty, (), key=key)  # ⟨v hᵀ⟩ of the model
    correlations = model.weights - jnp.outer(model.visible.bias, model.hidden.bias)
    return size / jnp.linalg.norm(correlations)


def at_limit() -> Callable[[hm.Report], bool]:
    """Return a callback that ends a run at the time limit."""
    began = time.perf_counter()
    return lambda report: time.perf_counter() - began > LIMIT


def begun(problem: Problem, seed: int) -> tuple[hm.RBM, int, dict]:
    """Return the initial model, the updates in an epoch, and the settings of all methods."""
    key_start, key_run = jax.random.split(key_of(seed), 4)[:2]
    rbm = hm.initialize(problem.visible, hm.Bernoulli(problem.hidden), problem.rows, key=key_start)
    per_epoch = -(-len(problem.rows) // min(BATCH, len(problem.rows)))
    settings = {"key": key_run, "optimizer": recipe(problem), "batch_size": BATCH}
    return rbm, per_epoch, settings


def recipe(problem: Problem, **options: float) -> hm.Recipe:
    """Return the recipe that all methods share."""
    return hm.Recipe(rate=problem.rate, averaging=None, **options)


def halfway(name: str, title: str, updates: int, seed: int) -> hm.TrainState:
    """Return the state of a method halfway through a run."""
    problem = PROBLEMS[name]()
    rbm, per_epoch, settings = begun(problem, seed)
    settings["optimizer"] = recipe(problem, hold=1.0)  # the rate falls in the second half
    settings |= {"gradient": METHODS[title], "epochs": max(1, updates // per_epoch // 2)}
    return hm.fit(rbm, problem.rows, callbacks=[at_limit()], **settings).state


def measure(name: str, title: str, updates: int, seed: int) -> dict:
    """Train once; return the values for the tables."""
    problem, method = PROBLEMS[name](), METHODS[title]
    key_bias, key_report = jax.random.split(key_of(seed), 4)[2:]
    rows, (rbm, per_epoch, settings) = problem.rows, begun(problem, seed)
    half, v = halfway(name, title, updates, seed), problem.visible.encode(rows)
    settings |= {"gradient": method, "epochs": max(2, updates // per_epoch)}
    fit = hm.fit(rbm, rows, state=half, callbacks=[at_limit()], **settings)
    bias = bias_of(method, half.rbm, half.gradient, v, problem.rate, key_bias)
    chains = {"state": fit.state.gradient, "data": rows, "sweeps": SWEEPS}
    report = hm.equilibrium(fit.state.rbm, method, key=key_report, **chains)
    return {
        "log_likelihood": float(exact_score(fit.rbm, v)),
        "bias": float(bias),
        "updates": int(fit.state.updates),
        "diverged": fit.diverged,
        "at_equilibrium": report.at_equilibrium,
        "chains_agree": report.chains_agree,
        "notes": list(fit.notes),
    }


def in_time(task: Callable, cases: list[tuple]) -> list:
    """Call in a separate process; the result is None where the call takes too long."""
    found, context = [], multiprocessing.get_context("spawn")
    pool = context.Pool(1)
    for case in cases:
        try:
            found.append(pool.apply_async(task, case).get(STUCK))
        except multiprocessing.TimeoutError:
            pool.terminate()
            pool = context.Pool(1)
            found.append(None)
    pool.terminate()
    return found


def costs(name: str, updates: int) -> dict[str, float]:
    """Return the time of each method's updates over that of PCD-1, halfway through its run."""
    problem = PROBLEMS[name]()
    rbm, per_epoch, settings = begun(problem, 0)
    cases = [(name, title, updates, 0) for title in METHODS]
    states = dict(zip(METHODS, in_time(halfway, cases), strict=True))
    seconds = {title: [] for title, state in states.items() if state is not None}
    for _ in range(1 + ROUNDS):  # the first round compiles
        for title, found in seconds.items():
            state, began = states[title], time.perf_counter()
            epochs = int(state.updates) // per_epoch + -(-TIMED // per_epoch)
            hm.fit(
                rbm,
                problem.rows,
                state=state,
                epochs=epochs,
                gradient=METHODS[title],
                callbacks=[at_limit()],
                **settings,
            )
            found.append(time.perf_counter() - began)
    unit = np.array(seconds["PCD-1"][1:])
    return {t: float(np.median(np.array(found[1:]) / unit)) for t, found in seconds.items()}


def lines_of(folder: Path, name: str) -> dict[str, dict]:
    """Return the stored results of each method on a set."""
    lines = {}
    times = json.loads((folder / f"{name}.costs.json").read_text())
    for method in METHODS:
        found = json.loads((folder / f"{name}.{method}.json").read_text())
        runs = [run for run in found if run]
        scores = np.array([run["log_likelihood"] for run in runs] or [np.nan])
        said = [run["at_equilibrium"] for run in runs]
        lines[method] = {
            "mean": scores.mean(),
            "spread": scores.std(ddof=1) if len(runs) > 1 else np.nan,
            "bias": np.median([run["bias"] for run in runs]) if runs else np.nan,
            "cost": times.get(method, np.nan),
            "updates": min((run["updates"] for run in runs), default=0),
            "stuck": len(found) - len(runs),
            "said": None if None in said or not said else (sum(said), len(said)),
        }
    return lines


def report(folder: Path, sets: list[str]) -> None:
    """Print three tables, as Markdown, and draw the likelihoods."""
    tables = {name: lines_of(folder, name) for name in sets}
    heads = {
        "mean": "Log-likelihood, nats per row: mean and spread over runs",
        "bias": "Bias of the gradient, and runs at equilibrium in all sets",
        "cost": "Time of an update, of PCD-1's",
    }
    for what, head in heads.items():
        last = " at equilibrium |" if what == "bias" else ""
        print(f"\n### {head}\n\n| method | " + " | ".join(sets) + " |" + last)
        print("|---" * (1 + len(sets) + bool(last)) + "|")
        for method in METHODS:
            cells = [cell(tables[name], method, what) for name in sets]
            if last:
                said = [tables[name][method]["said"] for name in sets]
                all_said = None if None in said else np.sum(said, axis=0)
                cells.append("n/a" if all_said is None else "{} of {}".format(*all_said))
            print(f"| {method} | " + " | ".join(cells) + " |")
    target = folder / "choosing.json"
    target.write_text(json.dumps(summary(tables), indent=1, ensure_ascii=False))
    print(f"\npython benchmarks/pictures.py choosing {target} {target.with_suffix('.png')}")


def cell(lines: dict[str, dict], method: str, what: str) -> str:
    """Return the entry of a table for a method on a set."""
    line, most = lines[method], max(each["updates"] for each in lines.values())
    if np.isnan(line[what]):
        return "no run ends" if line["stuck"] else "n/a"
    if what != "mean":
        return "> 100" if what == "bias" and line[what] > 100 else f"{line[what]:.3g}"
    short = "" if line["updates"] == most else f" ({line['updates']:,} updates)"
    short += f" ({line['stuck']} stuck)" if line["stuck"] else ""
    spread = f" ± {line['spread']:.2f}" if np.isfinite(line["spread"]) else ""
    return f"{line['mean']:.2f}{spread}".replace("-", "−") + short


def summary(tables: dict[str, dict[str, dict]]) -> dict:
    """Return the log-likelihoods of each method, as in docs/measured/choosing.json."""

    def scores(line: dict) -> dict:
        if np.isnan(line["mean"]):
            return {"why": "no run ends" if line["stuck"] else "not measured"}
        spread = round(line["spread"], 2) if np.isfinite(line["spread"]) else None
        return {"mean": round(line["mean"], 2), "spread": spread}

    records = [
        {
            "method": method,
            "log_likelihood": {name: scores(lines[method]) for name, lines in tables.items()},
        }
        for method in METHODS
    ]
    return {"program": "benchmarks/choosing.py", "records": records}


def main() -> None:
    """Measure the chosen sets and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", default=list(PROBLEMS), metavar="SET")
    parser.add_argument("--out", default="runs/choosing")
    parser.add_argument("--updates", type=int, default=5_000)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in given.sets:
        for title in METHODS:
            target = folder / f"{name}.{title}.json"
            if not target.exists():
                cases = [(name, title, given.updates, seed) for seed in range(given.seeds)]
                runs = in_time(measure, cases)
                target.write_text(json.dumps(runs, indent=1))
                print(name, title, runs[0], flush=True)
        target = folder / f"{name}.costs.json"
        if not target.exists():
            target.write_text(json.dumps(costs(name, given.updates), indent=1))
    report(folder, given.sets)


if __name__ == "__main__":
    main()
