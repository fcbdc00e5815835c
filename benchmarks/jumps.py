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

import argparse
import json
import time
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from published import zeros_and_ones
from three_ways_pictures import save_small

import harmonium as hm
from harmonium.plot.base import COLORS, SMALL, label, new_figure

HIDDEN, RATE, SWEEPS, CHAINS, PLACES = 200, 0.01, 100, 2_000, 20
METHODS = {
    "pcd": hm.Persistent(hm.Gibbs(SWEEPS), CHAINS),
    "ptt": hm.Trajectory(PLACES, CHAINS // PLACES, sweeps=SWEEPS // 5),
}
COLUMNS = 100  # independent chains, or columns of replicas, whose states are recorded
SHOWN = 2_000  # steps in the picture
DEEP = 0.5  # of the way from the middle to a digit's mean; beyond, a chain has arrived


def train(rows: np.ndarray, folder: Path, method, seconds: float, updates: int) -> list[hm.RBM]:
    """Train and keep a model whenever the updates grow by a factor 2^(1/8); return these models."""
    done = folder / "kept.npz"
    blank = hm.RBM(hm.Bernoulli(784), hm.Bernoulli(HIDDEN), jnp.zeros((784, HIDDEN)))
    if done.exists():
        with np.load(done) as archive:
            stacks = [archive[f"arr_{i}"] for i in range(3)]
        structure = jax.tree.structure(blank)
        return [jax.tree.unflatten(structure, list(each)) for each in zip(*stacks, strict=True)]
    rbm = hm.initialize(blank.visible, blank.hidden, rows, key=jax.random.key(0))
    kept, began = [rbm.uncoupled], time.perf_counter()
    ends = sorted({round(2 ** (i / 8)) for i in range(8, 120)} | {updates})
    per_epoch = -(-len(rows) // CHAINS)

    def keep(report: hm.Report) -> bool:
        if report.updates >= ends[0]:
            while ends and report.updates >= ends[0]:
                ends.pop(0)
            kept.append(report.state.rbm)
            print(f"  update {report.updates}, {time.perf_counter() - began:.0f} s", flush=True)
        return time.perf_counter() - began > seconds or report.updates >= updates

    fit = hm.fit(
        rbm,
        rows,
        key=jax.random.key(1),
        gradient=method,
        optimizer=hm.Recipe(rate=RATE, centring=None, averaging=None, hold=1.0),
        batch_size=CHAINS,
        epochs=-(-updates // per_epoch),
        callbacks=[keep],
    )
    kept.append(fit.state.rbm)
    print(f"{int(fit.state.updates)} updates in {time.perf_counter() - began:.0f} s")
    np.savez(done, *map(np.stack, zip(*map(jax.tree.leaves, kept), strict=True)))
    return kept


def watched(rbm: hm.RBM, sampler, state, steps: int, axis, key) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of chains on the axis after every step, and the last states."""

    @eqx.filter_jit
    def go(rbm, state, first, key):
        def step(state, i):
            state, _ = sampler.step(rbm, state, key=jax.random.fold_in(key, first + i))
            return state, sampler.positions(state) @ axis

        return jax.lax.scan(step, state, jnp.arange(500))

    found = []
    for first in range(0, steps, 500):
        state, along = go(rbm, state, jnp.asarray(first), key)
        found.append(np.asarray(along))
    return np.concatenate(found), np.asarray(sampler.positions(state))


def jumps(along: np.ndarray) -> np.ndarray:
    """Count each chain's changes from deep in one digit to deep in the other."""
    found = []
    for chain in along.T:
        places = np.sign(chain) * (abs(chain) >= DEEP)
        found.append((np.diff(places[places != 0]) != 0).sum())
    return np.array(found)


def independent(along: np.ndarray) -> float:
    """Return the effective number of independent draws of the digit, less the starts of chains.

    The mean of a chain over time has the variance p(1 − p)/n if the chain is worth n draws; n is
    one if it never leaves its first digit.
    """
    ones = along > 0
    p = ones.mean()
    each = p * (1 - p) / np.square(ones.mean(0) - p).mean()
    return float((each - 1) * along.shape[1])


def draw(found: dict[str, np.ndarray], rows: np.ndarray, path: Path) -> None:
    """Draw the last steps of chains with most, median and fewest jumps, and histograms of all."""
    figure = new_figure(10.0, 4.6)
    panels = figure.subplots(len(found), 2, sharey=True, width_ratios=(4, 1), squeeze=False)
    edges = np.linspace(-1.6, 1.6, 65)
    for line, (name, along) in zip(panels, found.items(), strict=True):
        counts = jumps(along)
        order = np.argsort(counts)
        for place, shade in zip((-1, len(order) // 2, 0), COLORS, strict=False):
            settings = {
                "label": f"{counts[order[place]]:,} jumps",
                "color": shade,
                "linewidth": 0.8,
            }
            line[0].plot(along[-SHOWN:, order[place]], **settings)
        label(line[0], f"{name}: chains of most, median and fewest jumps", "step", "zero ← → one")
        line[0].legend(frameon=False, fontsize=SMALL, loc="upper right", ncols=3)
        settings = {"bins": edges, "density": True, "orientation": "horizontal"}
        line[1].hist(along[len(along) // 2 :: 10].ravel(), label=name, **settings)
        line[1].hist(rows, histtype="step", color="black", label="data", **settings)
        label(line[1], "", "density", "")
        line[1].legend(frameon=False, fontsize=SMALL)
    save_small(figure, path)


def main() -> None:
    """Train, sample by both methods, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="runs/jumps")
    parser.add_argument("--seconds", type=float, default=3_600)
    parser.add_argument("--updates", type=int, default=5_000)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--method", choices=tuple(METHODS), default="pcd")
    given = parser.parse_args()
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    rows, labels = zeros_and_ones()
    means = [rows[labels == digit].mean(0) for digit in (0, 1)]
    way = means[1] - means[0]
    axis = 2.0 * way / (way @ way)  # −1 at the mean zero, +1 at the mean one
    middle = float((means[0] + means[1]) @ axis / 2)
    kept = train(rows, folder, METHODS[given.method], given.seconds, given.updates)
    rbm = kept[-1]
    keys = jax.random.split(jax.random.key(2), 4)
    begun = hm.ReplicaExchange(hm.History.through(kept), times=24)
    ladder = hm.adapted_ladder(rbm, begun, key=keys[0], acceptance=0.3)
    print(hm.ladder_report(rbm, ladder, key=keys[0], chains=COLUMNS, steps=500))
    models = len(ladder.times)
    start = rows[:: len(rows) // COLUMNS][:COLUMNS].astype(np.float32)
    chains = np.tile(start, (2 * models, 1))
    found, traces = {}, {}
    gibbs = hm.Gibbs(1)
    for name, sampler, state in (
        ("PTT", ladder, ladder.init(rbm, jnp.asarray(start), key=keys[1])),
        ("PTT from noise", ladder, ladder.init_independent(rbm, COLUMNS, key=keys[1])),
        ("Gibbs", gibbs, gibbs.init(rbm, jnp.asarray(chains), key=keys[1])),
    ):
        began = time.perf_counter()
        along, last = watched(rbm, sampler, state, given.steps, jnp.asarray(axis), keys[2])
        along = along - middle
        seconds, traces[name] = time.perf_counter() - began, along
        counts = jumps(along)
        found[name] = {
            "jumps": int(counts.sum()),
            "chains with a jump": int((counts > 0).sum()),
            "independent draws": independent(along),
            "seconds": seconds,
            "ones": float((along[len(along) // 2 :] > 0).mean()),
            "rms of means": float(np.sqrt(((last.mean(0) - rows.mean(0)) ** 2).mean())),
        }
        print(name, found[name], flush=True)
    ratio = max(found["PTT"]["jumps"], 1) / max(found["Gibbs"]["jumps"], 1)
    print(f"ratio of jumps {ratio:.1f}; data: part of ones {labels.mean():.3f}")
    (folder / "jumps.json").write_text(json.dumps(found | {"models": models, "ratio": ratio}))
    draw(traces, rows @ axis - middle, folder / "jumps.png")


if __name__ == "__main__":
    main()
