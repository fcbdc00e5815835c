"""What devices and processes cost on this computer, and a model of larger ones.

    python benchmarks/scaling.py                  # measure everything: about half an hour
    python benchmarks/scaling.py --quick          # fewer rounds and counts, to try it out
    python benchmarks/scaling.py --page           # measure nothing: predictions, tables, picture

Writes docs/measured/scaling.json, then the tables of docs/decisions/scaling.md and its picture from
it; with --quick into --out only. Weak scaling: the rows, or the hidden units, of a device stay the
same as there are more devices. All devices share this computer's cores, so each spread update is
timed beside the same update on one device, in turn, by the same process or one with as many
threads. A ratio is taken within a round; tables have medians over rounds, the lowest and the
highest.
"""

import json
import os
import statistics
import time
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
import scaling_page
from reporting import parser_of, processor
from scaling_model import Work, features, fitted, found_in, operations, sent
from scaling_processes import Group, Seconds, compiled
from timing import PLAIN

import harmonium as hm

DOCS = Path(__file__).parents[1] / "docs"
SHARED = {  # the update of n devices, of 784 visible units, and its mesh
    "rows": lambda n: Work(784, 512, 128 * n, 128 * n, data=n),
    "few rows": lambda n: Work(784, 512, 16 * n, 16 * n, data=n),
    "hidden units": lambda n: Work(784, 256 * n, 128, 128, columns=n),
}
EXCHANGED = (2**10, 2**17, 2**21)  # bytes of a device
RECIPES = {"plain": PLAIN, "default": hm.Recipe(), "default, momentum": hm.Recipe(momentum=0.5)}
MEMORY = ("state", "result", "temporary", "moved", "operations")  # of a weight
NEEDED = (("default", "float32"), ("plain", "bfloat16"))  # for fits and predictions


def middle(values: list[float], digits: int = 4) -> list[float]:
    """Return the median, the lowest and the highest, rounded to so many figures."""
    summary = (statistics.median(values), min(values), max(values))
    return [float(f"{value:.{digits}g}") for value in summary]


class Measurement(NamedTuple):
    """What is timed, round after round.

    Attributes:
        shared: what is shared among the devices, a key of `SHARED`; of an exchange, its bytes.
        devices: the number of devices, or of processes.
        how: "spread" over the devices, "whole" on one of them, or "exchange" alone.
    """

    shared: str | int
    devices: int
    how: str


def on_one_device(work: Work) -> Work:
    return work._replace(data=1, columns=1)


def weak(kind: str, sizes: list[int], rounds: int, seconds: float, folder: Path) -> list[dict]:
    """Time updates of every size, spread and on one device, and exchanges alone."""
    most = sizes[-1]
    if kind == "devices":  # all of them are of one process
        alone = Group(1, most, folder)
        groups = dict.fromkeys(sizes, alone)
    else:
        alone = Group(1, 1, folder)
        groups = {1: alone} | {n: Group(n, 1, folder) for n in sizes if n > 1}
    times: dict[Measurement, list[Seconds]] = defaultdict(list)
    try:
        for number in range(1, rounds + 1):
            for n in sizes:
                for name, work_of in SHARED.items():
                    work = work_of(n)
                    if n > 1:
                        job = {"what": "updates", "sizes": list(work)}
                        spent = groups[n].time(job, seconds)
                        times[Measurement(name, n, "spread")].append(spent)
                    job = {"what": "updates", "sizes": list(on_one_device(work))}
                    times[Measurement(name, n, "whole")].append(alone.time(job, seconds))
                if n > 1:
                    for size in EXCHANGED:
                        job = {"what": "exchange", "size": size, "devices": n}
                        spent = groups[n].time(job, seconds / 2)
                        times[Measurement(size, n, "exchange")].append(spent)
                print(f"{kind}: round {number} of {rounds}, {n} of {most}", flush=True)
    finally:
        for group in {alone, *groups.values()}:
            group.close()
    records = []
    for measurement, spent in times.items():
        record: dict[str, Any] = {"kind": kind, **measurement._asdict()}
        record["seconds"] = middle([duration.wall for duration in spent])
        record["cpu_seconds"] = middle([duration.cpu for duration in spent])
        if measurement.how == "spread":
            whole = times[measurement._replace(how="whole")]
            pairs = list(zip(spent, whole, strict=True))
            record["lost"] = middle([1.0 - b.wall / a.wall for a, b in pairs], 3)
            record["lost_cpu"] = middle([1.0 - b.cpu / a.cpu for a, b in pairs], 3)
        records.append(record)
    return records


def features_of(record: dict, passes: float) -> list[float]:
    """Return what the time of a record is a sum of."""
    n = record["devices"]
    is_ring = record["kind"] == "processes"
    if record["how"] == "exchange":
        sent_bytes = record["shared"] * (2.0 * (n - 1) / n if is_ring else 1.0)
        return [0.0, 0.0, n * sent_bytes, float(n), 0.0]
    work = SHARED[record["shared"]](n)
    if record["how"] == "whole":
        work = on_one_device(work)
    return features(work, passes, is_ring)


def fits(records: list[dict], passes: float) -> list[dict]:
    """Fit the constants of each kind on all sizes but the largest, and predict that one."""
    results = []
    for kind in dict.fromkeys(record["kind"] for record in records):
        members = [record for record in records if record["kind"] == kind]
        most = max(record["devices"] for record in members)
        is_smaller = np.array([record["devices"] < most for record in members])
        x = np.array([features_of(record, passes) for record in members])
        y = np.array([record["seconds"][0] for record in members])
        costs, errors = fitted(x[is_smaller], y[is_smaller])
        residuals = x[is_smaller] @ costs / y[is_smaller] - 1.0
        held_out = [
            {
                "shared": record["shared"],
                "devices": most,
                "measured": float(y[i]),
                "predicted": float(x[i] @ costs),
            }
            for i, record in enumerate(members)
            if record["devices"] == most and record["how"] == "spread"
        ]
        results.append(
            {
                "kind": kind,
                "costs": costs.tolist(),
                "errors": [None if np.isnan(error) else float(error) for error in errors],
                "typical_residual": float(np.sqrt(np.mean(np.square(residuals)))),
                "fitted_on": int(is_smaller.sum()),
                "held_out": held_out,
            }
        )
    return results


def exchanges(quick: bool) -> list[dict]:
    """Compare what compiled updates send with the formula, for several meshes."""
    results = []
    meshes = [(4, 2, 2), (8, 1, 1), (1, 8, 1), (4, 2, 1), (2, 4, 1)]
    if quick:
        meshes = meshes[:1]
    for data, columns, k in meshes:
        work = Work(256, 512, 64, 96, k, data, columns)
        program = compiled(work)
        sizes = found_in(program.as_text())
        results.append(
            {
                "work": list(work),
                "kinds": sorted({kind for kind, _ in sizes}),
                "bytes": sum(size for _, size in sizes),
                "formula": sum(sent(work)),
            }
        )
        print(results[-1], flush=True)
    return results


def counts_of(work: Work, recipe: str, precision: str) -> np.ndarray:
    """Return the sizes in bytes that `MEMORY` names, and the operations, of a compiled update."""
    program = compiled(work, recipe=RECIPES[recipe], precision=precision)
    sizes = program.memory_analysis()
    costs = program.cost_analysis()
    if isinstance(costs, list):  # as older versions of JAX return it
        costs = costs[0]
    counts = (
        sizes.argument_size_in_bytes,
        sizes.output_size_in_bytes,
        sizes.temp_size_in_bytes,
        costs["bytes accessed"],
        costs["flops"],
    )
    return np.array(counts, float)


def memory(quick: bool) -> list[dict]:
    """Return the bytes of a weight that compiled updates hold, and read or write, by kind."""
    results: list[dict] = []
    kinds = [(recipe, precision) for recipe in RECIPES for precision in ("float32", "bfloat16")]
    if quick:
        kinds = list(NEEDED)
    small = Work(1024, 1024, 64, 64)
    large = Work(1024, 2048, 64, 64)
    more_rows = small._replace(batch=128, chains=128)
    for recipe, precision in kinds:
        counts = counts_of(small, recipe, precision)
        weights = large.held - small.held
        by_weights = (counts_of(large, recipe, precision) - counts) / weights
        by_rows = counts_of(more_rows, recipe, precision) - counts
        units = 64 * (more_rows.visible + more_rows.hidden)
        result = {
            "recipe": recipe,
            "precision": precision,
            "formula": (operations(large) - operations(small)) / weights,
        }
        for name, count in zip(MEMORY, by_weights.tolist(), strict=True):
            result[name] = round(count, 2)
        result["states"] = round(float(by_rows[:3].sum()) / units, 2)
        results.append(result)
        print(result, flush=True)
    return results


def flips(rounds: int, seconds: float, folder: Path) -> list[dict]:
    """Time sweeps of Gibbs chains."""
    results = []
    group = Group(1, 1, folder)
    try:
        for visible, hidden, chains in ((784, 500, 512), (4096, 4096, 512)):
            for precision in ("float32", "bfloat16"):
                sizes = {"visible": visible, "hidden": hidden, "chains": chains}
                job = {"what": "sweeps", "precision": precision} | sizes
                pace = [group.time(job, seconds).wall for _ in range(rounds)]
                record = sizes | {"precision": precision, "seconds_a_sweep": middle(pace)}
                results.append(record)
                print(record, flush=True)
    finally:
        group.close()
    return results


def about() -> dict:
    """Return the program, the date, the computer and the versions."""
    return {
        "program": "benchmarks/scaling.py",
        "date": time.strftime("%d %B %Y").lstrip("0"),
        "computer": f"{os.cpu_count()} cores, {processor()}",
        "versions": f"JAX {jax.__version__}, harmonium {hm.__version__}",
        "load_before": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    """Measure, and write the record, the tables and the picture."""
    parser = parser_of(__doc__, quick=False, page=False)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", 8)
    measured = DOCS / "measured" / "scaling.json"
    defaults = {"out": measured, "rounds": 7, "seconds": 0.8}
    if args.quick:
        defaults = {"out": Path("runs/scaling.json"), "rounds": 2, "seconds": 0.1}
    target = args.out or defaults["out"]
    rounds = args.rounds or defaults["rounds"]
    seconds = args.seconds or defaults["seconds"]
    if not args.page:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = target.parent
        if target == measured:
            folder = Path("runs")
        folder.mkdir(parents=True, exist_ok=True)
        record = about() | {"rounds": rounds, "seconds_a_call": seconds}
        record["exchanges"] = exchanges(args.quick)
        record["memory"] = memory(args.quick)
        record["records"] = weak("devices", [1, 2, 4, 8], rounds, seconds, folder)
        record["records"] += weak("processes", [1, 2, 4], rounds, seconds, folder)
        record["flips"] = flips(rounds, seconds, folder)
        record["load_after"] = round(os.getloadavg()[0], 1)
        target.write_text(json.dumps(record, indent=1) + "\n")
    record = json.loads(target.read_text())
    passes = scaling_page.counted(record, "default", "float32")["moved"]
    record["fits"] = fits(record["records"], passes)
    record["predictions"] = scaling_page.predictions(record)
    target.write_text(json.dumps(record, indent=1) + "\n")
    if target == measured:
        scaling_page.write(DOCS / "decisions" / "scaling.md", record)
        scaling_page.draw(record, DOCS / "pictures" / "scaling.png")
    else:
        print(*scaling_page.tables(record).values(), sep="\n\n")


if __name__ == "__main__":
    main()
