"""Coverage of the interval of log Z on random models whose exact log Z is known.

    python benchmarks/coverage.py --models 300
    python benchmarks/coverage.py --models 300 --steps 128     crude: many do not converge
    python benchmarks/coverage.py --hard 10                     ten of each family of hard models
    python benchmarks/coverage.py --hard 10 --rows 1000         the same, with exact draws as rows
    python benchmarks/coverage.py --hard 10 --rows 40 --gaps 0.4   log p of what is seen of rows

The models have all pairs of layers, and couplings from weak to too strong to mix. log Z is
estimated by annealing alone. The exact log Z comes from enumeration or, for two Gaussian layers,
from the closed form. The relaxation time comes from the spectrum of the Gibbs kernel where that is
small enough, and from chains elsewhere.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import harmonium as hm
from harmonium.layers.capabilities import projected
from harmonium.missing.both_ways import energies_of_rows
from harmonium.partition_function.annealed import Annealed

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from hard_models import FAMILIES, exact_rows

ROUNDING = 1e-4  # nats, of energies in float32
LAYERS = [
    (hm.Bernoulli(12), hm.Bernoulli(5)),
    (hm.Ising(10), hm.Ising(4)),
    (hm.Potts(5, states=3), hm.Potts(3, states=4)),
    (hm.Gaussian(6), hm.Gaussian(3)),
    (hm.Mixed(hm.Bernoulli(4), hm.Potts(2, states=3)), hm.Mixed(hm.Ising(3), hm.Bernoulli(2))),
]


def pairs() -> list[tuple]:
    """Return all pairs of visible and hidden layers with a side small enough to enumerate."""
    return [(v, h) for (v, _), (_, h) in itertools.product(LAYERS, LAYERS)]


def random_model(visible, hidden, rng: np.random.Generator, strength: float) -> hm.RBM:
    """Return a random model; couplings between continuous layers are weakened until Z is finite."""

    def moved(leaf):
        return leaf + jnp.asarray(rng.uniform(-0.7, 0.7, leaf.shape), leaf.dtype)

    visible, hidden = (projected(jax.tree.map(moved, layer)) for layer in (visible, hidden))
    scale = strength / np.sqrt(max(visible.size, hidden.size))
    weights = scale * 4 * rng.standard_normal((visible.size, hidden.size))
    if rng.uniform() < 0.3:  # one strong common mode, which mixes slowest
        u, v = rng.choice([-1.0, 1.0], visible.size), rng.choice([-1.0, 1.0], hidden.size)
        weights = weights + 2 * scale * np.outer(u, v)
    rbm = hm.RBM(visible, hidden, jnp.asarray(weights, jnp.result_type(float)))
    while not hm.finite_z(rbm):
        rbm = eqx.tree_at(lambda m: m.weights, rbm, 0.8 * rbm.weights)
    return rbm


def exact(rbm: hm.RBM) -> float:
    return hm.log_z(rbm, method="exact").value


def answered(ends: tuple[float, float, float], truth: float, rounding: float = 0.0) -> dict:
    """Return how far an estimate and the two ends of its interval lie from the truth, nats."""
    value, low, high = ends
    return {
        "error": float(value - truth),
        "low": float(low - truth),
        "high": float(high - truth),
        "miss": float(max(low - truth - rounding, truth - high - rounding, 0.0)),
    }


def judge(rbm: hm.RBM, key, seconds: float, steps: int | None) -> dict:
    """Estimate log Z by annealing alone, and return its distance from the exact value."""
    key_z, key_mixing = jax.random.split(key)
    started = time.perf_counter()
    answer = Annealed(seconds=seconds, steps=steps).estimate(rbm, key=key_z)
    took, truth = time.perf_counter() - started, exact(rbm)
    mixing = hm.mixing(rbm, key=key_mixing, sweeps=4_096, seconds=5.0)
    return {
        "model": str(rbm),
        **answered((answer.value, answer.low, answer.high), truth),
        "converged": answer.converged,
        "relaxation": mixing.relaxation,
        "resolved": mixing.resolved,
        "seconds": took,
        "method": answer.method,
        "message": answer.message,
    }


def summary(found: list[dict]) -> str:
    """Return the lines of the table."""
    good = [f for f in found if f["converged"]]
    rest = [f for f in found if not f["converged"]]
    quick = [f for f in found if f["resolved"] and f["relaxation"] < 100]
    slow = [f for f in found if not f["resolved"] or f["relaxation"] >= 100]
    covered = 100 * np.mean([f["miss"] == 0 for f in good])
    half = np.array([f["high"] - f["low"] for f in good]) / 2
    lines = [
        f"{len(found)} models, {len(slow)} with a relaxation time of 100 sweeps or more, or none"
        " that 4,096 sweeps could resolve",
        f"converged: {len(good)}; the 95 % interval covers in {covered:.1f} %; the worst miss lies"
        f" {max(f['miss'] for f in good):.4f} nats outside; half widths {half.min():.4f} to"
        f" {half.max():.4f}, median {np.median(half):.4f}",
        f"of {len(quick)} models that relax in under 100 sweeps,"
        f" {sum(f['converged'] for f in quick)} converged; of the {len(slow)} others,"
        f" {sum(f['converged'] for f in slow)}",
    ]
    if rest:
        errors = np.abs([f["error"] for f in rest])
        outside = sum(f["miss"] > 0 for f in rest)
        wide = np.median([f["high"] - f["low"] for f in rest]) / 2
        lines.append(
            f"unconverged, and said so: {len(rest)}; off by {np.median(errors):.3f} nats (median),"
            f" {errors.max():.3f} (largest); {outside} outside the wide interval,"
            f" whose half width is {wide:.3f} (median)"
        )
    lines.append(f"seconds an answer: median {np.median([f['seconds'] for f in found]):.1f}")
    return "\n".join(f"- {line}" for line in lines)


def hard_model(name: str, i: int, number: int, seed: int) -> tuple[np.random.Generator, hm.RBM]:
    """Return one model of a hard family, and the generator for its rows.

    The dial goes from easy to impossible with i.
    """
    rng = np.random.default_rng([seed, i, list(FAMILIES).index(name)])
    return rng, FAMILIES[name](rng, i / max(1, number - 1))


def judge_hard(name: str, i: int, number: int, seed: int, n_rows: int, seconds: float) -> dict:
    """Estimate log Z of one hard model, or the log-likelihood of rows that are exact draws of it.

    The error is that of log Z, in nats.
    """
    rng, rbm = hard_model(name, i, number, seed)
    truth = exact(rbm)
    key = jax.random.key(1_000 * seed + i)
    started = time.perf_counter()
    if n_rows:
        rows = exact_rows(rbm, n_rows, rng)
        settings = {"method": "annealed", "seconds": seconds}
        answer = hm.log_likelihood(rbm, rows, key=key, **settings).log_z
    else:
        answer = Annealed(seconds=seconds).estimate(rbm, key=key)
    took = time.perf_counter() - started
    word = getattr(answer, "convergence", "converged" if answer.converged else "not converged")
    return {
        "family": name,
        "dial": i / max(1, number - 1),
        "rows": n_rows,
        **answered((answer.value, answer.low, answer.high), truth),
        "word": str(word),
        "seconds": took,
        "method": answer.method,
        "message": answer.message,
    }


def judge_gaps(
    name: str, i: int, number: int, seed: int, n_rows: int, gaps: float, seconds: float
) -> list[dict]:
    """Anneal −F(v_seen) of exact draws with missing cells; return an entry for each row.

    A family whose sums over missing cells are too long to be exact has no entries.
    """
    rng, rbm = hard_model(name, i, number, seed)
    rows = np.array(exact_rows(rbm, n_rows, rng), np.float32)
    is_gap = rng.uniform(size=rows.shape) < gaps
    is_gap[:, 0] |= ~is_gap.any(1)
    rows[is_gap] = np.nan
    try:
        truth = -hm.free_energies(rbm, rows)
    except hm.InputError:
        return []
    started = time.perf_counter()
    key = jax.random.key(1_000 * seed + i)
    found = energies_of_rows(rbm, rows, key=key, seconds=seconds)
    took = time.perf_counter() - started
    ends = zip(found.value, found.low, found.high, strict=True)
    return [
        {
            "family": name,
            "dial": i / max(1, number - 1),
            **answered(of_row, truth[row], ROUNDING),
            "word": "converged" if found.converged[row] else "not converged",
            "seconds": took / n_rows,
            "method": "annealed",
            "message": f"row {row}",
        }
        for row, of_row in enumerate(ends)
    ]


def hard_table(found: list[dict]) -> str:
    """Return a line for each family: how many answers of each word, and how many of them miss."""
    words = ["converged", "unchecked", "not converged"]
    lines = ["| family | " + " | ".join(f"{word} | miss | worst" for word in words) + " | half |"]
    lines.append("|---" * (2 + 3 * len(words)) + "|")
    for family in [*FAMILIES, "all"]:
        cells = []
        mine = [one for one in found if family in (one["family"], "all")]
        for word in words:
            some = [one for one in mine if one["word"] == word]
            worst = max((one["miss"] for one in some), default=0.0)
            cells.append(f"{len(some)} | {sum(one['miss'] > 0 for one in some)} | {worst:.3f}")
        halves = [one["high"] - one["low"] for one in mine if one["word"] == "converged"]
        half = f"{np.median(halves) / 2:.4f}" if halves else ""
        lines.append(f"| {family} | " + " | ".join(cells) + f" | {half} |")
    return "\n".join(lines)


def hard(options: argparse.Namespace) -> None:
    """Print every answer on hard models that misses, then the table."""
    found = []
    for name in options.families or FAMILIES:
        for i in range(options.hard):
            which = (name, i, options.hard, options.seed, options.rows)
            if options.gaps:
                several = judge_gaps(*which, options.gaps, options.seconds)
            else:
                several = [judge_hard(*which, options.seconds)]
            found.extend(several)
            for one in several:
                if one["miss"]:
                    print(
                        f"{name} dial {one['dial']:.2f}: {one['word']}, error {one['error']:+.4f}"
                        f" in [{one['low']:+.4f}, {one['high']:+.4f}]; {one['method']};"
                        f" {one['message']}",
                        flush=True,
                    )
            if options.out:
                Path(options.out).write_text(json.dumps(found, indent=1))
        jax.clear_caches()  # models of other shapes follow
    print(hard_table(found))
    print(f"seconds an answer: median {np.median([one['seconds'] for one in found]):.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="for each answer")
    parser.add_argument("--steps", type=int, help="of each answer, instead of as many as needed")
    parser.add_argument("--strongest", type=float, default=6.0)
    parser.add_argument("--out", help="a JSON file for all answers")
    parser.add_argument("--hard", type=int, default=0, help="models of each hard family")
    parser.add_argument("--rows", type=int, default=0, help="exact draws of each hard model")
    parser.add_argument("--gaps", type=float, default=0.0, help="share of cells that are missing")
    parser.add_argument("--families", nargs="*", help="some of the hard families")
    options = parser.parse_args()
    if options.hard:
        hard(options)
        return
    rng, found, table = np.random.default_rng(options.seed), [], pairs()
    strengths = np.exp(rng.uniform(np.log(0.1), np.log(options.strongest), options.models))
    for i, strength in enumerate(strengths):
        visible, hidden = table[i * len(table) // options.models]
        rbm = random_model(visible, hidden, rng, strength)
        one = judge(
            rbm, jax.random.fold_in(jax.random.key(options.seed), i), options.seconds, options.steps
        )
        found.append(one | {"strength": float(strength)})
        if one["miss"] or not one["converged"]:
            print(
                f"{i:4d} {rbm!s} strength {strength:.2f}: error {one['error']:+.4f} in"
                f" [{one['low']:+.4f}, {one['high']:+.4f}], relaxation {one['relaxation']:.3g};"
                f" {one['method']}; {one['message']}",
                flush=True,
            )
        if options.out:
            Path(options.out).write_text(json.dumps(found, indent=1))
    print(summary(found))


if __name__ == "__main__":
    main()
