"""Every method on five data sets: likelihood, bias of the gradient, cost and equilibrium.

    python benchmarks/choosing.py [--out runs/choosing] [--updates 5000] [--seeds 3] [SET ...]

The sets are small enough for exact likelihoods. Every method makes the same number of updates from
the same initial model with the same recipe. The cost of an update is measured separately, for all
methods in turn, each halfway through its own run. Results are stored as SET.METHOD.json and
SET.costs.json in the folder, and stored results are not computed again; the tables are for
docs/choosing_a_method.md, choosing.json is for benchmarks/pictures.py. MNIST's zeros and ones need
the reference data: set HARMONIUM_DATA to its folder.
"""

import json
import math
import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from reference_data import zeros_and_ones
from reporting import parser_of, signed, table
from timing import in_turn

import harmonium as hm
from harmonium._base.threefry import key_of
from harmonium.likelihood.partition_function.enumerated import log_z

CHAINS = 500
BATCH = 100
BIASED = 100  # updates over which a gradient's bias is averaged
COPIES = 4  # of a run, over which it is averaged too
ROUNDS = 5  # in which costs are measured, all methods in turn
TIMED = 200  # updates of each method in a round
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
    "autopilot": hm.training.Autopilot(10, CHAINS // 10),
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
    visible: hm.layers.AbstractLayer
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
    exact = hm.Exact()
    n_rows = min(BATCH, len(v))

    def copy(key):
        def update(i, carry):
            rbm, state, total = carry
            key_rows, key_method = jax.random.split(jax.random.fold_in(key, i))
            batch = hm.samplers.Cloud.uniform(
                v[jax.random.choice(key_rows, len(v), (n_rows,), replace=False)]
            )
            grads, state, _ = method.estimate(rbm, batch, state, key=key_method)
            right, _, _ = exact.estimate(rbm, batch, (), key=key_method)
            total = total + grads.weights - right.weights
            rbm = jax.tree.map(lambda x, g: x - rate * g, rbm, grads)
            return rbm, state, total

        zero = jnp.zeros_like(rbm.weights)
        return jax.lax.fori_loop(0, BIASED, update, (rbm, state, zero))[2] / BIASED

    differences = jax.lax.map(copy, jax.random.split(key, COPIES))
    pairs = jnp.square(differences.sum(0)).sum() - jnp.square(differences).sum()
    size = jnp.sqrt(jnp.maximum(pairs / (COPIES * (COPIES - 1)), 0.0))
    empty = hm.samplers.Cloud(v[:1], jnp.zeros(1))
    model, _, _ = exact.estimate(rbm, empty, (), key=key)  # ⟨v hᵀ⟩ of the model
    correlations = model.weights - jnp.outer(model.visible.bias, model.hidden.bias)
    return size / jnp.linalg.norm(correlations)


def time_limit() -> Callable[[hm.training.Report], bool]:
    """Return a callback that ends a run at the time limit."""
    started = time.perf_counter()
    return lambda report: time.perf_counter() - started > LIMIT


def start_of(problem: Problem, seed: int) -> tuple[hm.RBM, int, dict]:
    """Return the initial model, the updates in an epoch, and the settings of all methods."""
    key_start, key_run = jax.random.split(key_of(seed), 4)[:2]
    rbm = hm.initialize(problem.visible, hm.Bernoulli(problem.hidden), problem.rows, key=key_start)
    per_epoch = math.ceil(len(problem.rows) / BATCH)
    settings = {"key": key_run, "optimizer": recipe(problem), "batch_size": BATCH}
    return rbm, per_epoch, settings


def recipe(problem: Problem, **options: float) -> hm.Recipe:
    """Return the recipe that all methods share."""
    return hm.Recipe(rate=problem.rate, averaging=None, **options)


def halfway(name: str, title: str, updates: int, seed: int) -> hm.training.TrainState:
    """Return the state of a method halfway through a run."""
    problem = PROBLEMS[name]()
    rbm, per_epoch, settings = start_of(problem, seed)
    settings["optimizer"] = recipe(problem, hold=1.0)  # the rate falls in the second half
    settings |= {"gradient": METHODS[title], "epochs": max(1, updates // per_epoch // 2)}
    return hm.fit(rbm, problem.rows, callbacks=[time_limit()], **settings).state


def measure(name: str, title: str, updates: int, seed: int) -> dict:
    """Train once; return the values for the tables."""
    problem = PROBLEMS[name]()
    method = METHODS[title]
    key_bias, key_report = jax.random.split(key_of(seed), 4)[2:]
    rbm, per_epoch, settings = start_of(problem, seed)
    half = halfway(name, title, updates, seed)
    v = problem.visible.encode(problem.rows)
    settings |= {"gradient": method, "epochs": max(2, updates // per_epoch)}
    fit = hm.fit(rbm, problem.rows, state=half, callbacks=[time_limit()], **settings)
    bias = bias_of(method, half.rbm, half.gradient, v, problem.rate, key_bias)
    chains = {"state": fit.state.gradient, "data": problem.rows, "sweeps": SWEEPS}
    report = hm.equilibrium(fit.state.rbm, method, key=key_report, **chains)
    return {
        "log_likelihood": float(exact_score(fit.rbm, v)),
        "bias": float(bias),
        "updates": int(fit.state.updates),
        "at_equilibrium": report.at_equilibrium,
    }


def in_time(task: Callable, cases: list[tuple]) -> list:
    """Call in a separate process; the result is None where the call takes too long."""
    results = []
    context = multiprocessing.get_context("spawn")
    pool = context.Pool(1)
    for case in cases:
        try:
            results.append(pool.apply_async(task, case).get(STUCK))
        except multiprocessing.TimeoutError:
            pool.terminate()
            pool = context.Pool(1)
            results.append(None)
    pool.terminate()
    return results


def costs(name: str, updates: int) -> dict[str, float]:
    """Return the time of each method's updates over that of PCD-1, halfway through its run."""
    problem = PROBLEMS[name]()
    rbm, per_epoch, settings = start_of(problem, 0)
    cases = [(name, title, updates, 0) for title in METHODS]
    states = dict(zip(METHODS, in_time(halfway, cases), strict=True))

    def seconds_of(title: str) -> float:
        state = states[title]
        epochs = int(state.updates) // per_epoch + math.ceil(TIMED / per_epoch)
        settings["gradient"] = METHODS[title]
        started = time.perf_counter()
        limit = time_limit()
        hm.fit(rbm, problem.rows, state=state, epochs=epochs, callbacks=[limit], **settings)
        return time.perf_counter() - started

    contestants = {
        title: partial(seconds_of, title) for title, state in states.items() if state is not None
    }
    seconds = in_turn(contestants, 1 + ROUNDS)  # the first round compiles
    unit = np.array(seconds["PCD-1"][1:])
    return {title: float(np.median(np.array(s[1:]) / unit)) for title, s in seconds.items()}


class Line(NamedTuple):
    """What several runs of a method on a set came to."""

    mean: float = np.nan  # log-likelihood, nats per row; NaN if no run ended
    spread: float = np.nan
    bias: float = np.nan
    cost: float = np.nan  # of an update, in PCD-1's
    updates: int = 0  # of the shortest run
    stuck: int = 0  # runs that did not end
    verdicts: tuple[bool | None, ...] = ()  # of each run, whether it is at equilibrium

    @property
    def absence(self) -> str:
        """Why there is no value."""
        return "no run ends" if self.stuck else "n/a"


def lines_of(folder: Path, name: str) -> dict[str, Line]:
    """Return the stored results of each method on a set."""
    lines = {}
    times = json.loads((folder / f"{name}.costs.json").read_text())
    for method in METHODS:
        results = json.loads((folder / f"{name}.{method}.json").read_text())
        runs = [run for run in results if run]
        line = Line(cost=times.get(method, np.nan), stuck=len(results) - len(runs))
        if runs:
            scores = np.array([run["log_likelihood"] for run in runs])
            line = line._replace(
                mean=scores.mean(),
                bias=float(np.median([run["bias"] for run in runs])),
                updates=min(run["updates"] for run in runs),
                verdicts=tuple(run["at_equilibrium"] for run in runs),
            )
        if len(runs) > 1:
            line = line._replace(spread=scores.std(ddof=1))
        lines[method] = line
    return lines


def report(folder: Path, sets: list[str]) -> None:
    """Print three tables, as Markdown, and draw the likelihoods."""
    lines = {name: lines_of(folder, name) for name in sets}
    most = {name: max(line.updates for line in lines[name].values()) for name in sets}
    likelihoods = [["method", *sets]]
    biases = [["method", *sets, "at equilibrium"]]
    costs = [["method", *sets]]
    for method in METHODS:
        own = [lines[name][method] for name in sets]
        cells = [likelihood_cell(lines[name][method], most[name]) for name in sets]
        likelihoods.append([method, *cells])
        cells = [value_cell(line.bias, line, 100) for line in own]
        biases.append([method, *cells, equilibrium_cell(own)])
        costs.append([method, *(value_cell(line.cost, line) for line in own)])
    print("\n### Log-likelihood, nats per row: mean and spread over runs\n")
    print(table(likelihoods))
    print("\n### Bias of the gradient, and runs at equilibrium in all sets\n")
    print(table(biases))
    print("\n### Time of an update, of PCD-1's\n")
    print(table(costs))
    target = folder / "choosing.json"
    target.write_text(json.dumps(summary(lines), indent=1, ensure_ascii=False))
    print(f"\npython benchmarks/pictures.py choosing {target} {target.with_suffix('.png')}")


def likelihood_cell(line: Line, most: int) -> str:
    """Return a method's log-likelihood as text, with the updates if others made more."""
    if np.isnan(line.mean):
        return line.absence
    text = signed(line.mean, 2)
    if np.isfinite(line.spread):
        text += f" ± {line.spread:.2f}"
    if line.updates < most:
        text += f" ({line.updates:,} updates)"
    if line.stuck:
        text += f" ({line.stuck} stuck)"
    return text


def value_cell(value: float, line: Line, limit: float = np.inf) -> str:
    """Return a value of a line as text."""
    if np.isnan(value):
        return line.absence
    return f"{value:.3g}" if value <= limit else f"> {limit:g}"


def equilibrium_cell(lines: list[Line]) -> str:
    """Return how many of a method's runs are at equilibrium, where all of them can be judged."""
    verdicts = [verdict for line in lines for verdict in line.verdicts]
    if None in verdicts or not all(line.verdicts for line in lines):
        return "n/a"
    return f"{sum(verdicts)} of {len(verdicts)}"


def summary(lines: dict[str, dict[str, Line]]) -> dict:
    """Return the log-likelihoods of each method, as in docs/measured/choosing.json."""

    def scores(line: Line) -> dict:
        if np.isnan(line.mean):
            return {"why": "no run ends" if line.stuck else "not measured"}
        spread = round(line.spread, 2) if np.isfinite(line.spread) else None
        return {"mean": round(line.mean, 2), "spread": spread}

    records = [
        {
            "method": method,
            "log_likelihood": {
                name: scores(by_method[method]) for name, by_method in lines.items()
            },
        }
        for method in METHODS
    ]
    return {"program": "benchmarks/choosing.py", "records": records}


def main() -> None:
    """Measure the chosen sets and report."""
    args = parser_of(
        __doc__, sets=PROBLEMS, out="runs/choosing", updates=5_000, seeds=3
    ).parse_args()
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    for name in args.sets:
        for title in METHODS:
            target = folder / f"{name}.{title}.json"
            if not target.exists():
                cases = [(name, title, args.updates, seed) for seed in range(args.seeds)]
                runs = in_time(measure, cases)
                target.write_text(json.dumps(runs, indent=1))
                print(name, title, runs[0], flush=True)
        target = folder / f"{name}.costs.json"
        if not target.exists():
            target.write_text(json.dumps(costs(name, args.updates), indent=1))
    report(folder, args.sets)


if __name__ == "__main__":
    main()
