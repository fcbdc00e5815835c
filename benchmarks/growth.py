"""The cost of training against each size, from 784×500 on: a table and a picture.

    python benchmarks/growth.py [--seconds 2] [--rounds 3] [--picture runs/growth.png]

Each size is doubled and halved by itself; the others stay at 784×500, batches of 256, 256 chains,
k = 1, 20,000 rows of zeros and ones, and the default recipe. The unit is milliseconds an update,
from the difference of a long and a short call of `hm.fit`, which leaves out compiling and the fixed
cost of a call. Every round times all sizes in turn; the figures are medians.
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import harmonium as hm
from harmonium.plot.base import COLORS, label, legend_below, new_figure, save_figure

FACTORS = (0.25, 0.5, 1, 2, 4)


class Size(NamedTuple):
    """The sizes on which the cost of an update may depend."""

    visible: int = 784
    hidden: int = 500
    batch: int = 256
    chains: int = 256
    k: int = 1
    rows: int = 20_000


VARIED = {
    "visible": FACTORS,
    "hidden": FACTORS,
    "batch": FACTORS,
    "chains": FACTORS,
    "k": (1, 2, 4, 8, 16),
    "rows": FACTORS,
}


def all_sizes() -> dict[str, list[Size]]:
    """Return the sizes to time, by the one that is varied."""
    base = Size()
    return {
        name: [base._replace(**{name: round(getattr(base, name) * f)}) for f in factors]
        for name, factors in VARIED.items()
    }


class Timed:
    """Updates of one size, made on demand; each call continues where the last one stopped."""

    def __init__(self, size: Size):
        key, rng = jax.random.key(0), np.random.default_rng(0)
        x = (rng.random((size.rows, size.visible), np.float32) < 0.2).astype(np.uint8)
        self.data = hm.Dataset(x)
        self.rbm = hm.initialize(hm.Bernoulli(size.visible), hm.Bernoulli(size.hidden), x, key=key)
        self.per_epoch = -(-size.rows // size.batch)
        self.given: dict[str, Any] = {
            "key": key,
            "gradient": hm.Persistent(hm.Gibbs(size.k), chains=size.chains),
            "optimizer": hm.Recipe()(10**9),
            "batch_size": size.batch,
        }
        self.epochs, self.state = 0, None
        self.long = 1

    def spend(self, epochs: int) -> float:
        """Return the seconds that so many more epochs take."""
        self.epochs += epochs
        began = time.perf_counter()
        fit = hm.fit(self.rbm, self.data, epochs=self.epochs, state=self.state, **self.given)
        self.state = jax.block_until_ready(fit.state)
        return time.perf_counter() - began

    def settle(self, seconds: float) -> None:
        """Find the number of epochs that takes about so many seconds."""
        self.spend(1)
        self.long = max(2, round(seconds / self.spend(1)))

    def pace(self) -> float:
        """Return the milliseconds of an update."""
        short = self.spend(1)
        return 1e3 * (self.spend(1 + self.long) - short) / (self.long * self.per_epoch)


def draw(sizes: dict[str, list[Size]], found: dict[Size, float], path: Path) -> None:
    """Draw the time of an update against each size, both relative to the middle size."""
    base = Size()
    figure = new_figure(6.6, 4.4)
    axes = figure.subplots()
    for (name, many), color in zip(sizes.items(), COLORS, strict=False):
        x = [getattr(size, name) / getattr(base, name) for size in many]
        y = [found[size] / found[base] for size in many]
        axes.plot(x, y, marker="o", markersize=4, color=color, label=name)
    proportional = {"color": "0.7", "linewidth": 0.8, "linestyle": "--"}
    axes.plot([0.25, 16], [0.25, 16], label="in proportion", **proportional)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    ticks = [0.25, 0.5, 1, 2, 4, 8, 16]
    axes.set_xticks(ticks, ["¼", "½", "1", "2", "4", "8", "16"])
    axes.set_yticks(ticks, ["¼", "½", "1", "2", "4", "8", "16"])
    label(axes, "", "size, in units of 784×500, batches of 256", "time of an update, likewise")
    legend_below(figure, 4)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_figure(figure, path)


def main() -> None:
    """Time all sizes and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--picture", type=Path, default=Path("runs/growth.png"))
    asked = parser.parse_args()
    sizes = all_sizes()
    timed: dict[Size, Timed] = {}
    for size in dict.fromkeys(size for many in sizes.values() for size in many):
        timed[size] = Timed(size)
        timed[size].settle(asked.seconds)
        print(f"  {size}", flush=True)
    paces: dict[Size, list[float]] = {size: [] for size in timed}
    for _ in range(asked.rounds):
        for size, each in timed.items():
            paces[size].append(each.pace())
    found = {size: statistics.median(of) for size, of in paces.items()}
    for name, many in sizes.items():
        at = " | ".join(f"{getattr(size, name):,}" for size in many)
        cells = " | ".join(f"{found[size]:.2f}" for size in many)
        print(f"| {name} | {at} |\n| ms an update | {cells} |", flush=True)
    draw(sizes, found, asked.picture)


if __name__ == "__main__":
    main()
