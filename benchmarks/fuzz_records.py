"""Search for records of a run on which a command fails: JSON of another structure.

    python benchmarks/fuzz_records.py [--seconds 600] [--files config.json,summary.json] [--seed 0]

A run of each kind is trained on a few rows. Then one of its files, of those in
tests/hostile/records.py, gets values of other types, or loses, moves or doubles some, and a command
reads the run in this process. Exit statuses are counted; 1 is an internal error and a finding. The
first input for each command, file and message is stored in the folder --out.
"""

from __future__ import annotations

import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import jax

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from reporting import parser_of

from hostile.records import COMMANDS, FILES, damaged_file, make_runs, read_by

ALLOWED = (0, 2, 3, 130)  # 130: it was interrupted, since it took long
BETWEEN_CLEARING = 100  # commands: programs of other shapes would fill the memory


class Search:
    """Runs commands one after the other, and stores the inputs on which one of them fails."""

    def __init__(self, files: list[str], seed: int, out: Path):
        self.files = files
        self.rng = random.Random(seed)
        self.out = out
        self.runs = [run for run in COMMANDS if any(Path(run, name).is_file() for name in files)]
        self.statuses: Counter[int] = Counter()
        self.findings: dict[tuple[str, str, str], str] = {}

    def step(self, work: Path) -> None:
        """Run one command on a run of which one file is damaged."""
        run = Path(self.rng.choice(self.runs))
        name = self.rng.choice([name for name in self.files if (run / name).is_file()])
        command = self.rng.choice(COMMANDS[run.name])
        content = damaged_file((run / name).read_bytes(), name, self.rng)
        ended = read_by(run, command.split(), name, content, work)
        self.statuses[ended.status] += 1
        key = (command, name, ended.said[:80])
        if ended.status not in ALLOWED and key not in self.findings:
            self.findings[key] = f"{command}: {name}: {ended.said}"
            (self.out / f"{len(self.findings)}_{run}_{name}").write_bytes(content)


def main() -> None:
    options = {"seconds": 600.0, "files": ",".join(FILES), "seed": 0, "out": Path("fuzzed")}
    args = parser_of(__doc__, **options).parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    out = args.out.resolve()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        make_runs(Path(folder))
        search = Search(args.files.split(","), args.seed, out)
        started = time.perf_counter()
        while time.perf_counter() - started < args.seconds:
            search.step(Path(folder, "work"))
            if search.statuses.total() % BETWEEN_CLEARING == 0:
                jax.clear_caches()
        os.chdir("/")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    counts = ", ".join(
        f"{count:,} of {status}" for status, count in sorted(search.statuses.items())
    )
    print(f"{search.statuses.total():,} commands in {args.seconds:.0f} s; exit statuses: {counts}")
    print(f"{len(search.findings)} findings; {peak:.2f} GiB of memory at the peak")
    print("\n".join(search.findings.values()))
    sys.exit(bool(search.findings))


if __name__ == "__main__":
    main()
