"""Rows streamed from disk against rows in memory: speed, and memory at its highest.

    python benchmarks/streams.py [--gigabytes 20] [--out runs/streams]

A file of synthetic 0/1 rows is written, in float32, as people store them. A model learns from it by
`hm.Stream` for one epoch; before, between and after, another process of the same kind learns from
as many rows as fit into memory. Printed are the rows per second of both, their ratio, and the
largest resident memory of the streaming process.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from reporting import parser_of

COLUMNS = 784
HIDDEN = 500
BATCH = 200
IN_MEMORY = 100_000  # rows
SLICE = 2**14  # rows that are written at once


def rows_of(seed: int, count: int) -> np.ndarray:
    """Return synthetic rows: noisy copies of a few patterns."""
    patterns = np.random.default_rng(0).random((16, COLUMNS)) < 0.3
    rng = np.random.default_rng([1, seed])
    flips = rng.integers(0, 256, (count, COLUMNS), np.uint8) < 13
    return patterns[rng.integers(0, 16, count)] ^ flips


def written(out: Path, total: int) -> Path:
    """Write so many rows, unless they are there; return the file."""
    path = out / f"rows-{total}.npy"
    if path.exists():
        return path
    out.mkdir(parents=True, exist_ok=True)
    header = {"descr": np.dtype(np.float32).str, "fortran_order": False, "shape": (total, COLUMNS)}
    new = path.with_suffix(".part")
    with new.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        for part in parts(total):
            part.astype(np.float32).tofile(file)
    new.rename(path)  # so that a file that is there is complete
    return path


def parts(total: int) -> Iterator[np.ndarray]:
    """Yield the rows a part at a time."""
    for first in range(0, total, SLICE):
        yield rows_of(first, min(SLICE, total - first))


def measured(file: Path | None, seconds: float) -> dict:
    """Train on a file, or on rows in memory if it is None; return speed and memory."""
    import jax

    import harmonium as hm

    if file is None:
        data = hm.Dataset(rows_of(0, IN_MEMORY))
        epochs = 10_000  # until the time is over
    else:
        data = hm.Stream(str(file))
        epochs = 1
    key = jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(COLUMNS), hm.Bernoulli(HIDDEN), data, key=key)
    times: list[float] = []
    updates: list[int] = []

    def watch(report: hm.training.Report) -> bool:
        times.append(time.perf_counter())
        updates.append(report.updates)
        return file is None and times[-1] - times[0] > seconds

    recipe = hm.Recipe(rate=0.05)
    hm.fit(rbm, data, key=key, optimizer=recipe, epochs=epochs, batch_size=BATCH, callbacks=[watch])
    first = np.searchsorted(times, times[0] + 3.0, side="right")  # compiled by then
    duration = times[-1] - times[first]
    speed = (updates[-1] - updates[first]) * BATCH / duration
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"rows a second": speed, "peak": peak, "seconds": duration}


def apart(args: argparse.Namespace, what: str) -> dict:
    """Measure in a process of its own."""
    command = [sys.executable, __file__, "--only", what, "--out", str(args.out)]
    command += ["--gigabytes", str(args.gigabytes), "--seconds", str(args.seconds)]
    completed = subprocess.run(command, capture_output=True, text=True)
    if completed.returncode:
        sys.exit(completed.stderr[-2000:])
    result = json.loads(completed.stdout.splitlines()[-1])
    speed = result["rows a second"]
    peak = result["peak"] / 2**30
    print(f"{what:>10}: {speed:10,.0f} rows a second, {result['seconds']:6.0f} s, {peak:.2f} GiB")
    return result


def main() -> None:
    """Write the rows, measure both, and print the ratio."""
    parser = parser_of(__doc__, gigabytes=20.0, out=Path("runs/streams"), seconds=60.0)
    parser.add_argument("--only", choices=("memory", "stream"))
    args = parser.parse_args()
    total = int(args.gigabytes * 1e9 / (4 * COLUMNS))
    if args.only == "memory":
        print(json.dumps(measured(None, args.seconds)))
        return
    if args.only == "stream":
        print(json.dumps(measured(written(args.out, total), args.seconds)))
        return
    print(f"{total:,} rows of {COLUMNS} columns, {args.gigabytes:g} GB in float32")
    written(args.out, total)
    before = apart(args, "memory")
    stream = apart(args, "stream")
    after = apart(args, "memory")
    usual = (before["rows a second"] + after["rows a second"]) / 2
    print(f"streamed: {stream['rows a second'] / usual:.0%} of the speed in memory")


if __name__ == "__main__":
    main()
