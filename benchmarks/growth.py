"""The cost of training against each size, from 784×500 on: a table.

    python benchmarks/growth.py [--seconds 2] [--rounds 3] [--out runs/growth.json]

Each size is doubled and halved by itself; the others stay at 784×500, batches of 256, 256 chains,
k = 1, 20,000 rows of zeros and ones, and the default recipe. The unit is milliseconds an update,
from the difference of a long and a short call of `hm.fit`, which leaves out compiling and the fixed
cost of a call. Every round times all sizes in turn; the figures are medians. They are written as in
docs/measured/growth.json, which benchmarks/pictures.py draws.
"""

import json
import statistics
from pathlib import Path
from typing import NamedTuple

import numpy as np
from reporting import parser_of, row
from timing import ContinuedRun, in_turn

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


VARIED = dict.fromkeys(Size._fields, FACTORS) | {"k": (1, 2, 4, 8, 16)}


def all_sizes() -> dict[str, list[Size]]:
    """Return the sizes to time, by the one that is varied."""
    base = Size()
    return {
        name: [base._replace(**{name: round(getattr(base, name) * factor)}) for factor in factors]
        for name, factors in VARIED.items()
    }


class Pace:
    """The time of an update of one size, from the difference of a long and a short call."""

    def __init__(self, size: Size, seconds: float):
        noise = np.random.default_rng(0).random((size.rows, size.visible), np.float32)
        self.run = ContinuedRun(
            hm.Bernoulli(size.visible),
            size.hidden,
            (noise < 0.2).astype(np.uint8),
            batch=size.batch,
            chains=size.chains,
            k=size.k,
            recipe=hm.Recipe(),
        )
        self.run.train(1)  # compiles
        self.epochs = max(2, round(seconds / self.run.train(1)))  # of the long call, less one

    def __call__(self) -> float:
        """Return the milliseconds of an update."""
        short = self.run.train(1)
        long = self.run.train(1 + self.epochs)
        return 1e3 * (long - short) / (self.epochs * self.run.updates_per_epoch)


def summary(sizes: dict[str, list[Size]], milliseconds: dict[Size, float]) -> dict:
    """Return the milliseconds of an update for each factor, as in docs/measured/growth.json."""
    base = Size()
    names = {"visible": "visible units", "hidden": "hidden units"}
    records = [
        {
            "size": names.get(name, name),
            "milliseconds": {
                f"{getattr(size, name) / getattr(base, name):g}": round(milliseconds[size], 2)
                for size in series
            },
        }
        for name, series in sizes.items()
    ]
    start = f"{base.visible}×{base.hidden}, batches of {base.batch}, {base.chains} chains"
    start += f", k = {base.k}, {base.rows:,} rows"
    return {"program": "benchmarks/growth.py", "start": start, "records": records}


def main() -> None:
    """Time all sizes and report."""
    args = parser_of(__doc__, seconds=2.0, rounds=3, out=Path("runs/growth.json")).parse_args()
    sizes = all_sizes()
    paces: dict[Size, Pace] = {}
    for size in dict.fromkeys(size for series in sizes.values() for size in series):
        paces[size] = Pace(size, args.seconds)
        print(f"  {size}", flush=True)
    measured = in_turn(paces, args.rounds)
    milliseconds = {size: statistics.median(times) for size, times in measured.items()}
    for name, series in sizes.items():
        print(row([name, *(f"{getattr(size, name):,}" for size in series)]))
        print(row(["ms an update", *(f"{milliseconds[size]:.2f}" for size in series)]), flush=True)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(summary(sizes, milliseconds), indent=1, ensure_ascii=False))
    print(f"python benchmarks/pictures.py growth {args.out} {args.out.with_suffix('.png')}")


if __name__ == "__main__":
    main()
