"""MNIST's zeros and ones: how often chains change the digit, PTT against Gibbs sampling.

    python benchmarks/jumps.py [--out runs/jumps] [--seconds 3600] [--updates 5000] [--method ptt]

784×200, PCD-100 with 2,000 chains at rate 0.01, as Béreux et al. 2025 trained it, for as many
updates as the time allows. Models from the run are kept, and parallel trajectory tempering (PTT)
uses them as its ladder. A replica's step evaluates three models and draws from one, which takes
four matrix products; a Gibbs sweep takes two. So there are twice as many Gibbs chains as replicas,
which make as many sweeps. All chains begin at rows of the data; further replicas that begin at
noise show whether that matters. `--method ptt` trains by exchange along the trajectory in place of
PCD. The models are stored in the folder, and stored models are not trained again. Set
HARMONIUM_DATA to the folder of reference data.
"""

import json
import math
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from reference_data import zeros_and_ones
from reporting import parser_of
from three_ways_pictures import save_small
from timing import timed

import harmonium as hm
from harmonium.plot.base import COLORS, SMALL, label, new_figure

HIDDEN = 200
RATE = 0.01
SWEEPS = 100
CHAINS = 2_000
PLACES = 20
METHODS = {
    "pcd": hm.Persistent(hm.Gibbs(SWEEPS), CHAINS),
    "ptt": hm.Trajectory(PLACES, CHAINS // PLACES, sweeps=SWEEPS // 5),
}
COLUMNS = 100  # independent chains, or columns of replicas, whose states are recorded
SHOWN = 2_000  # steps in the picture
DEEP = 0.5  # of the distance from the middle to a digit's mean; beyond, a chain has arrived


def train(rows: np.ndarray, folder: Path, method, seconds: float, updates: int) -> list[hm.RBM]:
    """Train and keep a model whenever the updates grow by a factor 2^(1/8); return these models."""
    file = folder / "kept.npz"
    blank = hm.RBM(hm.Bernoulli(784), hm.Bernoulli(HIDDEN), jnp.zeros((784, HIDDEN)))
    if file.exists():
        with np.load(file) as archive:
            stacks = [archive[f"arr_{i}"] for i in range(3)]
        structure = jax.tree.structure(blank)
        return [jax.tree.unflatten(structure, list(leaves)) for leaves in zip(*stacks, strict=True)]
    rbm = hm.initialize(blank.visible, blank.hidden, rows, key=jax.random.key(0))
    models = [rbm.uncoupled]
    started = time.perf_counter()
    ends = sorted({round(2 ** (i / 8)) for i in range(8, 120)} | {updates})
    epochs = math.ceil(updates / math.ceil(len(rows) / CHAINS))

    def store(report: hm.training.Report) -> bool:
        if report.updates >= ends[0]:
            while ends and report.updates >= ends[0]:
                ends.pop(0)
            models.append(report.state.rbm)
            print(f"  update {report.updates}, {time.perf_counter() - started:.0f} s", flush=True)
        return time.perf_counter() - started > seconds or report.updates >= updates

    recipe = hm.Recipe(rate=RATE, centring=None, averaging=None, hold=1.0)
    settings = {"gradient": method, "optimizer": recipe, "epochs": epochs, "batch_size": CHAINS}
    fit = hm.fit(rbm, rows, key=jax.random.key(1), callbacks=[store], **settings)
    models.append(fit.state.rbm)
    print(f"{int(fit.state.updates)} updates in {time.perf_counter() - started:.0f} s")
    np.savez(file, *map(np.stack, zip(*map(jax.tree.leaves, models), strict=True)))
    return models


def watched(rbm: hm.RBM, sampler, state, steps: int, axis, key) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of chains on the axis after every step, and the last states."""

    @eqx.filter_jit
    def go(rbm, state, first, key):
        def step(state, i):
            state, _ = sampler.step(rbm, state, key=jax.random.fold_in(key, first + i))
            return state, sampler.positions(state) @ axis

        return jax.lax.scan(step, state, jnp.arange(500))

    positions = []
    for first in range(0, steps, 500):
        state, along = go(rbm, state, jnp.asarray(first), key)
        positions.append(np.asarray(along))
    return np.concatenate(positions), np.asarray(sampler.positions(state))


def jumps(along: np.ndarray) -> np.ndarray:
    """Count each chain's changes from deep in one digit to deep in the other."""
    counts = []
    for chain in along.T:
        places = np.sign(chain) * (abs(chain) >= DEEP)
        counts.append((np.diff(places[places != 0]) != 0).sum())
    return np.array(counts)


def independent(along: np.ndarray) -> float:
    """Return the effective number of independent draws of the digit, less the starts of chains.

    The mean of a chain over time has the variance p(1 − p)/n if the chain is worth n draws; n is
    one if it never leaves its first digit.
    """
    ones = along > 0
    p = ones.mean()
    draws = p * (1 - p) / np.square(ones.mean(0) - p).mean()
    return float((draws - 1) * along.shape[1])


def draw(traces: dict[str, np.ndarray], rows: np.ndarray, path: Path) -> None:
    """Draw the last steps of chains with most, median and fewest jumps, and histograms of all."""
    figure = new_figure(10.0, 4.6)
    panels = figure.subplots(len(traces), 2, sharey=True, width_ratios=(4, 1), squeeze=False)
    edges = np.linspace(-1.6, 1.6, 65)
    for (chains, histogram), (name, along) in zip(panels, traces.items(), strict=True):
        counts = jumps(along)
        order = np.argsort(counts)
        for place, shade in zip((-1, len(order) // 2, 0), COLORS, strict=False):
            words = f"{counts[order[place]]:,} jumps"
            chains.plot(along[-SHOWN:, order[place]], label=words, color=shade, linewidth=0.8)
        label(chains, f"{name}: chains of most, median and fewest jumps", "step", "zero ← → one")
        chains.legend(frameon=False, fontsize=SMALL, loc="upper right", ncols=3)
        settings = {"bins": edges, "density": True, "orientation": "horizontal"}
        histogram.hist(along[len(along) // 2 :: 10].ravel(), label=name, **settings)
        histogram.hist(rows, histtype="step", color="black", label="data", **settings)
        label(histogram, "", "density", "")
        histogram.legend(frameon=False, fontsize=SMALL)
    save_small(figure, path)


def main() -> None:
    """Train, sample by both methods, and report."""
    parser = parser_of(__doc__, out="runs/jumps", seconds=3_600.0, updates=5_000, steps=10_000)
    parser.add_argument("--method", choices=tuple(METHODS), default="pcd")
    args = parser.parse_args()
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    rows, labels = zeros_and_ones()
    zero = rows[labels == 0].mean(0)
    difference = rows[labels == 1].mean(0) - zero
    axis = 2.0 * difference / (difference @ difference)  # −1 at the mean zero, +1 at the mean one
    middle = float((2 * zero + difference) @ axis / 2)
    models = train(rows, folder, METHODS[args.method], args.seconds, args.updates)
    rbm = models[-1]
    keys = jax.random.split(jax.random.key(2), 4)
    unadapted = hm.ReplicaExchange(hm.path.History.through(models), times=24)
    ladder = hm.samplers.adapted_ladder(rbm, unadapted, key=keys[0], acceptance=0.3)
    print(hm.samplers.ladder_report(rbm, ladder, key=keys[0], chains=COLUMNS, steps=500))
    length = len(ladder.times)
    start = rows[:: len(rows) // COLUMNS][:COLUMNS].astype(np.float32)
    chains = np.tile(start, (2 * length, 1))
    results = {}
    traces = {}
    gibbs = hm.Gibbs(1)
    for name, sampler, state in (
        ("PTT", ladder, ladder.init(rbm, jnp.asarray(start), key=keys[1])),
        ("PTT from noise", ladder, ladder.init_independent(rbm, COLUMNS, key=keys[1])),
        ("Gibbs", gibbs, gibbs.init(rbm, jnp.asarray(chains), key=keys[1])),
    ):
        steps = (args.steps, jnp.asarray(axis), keys[2])
        (along, last), seconds = timed(watched, rbm, sampler, state, *steps)
        along = along - middle
        traces[name] = along
        counts = jumps(along)
        results[name] = {
            "jumps": int(counts.sum()),
            "chains with a jump": int((counts > 0).sum()),
            "independent draws": independent(along),
            "seconds": seconds,
            "ones": float((along[len(along) // 2 :] > 0).mean()),
            "rms of means": float(np.sqrt(((last.mean(0) - rows.mean(0)) ** 2).mean())),
        }
        print(name, results[name], flush=True)
    ratio = max(results["PTT"]["jumps"], 1) / max(results["Gibbs"]["jumps"], 1)
    print(f"ratio of jumps {ratio:.1f}; data: part of ones {labels.mean():.3f}")
    (folder / "jumps.json").write_text(json.dumps(results | {"models": length, "ratio": ratio}))
    draw(traces, rows @ axis - middle, folder / "jumps.png")


if __name__ == "__main__":
    main()
