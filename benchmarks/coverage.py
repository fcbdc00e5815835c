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
from dataclasses import asdict, dataclass
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import harmonium as hm
from harmonium.likelihood.missing.both_ways import energies_of_rows
from harmonium.likelihood.partition_function.annealed import Annealed

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reporting import parser_of, table
from timing import timed

from hard_models import FAMILIES, exact_rows

STRONGEST = 6.0  # of the couplings' strengths
ROUNDING = 1e-4  # nats, of energies in float32
SWEEPS = 4_096  # of the chains that measure a relaxation time
QUICK = 100  # sweeps of relaxation below which annealing should converge
LAYERS = [
    (hm.Bernoulli(12), hm.Bernoulli(5)),
    (hm.Ising(10), hm.Ising(4)),
    (hm.Potts(5, states=3), hm.Potts(3, states=4)),
    (hm.Gaussian(6), hm.Gaussian(3)),
    (hm.Mixed(hm.Bernoulli(4), hm.Potts(2, states=3)), hm.Mixed(hm.Ising(3), hm.Bernoulli(2))),
]


def pairs() -> list[tuple]:
    """Return all pairs of visible and hidden layers, of which one is small enough to enumerate."""
    return [(v, h) for (v, _), (_, h) in itertools.product(LAYERS, LAYERS)]


def random_model(visible, hidden, rng: np.random.Generator, strength: float) -> hm.RBM:
    """Return a random model; couplings between continuous layers are weakened until Z is finite."""

    def moved(leaf):
        return leaf + jnp.asarray(rng.uniform(-0.7, 0.7, leaf.shape), leaf.dtype)

    visible = jax.tree.map(moved, visible).project()
    hidden = jax.tree.map(moved, hidden).project()
    scale = strength / np.sqrt(max(visible.size, hidden.size))
    weights = scale * 4 * rng.standard_normal((visible.size, hidden.size))
    if rng.uniform() < 0.3:  # a strong common mode, which mixes slowest
        u = rng.choice([-1.0, 1.0], visible.size)
        v = rng.choice([-1.0, 1.0], hidden.size)
        weights = weights + 2 * scale * np.outer(u, v)
    rbm = hm.RBM(visible, hidden, jnp.asarray(weights, jnp.result_type(float)))
    while not hm.likelihood.finite_z(rbm):
        rbm = eqx.tree_at(lambda m: m.weights, rbm, 0.8 * rbm.weights)
    return rbm


@dataclass(frozen=True)
class Answer:
    """An estimate of log Z, or of a row's log p, beside the exact value: all in nats.

    Attributes:
        model: the model, or its family.
        strength: of the couplings, or the dial of a hard family, from easy to impossible.
        truth: the exact value.
        value, low, high: the estimate, and the ends of its 95 % interval.
        verdict: "converged", "unchecked" or "not converged".
        seconds, method, message: of the estimate.
        rounding: nats outside the interval that may be rounding.
        relaxes: whether the Gibbs kernel was seen to relax in under `QUICK` sweeps.
        relaxation: its relaxation time, where that was measured.
    """

    model: str
    strength: float
    truth: float
    value: float
    low: float
    high: float
    verdict: str
    seconds: float
    method: str
    message: str
    rounding: float = 0.0
    relaxes: bool | None = None
    relaxation: float | None = None

    @property
    def error(self) -> float:
        """The estimate less the exact value."""
        return self.value - self.truth

    @property
    def miss(self) -> float:
        """How far the exact value lies outside the interval, 0 where it is covered."""
        return max(self.low - self.truth, self.truth - self.high, self.rounding) - self.rounding

    @property
    def converged(self) -> bool:
        """Whether the estimate converged."""
        return self.verdict == "converged"

    @property
    def half_width(self) -> float:
        """Half the width of the interval."""
        return (self.high - self.low) / 2

    def __str__(self) -> str:
        low = self.low - self.truth
        high = self.high - self.truth
        text = f"error {self.error:+.4f} in [{low:+.4f}, {high:+.4f}]"
        if self.relaxation is not None:
            text += f", relaxation {self.relaxation:.3g}"
        return f"{text}; {self.method}; {self.message}"


def verdict_of(converged: bool) -> str:
    return "converged" if converged else "not converged"


def exact(rbm: hm.RBM) -> float:
    return hm.log_z(rbm, method="exact").value


def judge(rbm: hm.RBM, strength: float, key, seconds: float, steps: int | None) -> Answer:
    """Estimate log Z by annealing alone, and measure how fast Gibbs chains relax."""
    key_z, key_mixing = jax.random.split(key)
    estimate, duration = timed(Annealed(seconds=seconds, steps=steps).estimate, rbm, key=key_z)
    mixing = hm.mixing(rbm, key=key_mixing, sweeps=SWEEPS, seconds=5.0)
    return Answer(
        truth=exact(rbm),
        value=float(estimate.value),
        low=float(estimate.low),
        high=float(estimate.high),
        model=str(rbm),
        strength=strength,
        verdict=verdict_of(estimate.converged),
        seconds=duration,
        method=estimate.method,
        message=estimate.message,
        relaxes=bool(mixing.resolved and mixing.relaxation < QUICK),
        relaxation=mixing.relaxation,
    )


def summary(answers: list[Answer]) -> str:
    """Return the lines of the table."""
    converged = [answer for answer in answers if answer.converged]
    unconverged = [answer for answer in answers if not answer.converged]
    quick = [answer for answer in answers if answer.relaxes]
    slow = [answer for answer in answers if not answer.relaxes]
    covered = 100 * np.mean([answer.miss == 0 for answer in converged])
    worst = max(answer.miss for answer in converged)
    half_widths = np.array([answer.half_width for answer in converged])
    lines = [
        f"{len(answers)} models, {len(slow)} with a relaxation time of {QUICK} sweeps or more, or"
        f" none that {SWEEPS:,} sweeps could resolve",
        f"converged: {len(converged)}; the 95 % interval covers in {covered:.1f} %; the worst miss"
        f" lies {worst:.4f} nats outside; half widths {half_widths.min():.4f} to"
        f" {half_widths.max():.4f}, median {np.median(half_widths):.4f}",
        f"of {len(quick)} models that relax in under {QUICK} sweeps,"
        f" {sum(answer.converged for answer in quick)} converged; of the {len(slow)} others,"
        f" {sum(answer.converged for answer in slow)}",
    ]
    if unconverged:
        errors = np.abs([answer.error for answer in unconverged])
        outside = sum(answer.miss > 0 for answer in unconverged)
        half_width = np.median([answer.half_width for answer in unconverged])
        lines.append(
            f"unconverged, and said so: {len(unconverged)}; off by {np.median(errors):.3f} nats"
            f" (median), {errors.max():.3f} (largest); {outside} outside the wide interval,"
            f" whose half width is {half_width:.3f} (median)"
        )
    lines.append(seconds_line(answers))
    return "\n".join(f"- {line}" for line in lines)


def seconds_line(answers: list[Answer]) -> str:
    return f"seconds an answer: median {np.median([answer.seconds for answer in answers]):.1f}"


def hard_model(name: str, i: int, number: int, seed: int) -> tuple[np.random.Generator, hm.RBM]:
    """Return a model of a hard family, and the generator for its rows.

    The dial goes from easy to impossible with i.
    """
    rng = np.random.default_rng([seed, i, list(FAMILIES).index(name)])
    return rng, FAMILIES[name](rng, dial(i, number))


def dial(i: int, number: int) -> float:
    return i / max(1, number - 1)


def judge_hard(name: str, i: int, number: int, seed: int, n_rows: int, seconds: float) -> Answer:
    """Estimate log Z of a hard model, by itself or for rows that are exact draws of it."""
    rng, rbm = hard_model(name, i, number, seed)
    truth = exact(rbm)
    key = jax.random.key(1_000 * seed + i)
    if n_rows:
        rows = exact_rows(rbm, n_rows, rng)
        settings = {"method": "annealed", "seconds": seconds}
        score, duration = timed(hm.log_likelihood, rbm, rows, key=key, **settings)
        estimate = score.log_z
    else:
        estimate, duration = timed(Annealed(seconds=seconds).estimate, rbm, key=key)
    # Only estimates for rows can be unchecked.
    verdict = getattr(estimate, "convergence", verdict_of(estimate.converged))
    return Answer(
        truth=truth,
        value=estimate.value,
        low=estimate.low,
        high=estimate.high,
        model=name,
        strength=dial(i, number),
        verdict=str(verdict),
        seconds=duration,
        method=estimate.method,
        message=estimate.message,
    )


def judge_gaps(
    name: str, i: int, number: int, seed: int, n_rows: int, gaps: float, seconds: float
) -> list[Answer]:
    """Anneal F(v_seen) of exact draws with missing cells; return the answer of each row.

    A family whose sums over missing cells are too long to be exact has no answers.
    """
    rng, rbm = hard_model(name, i, number, seed)
    rows = np.array(exact_rows(rbm, n_rows, rng), np.float32)
    is_gap = rng.uniform(size=rows.shape) < gaps
    is_gap[:, 0] |= ~is_gap.any(1)
    rows[is_gap] = np.nan
    try:
        truth = hm.free_energies(rbm, rows)
    except hm.InputError:
        return []
    key = jax.random.key(1_000 * seed + i)
    energies, duration = timed(energies_of_rows, rbm, rows, key=key, seconds=seconds)
    return [
        Answer(
            truth=truth[i_row],
            value=energies.value[i_row],
            low=energies.low[i_row],
            high=energies.high[i_row],
            rounding=ROUNDING,
            model=name,
            strength=dial(i, number),
            verdict=verdict_of(energies.converged[i_row]),
            seconds=duration / n_rows,
            method="annealed",
            message=f"row {i_row}",
        )
        for i_row in range(n_rows)
    ]


def hard_table(answers: list[Answer]) -> str:
    """Return a line for each family: the answers of each verdict, and those that miss."""
    verdicts = ["converged", "unchecked", "not converged"]
    titles = [title for verdict in verdicts for title in (verdict, "miss", "worst")]
    lines = [["family", *titles, "half"]]
    for family in [*FAMILIES, "all"]:
        members = [answer for answer in answers if family in (answer.model, "all")]
        line = [family]
        for verdict in verdicts:
            misses = [answer.miss for answer in members if answer.verdict == verdict]
            worst = max(misses, default=0.0)
            line += [str(len(misses)), str(sum(miss > 0 for miss in misses)), f"{worst:.3f}"]
        half_widths = [answer.half_width for answer in members if answer.converged]
        line.append(f"{np.median(half_widths):.4f}" if half_widths else "")
        lines.append(line)
    return table(lines)


def hard(args: argparse.Namespace) -> None:
    """Print every answer on hard models that misses, then the table."""
    answers: list[Answer] = []
    for name in FAMILIES:
        for i in range(args.hard):
            place = (name, i, args.hard, args.seed, args.rows)
            if args.gaps:
                new = judge_gaps(*place, args.gaps, args.seconds)
            else:
                new = [judge_hard(*place, args.seconds)]
            answers.extend(new)
            for answer in new:
                if answer.miss:
                    print(
                        f"{name} dial {answer.strength:.2f}: {answer.verdict}, {answer}", flush=True
                    )
        jax.clear_caches()  # models of other shapes follow
    print(hard_table(answers))
    print(seconds_line(answers))


def main() -> None:
    parser = parser_of(__doc__, models=300, seed=0, seconds=10.0, hard=0, rows=0, gaps=0.0)
    parser.add_argument("--steps", type=int, help="of each answer, instead of as many as needed")
    parser.add_argument("--out", type=Path, help="a JSON file for the answers on random models")
    args = parser.parse_args()
    if args.hard:
        hard(args)
        return
    rng = np.random.default_rng(args.seed)
    layers = pairs()
    strengths = np.exp(rng.uniform(np.log(0.1), np.log(STRONGEST), args.models))
    answers: list[Answer] = []
    for i, strength in enumerate(strengths.tolist()):
        visible, hidden = layers[i * len(layers) // args.models]
        rbm = random_model(visible, hidden, rng, strength)
        key = jax.random.fold_in(jax.random.key(args.seed), i)
        answer = judge(rbm, strength, key, args.seconds, args.steps)
        answers.append(answer)
        if answer.miss or not answer.converged:
            print(f"{i:4d} {rbm!s} strength {strength:.2f}: {answer}", flush=True)
    print(summary(answers))
    if args.out:
        args.out.write_text(json.dumps([asdict(answer) for answer in answers], indent=1))


if __name__ == "__main__":
    main()
