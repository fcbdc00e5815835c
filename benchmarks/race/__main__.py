"""The race: the speed of harmonium and other packages, each in a process of its own, in turn.

    python benchmarks/race [WORKLOAD ...] [--rounds 3] [--seconds 2] [--out runs/race] [--report]
        [--only CONTESTANT ...]

A workload is given by the first words of its name, such as "train 784x500" or "ais"; without one,
all workloads run. Every contestant starts up; then, `--rounds` times, each in turn makes the number
of units that takes it about `--seconds`. Ratios are taken within a round and are medians over
rounds. The first call of each contestant, which compiles programs, is not counted. Results are
stored as WORKLOAD.json in the folder, and a stored workload is not run again. The tables are
Markdown, for docs/benchmarks.md; race.json, in the form of docs/measured/race.json, is what
benchmarks/pictures.py draws. Run it with nothing else on the computer; `make bench` makes the
environment.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from workloads import CONTESTANTS, LARGE, WORKLOADS, Workload

HERE = Path(__file__).parent
PACKAGES = (
    "harmonium",
    "jax",
    "torch",
    "tensorflow-cpu",
    "scikit-learn",
    "rbms",
    "learnergy",
    "thrml",
)
OURS, CEILING = "harmonium", "matmul ceiling, float32"
MOST_UNITS = 10**7
PAUSE = 0.3  # seconds, in which the threads of the contestant before become idle


class Contestant:
    """A contestant's process and its answers."""

    def __init__(self, name: str, load: Workload):
        command = [sys.executable, str(HERE / "worker.py"), name, load.name]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        )
        self.name, self.units, self.speeds, self.peak = name, 1, [], 0

    def begin(self, seconds: float) -> None:
        """Wait until it has started up, then find the number of units that takes so long."""
        first = self._answer()
        self.cannot, self.ready = first.get("cannot"), first.get("ready")
        if self.cannot is None:
            self.settle(seconds)
        print(f"  {self.name:26s} {self.cannot or f'ready after {self.ready:.1f} s'}", flush=True)

    def _answer(self) -> dict:
        line = self.process.stdout.readline()
        if not line:
            last = self.process.stderr.read().strip().splitlines()[-1:]
            return {"cannot": f"it ended: {' '.join(last)[:160]}", "units": 0, "seconds": 1.0}
        return json.loads(line)

    def ask(self) -> tuple[int, float]:
        """Let the contestant make its units; return their number and the seconds."""
        time.sleep(PAUSE)
        self.process.stdin.write(f"{self.units}\n")
        self.process.stdin.flush()
        answer = self._answer()
        self.cannot, self.peak = answer.get("cannot"), answer.get("peak_mib", 0)
        return answer["units"], answer["seconds"]

    def settle(self, seconds: float) -> None:
        """Find the number of units that takes about so many seconds."""
        made, took = self.ask()
        while not self.cannot and took < seconds / 2 and made < MOST_UNITS:
            self.units = min(MOST_UNITS, int(made * min(20.0, 1.2 * seconds / max(took, 1e-6))) + 1)
            made, took = self.ask()

    def race(self) -> None:
        """Measure the speed once more."""
        made, took = self.ask()
        if not self.cannot:
            self.speeds.append(made / took)

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    @property
    def found(self) -> dict:
        """The results to store."""
        if self.cannot:
            return {"cannot": self.cannot}
        return {"ready": self.ready, "speeds": self.speeds, "peak_mib": self.peak}


def run(load: Workload, rounds: int, seconds: float, only: list[str], together: bool) -> dict:
    """Let contestants run a workload, in turn: all of them, or only those named."""
    names = [name for name in CONTESTANTS if not only or name in only]
    started = (Contestant(name, load) for name in names)
    field = []
    for each in list(started) if together else started:
        each.begin(seconds)
        field.append(each)
    for _ in range(rounds):
        for each in field:
            if each.cannot is None:
                each.race()
    for each in field:
        each.end()
    return {each.name: each.found for each in field}


def processor() -> str:
    """Return the name of the GPU that is at hand, else of the processor."""
    with suppress(OSError, subprocess.CalledProcessError):
        asked = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        return "unknown"
    names = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    return f"{os.cpu_count()} cores of {' and '.join(sorted(names))}"


def versions() -> dict[str, str]:
    """Return the versions of all packages that take part."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def ratio(found: dict, one: str, other: str) -> float | None:
    """Return the median over rounds of the ratio of two speeds."""
    speeds = [found.get(name, {}).get("speeds") for name in (one, other)]
    if not all(speeds):
        return None
    return statistics.median(a / b for a, b in zip(*speeds, strict=False))


def named(kind: str) -> list[str]:
    """Return the names of the contestants of a kind."""
    return [name for name, (_, _, its) in CONTESTANTS.items() if its == kind]


def best_of(found: dict, kind: str) -> tuple[str, float] | None:
    """Return the fastest contestant of a kind, and how many times faster harmonium is."""
    ratios = [(ratio(found, OURS, name), name) for name in named(kind)]
    known = [(value, name) for value, name in ratios if value is not None]
    return min(known)[::-1] if known else None


def shown(speed: float) -> str:
    """Return units a second as text."""
    return f"{speed:,.0f}" if speed >= 100 else f"{speed:.1f}"


def report(folder: Path) -> None:
    """Print tables of all stored results, and draw them."""
    kept = {load.name: folder / f"{load.name}.json" for load in WORKLOADS + LARGE}
    results = {name: json.loads(path.read_text()) for name, path in kept.items() if path.exists()}
    print("| workload | units a second | to the best package", end="")
    print(" | to the best hand-written loop | share of the float32 ceiling |")
    print("|---|---|---|---|---|")
    for name, result in results.items():
        found = result["contestants"]
        if "speeds" not in found[OURS]:
            continue
        cells = [shown(statistics.median(found[OURS]["speeds"]))]
        for kind in ("package", "loop"):
            best = best_of(found, kind)
            cells.append("none" if best is None else f"**{best[1]:.2f}** ({best[0]})")
        share = ratio(found, OURS, CEILING)
        cells.append("" if share is None else f"{100 * share:.0f} %")
        print(f"| {name} | {' | '.join(cells)} |")
    for name, result in results.items():
        print(f"\n### {name}\n")
        print("| | ours is faster by | lowest – highest | units a second", end="")
        print(" | to the end of the first call, s | peak MiB |")
        print("|---|---|---|---|---|---|")
        for each, found in result["contestants"].items():
            if found.get("cannot", "").startswith("it has no "):
                continue
            if "cannot" in found:
                print(f"| {each} | | | {found['cannot']} | | |")
                continue
            ours = result["contestants"][OURS]["speeds"]
            ratios = [a / b for a, b in zip(ours, found["speeds"], strict=False)]
            line = f"| {each} | {statistics.median(ratios):.2f}"
            line += f" | {min(ratios):.2f} – {max(ratios):.2f}"
            line += f" | {shown(statistics.median(found['speeds']))} | {found['ready']:.1f}"
            print(f"{line} | {found['peak_mib']:,} |")
    usable = {name: each for name, each in results.items() if "speeds" in each["contestants"][OURS]}
    if usable:
        target = folder / "race.json"
        target.write_text(json.dumps(summary(usable), indent=1, ensure_ascii=False))
        print(f"\npython benchmarks/pictures.py race {target} {target.with_suffix('.png')}")
    for result in list(results.values())[:1]:
        print(f"\n{result['processor']}; {result['date']}; {result['versions']}")


def summary(results: dict) -> dict:
    """Return what docs/benchmarks.md says of the results, as in docs/measured/race.json."""
    records = []
    for name, result in results.items():
        found = result["contestants"]
        best = {kind: best_of(found, kind) for kind in ("package", "loop")}
        records.append(
            {
                "workload": name,
                "per_second": float(
                    shown(statistics.median(found[OURS]["speeds"])).replace(",", "")
                ),
                **{
                    kind: pair and {"name": pair[0], "ratio": round(pair[1], 2)}
                    for kind, pair in best.items()
                },
                "ceiling": (share := ratio(found, OURS, CEILING)) and round(share, 2),
            }
        )
    last = list(results.values())[-1]
    about = {key: last[key] for key in ("date", "versions")}
    return {
        "program": "benchmarks/race",
        "computer": last["processor"],
        **about,
        "records": records,
    }


def main() -> None:
    """Run the chosen workloads and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--out", default="runs/race")
    parser.add_argument("--only", nargs="+", default=[], metavar="CONTESTANT")
    parser.add_argument(
        "--together",
        action="store_true",
        help="Start all contestants of a workload at once: sooner, but their start-up times are"
        " not comparable.",
    )
    parser.add_argument("--report", action="store_true", help="Report stored results; run nothing.")
    given = parser.parse_args()
    folder = Path(given.out)
    folder.mkdir(parents=True, exist_ok=True)
    for load in WORKLOADS + LARGE:
        target = folder / f"{load.name}.json"
        asked = (not given.workloads and load in WORKLOADS) or any(
            f"{load.name} ".startswith(f"{name} ") for name in given.workloads
        )
        if given.report or target.exists() or not asked:
            continue
        print(load.name, flush=True)
        found = run(load, given.rounds, given.seconds, given.only, given.together)
        about = {
            "processor": processor(),
            "date": time.strftime("%d %B %Y"),
            "versions": versions(),
        }
        target.write_text(json.dumps(about | {"contestants": found}, indent=1))
    report(folder)


if __name__ == "__main__":
    main()
