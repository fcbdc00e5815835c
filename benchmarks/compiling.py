"""Time of the first `fit` and of the second, by the number of kinds of units and of parts.

    python benchmarks/compiling.py [--rounds 3] [PYTHON ...]

Each case runs in a process of its own, with each of the given interpreters in turn (one for each
version of JAX to compare; this interpreter if none is given). A first `fit` compiles, a second one
with the same shapes does not. Both start from `hm.initialize`, on 400 rows with six hidden units;
the seconds are medians over rounds. Two cases are also run by `harmonium.sklearn.RBM`. The table is
Markdown, for docs/decisions/speed_in_detail.md. Run it with nothing else on the computer.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from functools import partial

from reporting import head, parser_of, row
from timing import in_turn

ROWS = 400
HIDDEN = 6
MISSING = 0.1
KINDS = ("potts, 3 states", "gaussian", "bernoulli", "ising", "potts, 5 states")
SIZES = [(1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (5, 8), (5, 12)]
CASES = [
    *(f"{kinds} {parts} complete" for kinds, parts in SIZES),
    *(f"{kinds} {parts} missing" for kinds, parts in SIZES),
    "4 4 scikit-learn",
    "5 12 scikit-learn",
]


def measured(kinds: int, parts: int, what: str) -> dict:
    """Fit twice; return the seconds of both, and the number of programs compiled for the first."""
    import jax
    import numpy as np

    import harmonium as hm
    from harmonium.sklearn import RBM

    compiled = []

    def record_compilation(event: str, seconds: float, **_: object) -> None:
        if "backend_compile" in event:
            compiled.append(seconds)

    jax.monitoring.register_event_duration_secs_listener(record_compilation)
    rng = np.random.default_rng(0)
    units = {
        "potts, 3 states": (hm.Potts(1, states=3), rng.integers(0, 3, (ROWS, parts))),
        "gaussian": (hm.Gaussian(1), rng.normal(size=(ROWS, parts))),
        "bernoulli": (hm.Bernoulli(1), rng.integers(0, 2, (ROWS, parts))),
        "ising": (hm.Ising(1), 2 * rng.integers(0, 2, (ROWS, parts)) - 1),
        "potts, 5 states": (hm.Potts(1, states=5), rng.integers(0, 5, (ROWS, parts))),
    }
    chosen = [KINDS[i % kinds] for i in range(parts)]
    rows = np.stack([units[kind][1][:, i] for i, kind in enumerate(chosen)], axis=1).astype(float)
    if what == "missing":
        rows[rng.random(rows.shape) < MISSING] = np.nan
    key = jax.random.key(0)

    def fit() -> None:
        if what == "scikit-learn":
            spec = [(kind.split(",")[0], [i]) for i, kind in enumerate(chosen)]
            RBM(HIDDEN, visible=spec, random_state=0).fit(rows)
            return
        visible = hm.Mixed(*(units[kind][0] for kind in chosen))
        rbm = hm.initialize(visible, hm.Bernoulli(HIDDEN), rows, key=key)
        hm.fit(rbm, rows, key=key)

    jax.devices()  # the start of the device is not compiling
    seconds = []
    programs = []
    for _ in range(2):
        began = time.perf_counter()
        fit()
        seconds.append(time.perf_counter() - began)
        programs.append(len(compiled))
    return {"seconds": seconds, "programs": programs[0], "jax": jax.__version__}


def table(results: dict, pythons: list[str]) -> None:
    """Print the medians."""
    titles = ["kinds", "parts", "rows"]
    for python in pythons:
        titles += [f"JAX {results[python, CASES[0]][0]['jax']}: first, s", "second, s", "programs"]
    print(head(titles))
    for case in CASES:
        cells = case.split(" ")
        for python in pythons:
            runs = results[python, case]
            first = statistics.median(run["seconds"][0] for run in runs)
            second = statistics.median(run["seconds"][1] for run in runs)
            cells += [f"{first:.1f}", f"{second:.2f}", str(runs[0]["programs"])]
        print(row(cells))


def measured_apart(python: str, case: str) -> dict:
    """Run a case in a process of its own."""
    command = [python, __file__, "--one", case]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result = json.loads(output.splitlines()[-1])
    seconds = [f"{seconds:.2f}" for seconds in result["seconds"]]
    print(case, result["jax"], seconds, file=sys.stderr)
    return result


def main() -> None:
    """Run every case in turn."""
    parser = parser_of(__doc__, pythons=[sys.executable], rounds=3)
    parser.add_argument("--one", help="a case to run in this process, such as '5 12 missing'")
    args = parser.parse_args()
    if args.one:
        kinds, parts, what = args.one.split(" ")
        print(json.dumps(measured(int(kinds), int(parts), what)))
        return
    contestants = {
        (python, case): partial(measured_apart, python, case)
        for case in CASES
        for python in args.pythons
    }
    table(in_turn(contestants, args.rounds), args.pythons)


if __name__ == "__main__":
    main()
