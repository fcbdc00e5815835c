"""Rows streamed from disk against rows in memory: speed, and memory at its highest.

    python benchmarks/streams.py [--gigabytes 20] [--out runs/streams] [--kind npy]

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

COLUMNS, HIDDEN, BATCH = 784, 500, 200
IN_MEMORY = 100_000  # rows
SLICE = 2**14  # rows that are written at once
KINDS = ("npy", "parquet", "function")


def rows_of(seed: int, count: int) -> np.ndarray:
    """Return synthetic rows: noisy copies of a few patterns."""
    patterns = np.random.default_rng(0).random((16, COLUMNS)) < 0.3
    rng = np.random.default_rng([1, seed])
    flips = rng.integers(0, 256, (count, COLUMNS), np.uint8) < 13
    return patterns[rng.integers(0, 16, count)] ^ flips


def written(out: Path, kind: str, total: int) -> object:
    """Write so many rows, unless they are there; return the source."""
    if kind == "function":
        return lambda: parts(total)
    out.mkdir(parents=True, exist_ok=True)
    if kind == "npy":
        path = out / f"rows-{total}.npy"
        if not path.exists():
            new = path.with_suffix(".part")
            dtype = np.dtype(np.float32)
            with new.open("wb") as file:
                shape = {"shape": (total, COLUMNS), "fortran_order": False}
                np.lib.format.write_array_header_1_0(file, {"descr": dtype.str, **shape})
                for part in parts(total):
                    part.astype(dtype).tofile(file)
            new.rename(path)
        return str(path)
    folder = out / f"{kind}-{total}"
    if not folder.exists():
        new = folder.with_suffix(".part")
        new.mkdir(exist_ok=True)
        for i, part in enumerate(parts(total)):
            import pyarrow
            from pyarrow import parquet

            flat = pyarrow.array(part.astype(np.float32).ravel())
            cells = pyarrow.FixedSizeListArray.from_arrays(flat, COLUMNS)
            parquet.write_table(pyarrow.table({"row": cells}), new / f"{i:06}.parquet")
        new.rename(folder)
    return str(folder)


def parts(total: int) -> Iterator[np.ndarray]:
    """Yield the rows a part at a time."""
    for first in range(0, total, SLICE):
        yield rows_of(first, min(SLICE, total - first))


def measured(source: object, total: int, seconds: float) -> dict:
    """Train on a source, or on rows in memory if it is None; return speed and memory."""
    import jax

    import harmonium as hm

    data = (
        hm.Dataset(rows_of(0, IN_MEMORY))
        if source is None
        else hm.Stream(source, rows=total if callable(source) else None)
    )
    key = jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(COLUMNS), hm.Bernoulli(HIDDEN), data, key=key)
    seen: list[tuple[float, int]] = []

    def watch(report: hm.Report) -> bool:
        seen.append((time.perf_counter(), report.updates))
        return source is None and seen[-1][0] - seen[0][0] > seconds

    epochs = 10_000 if source is None else 1
    recipe = hm.Recipe(rate=0.05)
    hm.fit(rbm, data, key=key, optimizer=recipe, epochs=epochs, batch_size=BATCH, callbacks=[watch])
    start = next(i for i, (at, _) in enumerate(seen) if at - seen[0][0] > 3.0)  # compiled by then
    (t0, u0), (t1, u1) = seen[start], seen[-1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"rows a second": (u1 - u0) * BATCH / (t1 - t0), "peak": peak, "seconds": t1 - t0}


def apart(arguments: argparse.Namespace, what: str) -> dict:
    """Measure in a process of its own."""
    words = ["--gigabytes", str(arguments.gigabytes), "--out", arguments.out, "--kind"]
    command = [sys.executable, __file__, *words, arguments.kind, "--only", what]
    command += ["--seconds", str(arguments.seconds)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr[-2000:])
    found = json.loads(done.stdout.splitlines()[-1])
    speed, peak = found["rows a second"], found["peak"] / 2**30
    print(f"{what:>10}: {speed:10,.0f} rows a second, {found['seconds']:6.0f} s, {peak:.2f} GiB")
    return found


def main() -> None:
    """Write the rows, measure both, and print the ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=20.0)
    parser.add_argument("--out", default="runs/streams")
    parser.add_argument("--kind", choices=KINDS, default="npy")
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", choices=("memory", "stream"))
    arguments = parser.parse_args()
    total = int(arguments.gigabytes * 1e9 / (4 * COLUMNS))
    if arguments.only:
        stream = arguments.only == "stream"
        source = written(Path(arguments.out), arguments.kind, total) if stream else None
        print(json.dumps(measured(source, total, arguments.seconds)))
        return
    print(f"{total:,} rows of {COLUMNS} columns, {arguments.gigabytes:g} GB in float32")
    written(Path(arguments.out), arguments.kind, total)
    before, stream, after = (apart(arguments, each) for each in ("memory", "stream", "memory"))
    usual = (before["rows a second"] + after["rows a second"]) / 2
    print(f"streamed: {stream['rows a second'] / usual:.0%} of the speed in memory")


if __name__ == "__main__":
    main()
