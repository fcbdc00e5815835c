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

import json
import os
import statistics
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
from reporting import head, parser_of, processor, row, versions
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
OURS = "harmonium"
CEILING = "matmul ceiling, float32"
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
        self.name = name
        self.units = 1
        self.speeds: list[float] = []
        self.peak = 0

    def begin(self, seconds: float) -> None:
        """Wait until it has started up, then find the number of units that takes so long."""
        first = self._answer()
        self.cannot = first.get("cannot")
        self.ready = first.get("ready")
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
        self.cannot = answer.get("cannot")
        self.peak = answer.get("peak_mib", 0)
        return answer["units"], answer["seconds"]

    def settle(self, seconds: float) -> None:
        """Find the number of units that takes about so many seconds."""
        units, duration = self.ask()
        while not self.cannot and duration < seconds / 2 and units < MOST_UNITS:
            factor = min(20.0, 1.2 * seconds / max(duration, 1e-6))
            self.units = min(MOST_UNITS, int(units * factor) + 1)
            units, duration = self.ask()

    def race(self) -> None:
        """Measure the speed once more."""
        units, duration = self.ask()
        if not self.cannot:
            self.speeds.append(units / duration)

    def end(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    @property
    def result(self) -> dict:
        """The result to store."""
        if self.cannot:
            return {"cannot": self.cannot}
        return {"ready": self.ready, "speeds": self.speeds, "peak_mib": self.peak}


def run(load: Workload, rounds: int, seconds: float, only: list[str], together: bool) -> dict:
    """Let contestants run a workload, in turn: all of them, or only those named."""
    names = [name for name in CONTESTANTS if not only or name in only]
    contestants = (Contestant(name, load) for name in names)
    if together:
        contestants = list(contestants)  # which starts all of their processes
    field = []
    for contestant in contestants:
        contestant.begin(seconds)
        field.append(contestant)
    for _ in range(rounds):
        for contestant in field:
            if contestant.cannot is None:
                contestant.race()
    for contestant in field:
        contestant.end()
    return {contestant.name: contestant.result for contestant in field}


def computer() -> str:
    """Return the name of the GPU that is at hand, else of the processor with its cores."""
    with suppress(OSError, subprocess.CalledProcessError):
        command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return f"{os.cpu_count()} cores of {processor()}"


def ratios(results: dict, base: str) -> list[float]:
    """Return the ratios of our speed to a contestant's, round by round; none without speeds."""
    ours = results.get(OURS, {}).get("speeds", [])
    speeds = results.get(base, {}).get("speeds", [])
    return [a / b for a, b in zip(ours, speeds, strict=False)]


def best_of(results: dict, kind: str) -> tuple[str, float] | None:
    """Return the fastest contestant of a kind, and how many times faster harmonium is."""
    medians = {
        name: statistics.median(ratios(results, name))
        for name, entry in CONTESTANTS.items()
        if entry.kind == kind and ratios(results, name)
    }
    if not medians:
        return None
    name = min(medians, key=medians.__getitem__)
    return name, medians[name]


def fraction_of_ceiling(results: dict) -> float | None:
    """Return our speed in that of the matrix products alone."""
    speeds = ratios(results, CEILING)
    return statistics.median(speeds) if speeds else None


def speed_in_words(results: dict, name: str) -> str:
    """Return a contestant's units a second as text."""
    speed = statistics.median(results[name]["speeds"])
    return f"{speed:,.0f}" if speed >= 100 else f"{speed:.1f}"


def overview(name: str, results: dict) -> list[str]:
    """Return a workload's line in the table of all."""
    cells = [name, speed_in_words(results, OURS)]
    for kind in ("package", "loop"):
        best = best_of(results, kind)
        cells.append("none" if best is None else f"**{best[1]:.2f}** ({best[0]})")
    fraction = fraction_of_ceiling(results)
    cells.append("" if fraction is None else f"{100 * fraction:.0f} %")
    return cells


def line_of(name: str, results: dict) -> list[str]:
    """Return a contestant's line in the table of a workload."""
    result = results[name]
    if "cannot" in result:
        return [name, "", "", result["cannot"], "", ""]
    speeds = ratios(results, name)
    return [
        name,
        f"{statistics.median(speeds):.2f}",
        f"{min(speeds):.2f} – {max(speeds):.2f}",
        speed_in_words(results, name),
        f"{result['ready']:.1f}",
        f"{result['peak_mib']:,}",
    ]


def report(folder: Path) -> None:
    """Print tables of all stored results, and write what is drawn of them."""
    records = {}
    for load in WORKLOADS + LARGE:
        path = folder / f"{load.name}.json"
        if path.exists():
            records[load.name] = json.loads(path.read_text())
    usable = {
        name: record for name, record in records.items() if "speeds" in record["contestants"][OURS]
    }
    titles = ["workload", "units a second", "to the best package", "to the best hand-written loop"]
    print(head([*titles, "share of the float32 ceiling"]))
    for name, record in usable.items():
        print(row(overview(name, record["contestants"])))
    titles = ["", "ours is faster by", "lowest – highest", "units a second"]
    for name, record in records.items():
        print(f"\n### {name}\n")
        print(head([*titles, "to the end of the first call, s", "peak MiB"]))
        for contestant, result in record["contestants"].items():
            if not result.get("cannot", "").startswith("it has no "):
                print(row(line_of(contestant, record["contestants"])))
    if usable:
        target = folder / "race.json"
        target.write_text(json.dumps(summary(usable), indent=1, ensure_ascii=False))
        print(f"\npython benchmarks/pictures.py race {target} {target.with_suffix('.png')}")
    for record in list(records.values())[:1]:
        print(f"\n{record['processor']}; {record['date']}; {record['versions']}")


def summary(records: dict) -> dict:
    """Return what docs/benchmarks.md says of the results, as in docs/measured/race.json."""
    lines = []
    for name, record in records.items():
        results = record["contestants"]
        line = {
            "workload": name,
            "per_second": float(speed_in_words(results, OURS).replace(",", "")),
        }
        for kind in ("package", "loop"):
            best = best_of(results, kind)
            line[kind] = None
            if best is not None:
                line[kind] = {"name": best[0], "ratio": round(best[1], 2)}
        fraction = fraction_of_ceiling(results)
        line["ceiling"] = None if fraction is None else round(fraction, 2)
        lines.append(line)
    last = list(records.values())[-1]
    return {
        "program": "benchmarks/race",
        "computer": last["processor"],
        "date": last["date"],
        "versions": last["versions"],
        "records": lines,
    }


def is_chosen(load: Workload, names: list[str]) -> bool:
    """Return whether a workload runs: if it is named by its first words, or none is named."""
    if not names:
        return load in WORKLOADS
    return any(f"{load.name} ".startswith(f"{name} ") for name in names)


def main() -> None:
    """Run the chosen workloads and report."""
    parser = parser_of(__doc__, workloads=[], rounds=3, seconds=2.0, out="runs/race")
    parser.add_argument("--only", nargs="+", default=[], metavar="CONTESTANT")
    parser.add_argument(
        "--together",
        action="store_true",
        help="Start all contestants of a workload at once: sooner, but their start-up times are"
        " not comparable.",
    )
    parser.add_argument("--report", action="store_true", help="Report stored results; run nothing.")
    args = parser.parse_args()
    folder = Path(args.out)
    folder.mkdir(parents=True, exist_ok=True)
    for load in WORKLOADS + LARGE:
        target = folder / f"{load.name}.json"
        if args.report or target.exists() or not is_chosen(load, args.workloads):
            continue
        print(load.name, flush=True)
        results = run(load, args.rounds, args.seconds, args.only, args.together)
        about = {
            "processor": computer(),
            "date": time.strftime("%d %B %Y"),
            "versions": versions(PACKAGES),
        }
        target.write_text(json.dumps(about | {"contestants": results}, indent=1))
    report(folder)


if __name__ == "__main__":
    main()
