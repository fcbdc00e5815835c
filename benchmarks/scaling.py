"""What devices and processes cost on this computer, and a model of larger ones: docs/scaling.md.

    python benchmarks/scaling.py                  # measure everything: about half an hour
    python benchmarks/scaling.py --quick          # fewer rounds and counts, to try it out
    python benchmarks/scaling.py --page           # measure nothing: predictions, tables, picture

Writes docs/measured/scaling.json, then the tables of docs/scaling.md and its picture from it; with
--quick into --out only. Weak scaling: the rows, or the hidden units, of a device stay the same as
there are more devices. All devices share this computer's cores, so each spread update is timed
beside the same update on one device, in turn, by the same process or one with as many threads.
A ratio is taken within a round; tables have medians over rounds, the lowest and the highest.
"""

import argparse
import json
import os
import statistics
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
import scaling_page
from scaling_model import Work, features, fitted, found_in, operations, sent
from scaling_processes import Group, compiled

import harmonium as hm

DOCS = Path(__file__).parents[1] / "docs"
SHARED = {  # the update of n devices, of 784 visible units, and its mesh
    "rows": lambda n: Work(784, 512, 128 * n, 128 * n, data=n),
    "few rows": lambda n: Work(784, 512, 16 * n, 16 * n, data=n),
    "hidden units": lambda n: Work(784, 256 * n, 128, 128, columns=n),
}
EXCHANGED = (2**10, 2**17, 2**21)  # bytes of a device
PLAIN = hm.Recipe(rate=0.01, centring=None, averaging=None, hold=1.0)
RECIPES = {
    "plain": PLAIN,
    "default": hm.Recipe(),
    "default, momentum": hm.Recipe(momentum=0.5),
}
NEEDED = (("default", "float32"), ("plain", "bfloat16"))  # for fits and predictions


# What is measured


def middle(values: list[float], digits: int = 4) -> list[float]:
    """Return the median, the lowest and the highest, rounded to so many figures."""
    found = (statistics.median(values), min(values), max(values))
    return [float(f"{value:.{digits}g}") for value in found]


def weak(kind: str, sizes: list[int], rounds: int, seconds: float, folder: Path) -> list[dict]:
    """Time updates of every size, spread and on one device, and exchanges alone."""
    most = sizes[-1]
    virtual = kind == "devices"
    alone = Group(1, most if virtual else 1, folder)
    groups = {n: alone if virtual or n == 1 else Group(n, 1, folder) for n in sizes}
    spent: dict[tuple, list[list[float]]] = {}
    try:
        for again in range(rounds):
            for n in sizes:
                for name, of in SHARED.items():
                    work = of(n)
                    pair = {
                        "spread": (groups[n], work),
                        "whole": (alone, work._replace(data=1, columns=1)),
                    }
                    for how, (group, sizes_) in pair.items():
                        if n > 1 or how == "whole":
                            told = {"what": "updates", "sizes": list(sizes_)}
                            found = group.time(told, seconds)
                            spent.setdefault((name, n, how), []).append(found)
                for size in EXCHANGED if n > 1 else ():
                    told = {"what": "exchange", "size": size, "devices": n}
                    found = groups[n].time(told, seconds / 2)
                    spent.setdefault((size, n, "exchange"), []).append(found)
                print(f"{kind}: round {again + 1} of {rounds}, {n} of {most}", flush=True)
    finally:
        for group in {id(group): group for group in groups.values()}.values():
            group.close()
    records = []
    for (name, n, how), found in spent.items():
        record: dict[str, Any] = {"kind": kind, "shared": name, "devices": n, "how": how}
        record["seconds"] = middle([wall for wall, _ in found])
        record["cpu_seconds"] = middle([cpu for _, cpu in found])
        if how == "spread":
            whole = spent[name, n, "whole"]
            pairs = list(zip(found, whole, strict=True))
            record["lost"] = middle([1.0 - b[0] / a[0] for a, b in pairs], 3)
            record["lost_cpu"] = middle([1.0 - b[1] / a[1] for a, b in pairs], 3)
        records.append(record)
    return records


def fits(records: list[dict], passes: float) -> list[dict]:
    """Fit the constants of each kind on all sizes but the largest, and predict that one."""
    found = []
    for kind in dict.fromkeys(record["kind"] for record in records):
        rows, seconds, about = [], [], []
        for record in (each for each in records if each["kind"] == kind):
            n, name = record["devices"], record["shared"]
            around = kind == "processes"
            if record["how"] == "exchange":
                moved = n * name * (2.0 * (n - 1) / n if around else 1.0)
                rows.append([0.0, 0.0, moved, float(n), 0.0])
            else:
                work = SHARED[name](n)
                whole = work._replace(data=1, columns=1)
                rows.append(features(whole if record["how"] == "whole" else work, passes, around))
            seconds.append(record["seconds"][0])
            about.append((n, name, record["how"]))
        most = max(n for n, _, _ in about)
        inside = np.array([n < most for n, _, _ in about])
        x, y = np.array(rows), np.array(seconds)
        costs, errors = fitted(x[inside], y[inside])
        residuals = (x[inside] @ costs / y[inside] - 1.0).tolist()
        held = [
            {
                "shared": name,
                "devices": n,
                "measured": float(y[i]),
                "predicted": float(x[i] @ costs),
            }
            for i, (n, name, how) in enumerate(about)
            if n == most and how == "spread"
        ]
        found.append(
            {
                "kind": kind,
                "costs": costs.tolist(),
                "errors": [None if np.isnan(e) else float(e) for e in errors],
                "typical_residual": float(np.sqrt(np.mean(np.square(residuals)))),
                "fitted_on": int(inside.sum()),
                "held_out": held,
            }
        )
    return found


def exchanges(quick: bool) -> list[dict]:
    """Compare what compiled updates send with the formula, for several meshes."""
    found, shapes = [], [(4, 2, 2), (8, 1, 1), (1, 8, 1), (4, 2, 1), (2, 4, 1)]
    for data, columns, k in shapes[:1] if quick else shapes:
        work = Work(256, 512, 64, 96, k, data, columns)
        program = compiled(work)
        sizes = found_in(program.as_text())
        found.append(
            {
                "work": list(work),
                "kinds": sorted({kind for kind, _ in sizes}),
                "bytes": sum(size for _, size in sizes),
                "formula": sum(sent(work)),
            }
        )
        print(found[-1], flush=True)
    return found


def memory(quick: bool) -> list[dict]:
    """Return the bytes of a weight that compiled updates hold, and read or write, by kind."""
    found: list[dict] = []
    every = [(name, precision) for name in RECIPES for precision in ("float32", "bfloat16")]
    small, large = (Work(1024, m, 64, 64) for m in (1024, 2048))
    more = small._replace(batch=128, chains=128)
    for name, precision in NEEDED if quick else every:
        each = []
        for work in (small, large, more):
            program = compiled(work, recipe=RECIPES[name], precision=precision)
            held, cost = program.memory_analysis(), program.cost_analysis()
            cost = cost[0] if isinstance(cost, list) else cost
            sizes = (
                held.argument_size_in_bytes,
                held.output_size_in_bytes,
                held.temp_size_in_bytes,
                cost["bytes accessed"],
                cost["flops"],
            )
            each.append(np.array(sizes, float))
        per = (each[1] - each[0]) / (large.held - small.held)
        counted = (operations(large) - operations(small)) / (large.held - small.held)
        names = ("state", "result", "temporary", "moved", "operations")
        record = dict(zip(names, (round(float(x), 2) for x in per), strict=True))
        states = (each[2] - each[0])[:3].sum() / (64 * (more.visible + more.hidden))
        record["states"] = round(float(states), 2)
        about = {"recipe": name, "precision": precision, "formula": counted}
        found.append(about | record)
        print(found[-1], flush=True)
    return found


def flips(rounds: int, seconds: float, folder: Path) -> list[dict]:
    """Time sweeps of Gibbs chains."""
    found, group = [], Group(1, 1, folder)
    try:
        for visible, hidden, chains in ((784, 500, 512), (4096, 4096, 512)):
            for precision in ("float32", "bfloat16"):
                sizes = {"visible": visible, "hidden": hidden, "chains": chains}
                told = {"what": "sweeps", "precision": precision} | sizes
                pace = [group.time(told, seconds)[0] for _ in range(rounds)]
                record = sizes | {"precision": precision, "seconds_a_sweep": middle(pace)}
                found.append(record)
                print(record, flush=True)
    finally:
        group.close()
    return found


def about() -> dict:
    """Return the program, the date, the computer and the versions."""
    return {
        "program": "benchmarks/scaling.py",
        "date": time.strftime("%d %B %Y").lstrip("0"),
        "computer": f"{os.cpu_count()} cores, {scaling_page.processor()}",
        "versions": f"JAX {jax.__version__}, harmonium {hm.__version__}",
        "load_before": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    """Measure, and write the record, the tables and the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", 8)
    measured = DOCS / "measured" / "scaling.json"
    target = asked.out or (Path("runs/scaling.json") if asked.quick else measured)
    rounds = asked.rounds or (2 if asked.quick else 7)
    seconds = asked.seconds or (0.1 if asked.quick else 0.8)
    if not asked.page:
        target.parent.mkdir(parents=True, exist_ok=True)
        folder = target.parent if target != measured else Path("runs")
        folder.mkdir(parents=True, exist_ok=True)
        record = about() | {"rounds": rounds, "seconds_a_call": seconds}
        record["exchanges"], record["memory"] = exchanges(asked.quick), memory(asked.quick)
        both = {"devices": [1, 2, 4, 8], "processes": [1, 2, 4]}
        record["records"] = [
            each
            for kind, sizes in both.items()
            for each in weak(kind, sizes, rounds, seconds, folder)
        ]
        record["flips"] = flips(rounds, seconds, folder)
        record["load_after"] = round(os.getloadavg()[0], 1)
        target.write_text(json.dumps(record, indent=1) + "\n")
    record = json.loads(target.read_text())
    passes = scaling_page.counted(record, "default", "float32")["moved"]
    record["fits"] = fits(record["records"], passes)
    record["predictions"] = scaling_page.predictions(record)
    target.write_text(json.dumps(record, indent=1) + "\n")
    if target == measured:
        scaling_page.write(DOCS / "scaling.md", record)
        scaling_page.draw(record, DOCS / "pictures" / "scaling.png")
    else:
        print(*scaling_page.tables(record).values(), sep="\n\n")


if __name__ == "__main__":
    main()
