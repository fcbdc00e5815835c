"""The cost of training against each size, from 784×500 on: a table.

    python benchmarks/growth.py [--seconds 2] [--rounds 3] [--out runs/growth.json]

Each size is doubled and halved by itself; the others stay at 784×500, batches of 256, 256 chains,
k = 1, 20,000 rows of zeros and ones, and the default recipe. The unit is milliseconds an update,
from the difference of a long and a short call of `hm.fit`, which leaves out compiling and the fixed
cost of a call. Every round times all sizes in turn; the figures are medians. They are written as in
docs/measured/growth.json, which benchmarks/pictures.py draws.
"""

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

import harmonium as hm

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


def summary(sizes: dict[str, list[Size]], found: dict[Size, float]) -> dict:
    """Return the milliseconds of an update for each factor, as in docs/measured/growth.json."""
    base = Size()
    names = {"visible": "visible units", "hidden": "hidden units"}
    records = [
        {
            "size": names.get(name, name),
            "milliseconds": {
                f"{getattr(size, name) / getattr(base, name):g}": round(found[size], 2)
                for size in many
            },
        }
        for name, many in sizes.items()
    ]
    start = f"{base.visible}×{base.hidden}, batches of {base.batch}, {base.chains} chains"
    start += f", k = {base.k}, {base.rows:,} rows"
    return {"program": "benchmarks/growth.py", "start": start, "records": records}


def main() -> None:
    """Time all sizes and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("runs/growth.json"))
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
    asked.out.parent.mkdir(parents=True, exist_ok=True)
    asked.out.write_text(json.dumps(summary(sizes, found), indent=1, ensure_ascii=False))
    print(f"python benchmarks/pictures.py growth {asked.out} {asked.out.with_suffix('.png')}")


if __name__ == "__main__":
    main()
