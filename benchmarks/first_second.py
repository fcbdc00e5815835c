"""How long people wait: a process to its first fit, commands, searches on a grid, and warm calls.

    python benchmarks/first_second.py [fits commands grid calls] [--rounds 7] [--before PATH]

Each figure is of processes of their own, in turn with scikit-learn where it can do the same, and
with another version of harmonium whose `src` is at PATH. *Cold* has never run before: no program is
in its cache. *Warm* finds the programs that the process before it compiled. Bytecode is there for
all. The tables are Markdown, for docs/benchmarks.md. Run it with nothing else on the computer.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from reporting import conditions, head, parser_of, row
from timing import in_turn

SRC = Path(__file__).parents[1] / "src"
CACHE = Path(tempfile.gettempdir()) / "harmonium-first-second"
SKLEARN = "scikit-learn"

FIT = """
import json, resource, time
began = time.perf_counter()
import numpy as np
from sklearn.datasets import load_digits
{imports}
rows = (load_digits().data / 16).astype(np.float32)
imported = time.perf_counter()
model = BernoulliRBM(64, n_iter=10, random_state=0).fit(rows)
ended = time.perf_counter()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([imported - began, ended - imported, memory]))
"""

GRID = """
import json, time
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
{imports}
if __name__ == "__main__":
    rows, labels = load_digits(return_X_y=True)
    rows = (rows / 16).astype(np.float32)
    model = make_pipeline(BernoulliRBM(n_iter=10, random_state=0), LogisticRegression(max_iter=200))
    grid = {{
        "bernoullirbm__n_components": [16, 32, 64, 100],
        "bernoullirbm__learning_rate": [0.02, 0.06],
    }}
    began = time.perf_counter()
    search = GridSearchCV(model, grid, cv=3, n_jobs={jobs}).fit(rows, labels)
    print(json.dumps(time.perf_counter() - began))
"""

CALLS = """
import json, statistics, time
import numpy as np
from sklearn.datasets import load_digits
{imports}
rows = (load_digits().data / 16).astype(np.float32)

def median(call, count):
    seconds = []
    for _ in range(count):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)

model = BernoulliRBM(100, learning_rate=0.06, n_iter=10, random_state=0).fit(rows)
times = [median(lambda: model.fit(rows), 5)]
for count in (10, 100):
    part = rows[:count]
    model = BernoulliRBM(100, learning_rate=0.06, random_state=0)
    model.partial_fit(part)
    model.partial_fit(part)
    times.append(median(lambda: model.partial_fit(part), 101))
print(json.dumps(times))
"""

COMMANDS = {
    "train digits": ["train", "digits", "--epochs", "1", "--out", "{out}", "--overwrite"],
    "sample": ["sample", "{out}", "-n", "10"],
    "evaluate": ["evaluate", "{out}", "--quick"],
    "train titanic.csv": ["train", "{titanic}", "--epochs", "1", "--out", "{out}", "--overwrite"],
}


def environment(version: str, cache: Path | None = None) -> dict[str, str]:
    """Return the variables of a process of a version, whose own caches lie in a folder."""
    variables = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "XLA_"))
    }
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    folder = str(cache or CACHE / name_of(version))
    return variables | {
        "PYTHONPATH": version,
        "XDG_CACHE_HOME": folder,
        "HARMONIUM_CACHE": f"{folder}/programs",
    }


def name_of(version: str) -> str:
    """Return a version's name for a folder."""
    return version.strip("/").replace("/", "-")


def imports_of(version: str) -> str:
    """Return the line that imports the class of a version, or scikit-learn's."""
    if version == SKLEARN:
        return "from sklearn.neural_network import BernoulliRBM"
    return "from harmonium.sklearn import BernoulliRBM"


def answer(code: str, version: str, cache: Path | None = None, **settings: object) -> list:
    """Run code in a process of its own; return what it prints, and the seconds of the process."""
    script = code.format(imports=imports_of(version), **settings)
    began = time.perf_counter()
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(script)
        file.flush()
        command = [sys.executable, file.name]
        variables = environment(version, cache)
        done = subprocess.run(command, env=variables, check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - began
    printed = json.loads(done.stdout.splitlines()[-1])
    return [*(printed if isinstance(printed, list) else [printed]), seconds]


def cold(version: str) -> list:
    """Fit in a process whose caches are empty."""
    folder = Path(tempfile.mkdtemp())
    try:
        return answer(FIT, version, folder)
    finally:
        shutil.rmtree(folder)


def command_of(version: str, words: list[str], titanic: str) -> float:
    """Return the seconds of a command."""
    out = str(CACHE / name_of(version) / "run")
    arguments = [word.format(out=out, titanic=titanic) for word in words]
    command = [sys.executable, "-m", "harmonium", *arguments]
    began = time.perf_counter()
    subprocess.run(command, env=environment(version), check=True, capture_output=True)
    return time.perf_counter() - began


def median_of(runs: list, part: int) -> str:
    """Return the median of a part of what runs measured, and its range."""
    values = [run[part] for run in runs]
    return f"{statistics.median(values):.2f} ({min(values):.2f} – {max(values):.2f})"


def fits(versions: list[str], rounds: int) -> None:
    """Time processes that fit once."""
    contestants = {(version, "warm"): partial(answer, FIT, version) for version in versions}
    contestants |= {
        (version, "cold"): partial(cold, version) for version in versions if version != SKLEARN
    }
    for version in versions:
        answer(FIT, version)
    results = in_turn(contestants, rounds)
    print(head(["BernoulliRBM(64)", "imports, s", "first fit, s", "process, s", "memory, MB"]))
    for (version, state), runs in results.items():
        cells = [median_of(runs, part) for part in (0, 1, 3)]
        print(row([f"{version}, {state}", *cells, f"{statistics.median(r[2] for r in runs):.0f}"]))


def commands(versions: list[str], rounds: int) -> None:
    """Time commands that have run before."""
    titanic = str(Path(os.environ.get("HARMONIUM_DATA", "")) / "tables/titanic.csv")
    ours = [version for version in versions if version != SKLEARN]
    print(head(["command", *ours]))
    for name, words in COMMANDS.items():
        if "{titanic}" in words and not Path(titanic).exists():
            continue
        contestants = {v: partial(command_of, v, words, titanic) for v in ours}
        in_turn(contestants, 1)
        results = in_turn(contestants, rounds)
        cells = [median_of([[seconds] for seconds in runs], 0) for runs in results.values()]
        print(row([name, *cells]), flush=True)


def grid(versions: list[str], rounds: int) -> None:
    """Time a search of eight settings in three folds, by one process and by two."""
    contestants = {
        (version, jobs): partial(answer, GRID, version, jobs=jobs)
        for version in versions
        for jobs in (1, 2)
    }
    in_turn(contestants, 1)
    results = in_turn(contestants, rounds)
    print(head(["GridSearchCV, 8 settings × 3 folds", "n_jobs=1, s", "n_jobs=2, s"]))
    for version in versions:
        print(row([version, *(median_of(results[version, jobs], 0) for jobs in (1, 2))]))


def calls(versions: list[str], rounds: int) -> None:
    """Time calls in a process that has made them before."""
    results = in_turn({v: partial(answer, CALLS, v) for v in versions}, rounds)
    titles = [
        "1,797 × 64, 100 units",
        "fit, 10 passes, ms",
        "partial_fit, 10 rows, ms",
        "100 rows, ms",
    ]
    print(head(titles))
    for version, runs in results.items():
        cells = [f"{1e3 * statistics.median(run[i] for run in runs):.3g}" for i in range(3)]
        print(row([version, *cells]))


PARTS = {"fits": fits, "commands": commands, "grid": grid, "calls": calls}


def main() -> None:
    """Run the parts, each with all versions in turn."""
    parser = parser_of(__doc__, parts=PARTS, rounds=7, before="")
    args = parser.parse_args()
    versions = [str(SRC), *([args.before] if args.before else []), SKLEARN]
    print(conditions(), flush=True)
    for part in args.parts:
        print(flush=True)
        PARTS[part](versions, args.rounds)


if __name__ == "__main__":
    main()
