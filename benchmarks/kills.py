"""Kill runs again and again, and see whether they end in the same model.

    python benchmarks/kills.py [--runs 5] [--kills 10] [--out runs/kills] [KIND ...]

For each kind of run, one is left alone, and `--runs` others are killed by SIGKILL and resumed,
`--kills` times each; then they may finish. Every other kill comes while a file is being written,
the rest at random times. Model and checkpoint must be equal to those
of the run that was left alone, byte by byte, and each record must be there once.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

WITHOUT_TIMES = {"seconds", "samples_per_second", "update_ratio", "pseudo_log_likelihood"}
# Saves always, and neither scores nor draws at the end.
COMMAND = """
import sys
import harmonium.runs.train as runs
from harmonium.runs import checkpointing
checkpointing.SECONDS_BETWEEN_CHECKPOINTS = -1.0
checkpointing.Checkpointer.__call__, plain = None, checkpointing.Checkpointer.__call__
def slowly(self, report):
    import time
    time.sleep(0.01)
    plain(self, report)
checkpointing.Checkpointer.__call__ = slowly
runs.final_score = lambda *_: {}
runs.reported = lambda *_: {"report": None}
from harmonium.cli import main
main(sys.argv[1:])
"""
KINDS = {
    "plain": "bars --hidden 8 --epochs 30000",
    "exchange ladder": "bars --hidden 8 --method pt --k 4 --chains 40 --epochs 4000",
    "missing values": "gaps.csv --hidden 8 --epochs 3000",
    "autopilot": "bars --hidden 8 --method auto --chains 40 --epochs 4000",
}
UNDER_WAY = (
    "model.safetensors.partial",
    "checkpoints/last.safetensors.new.partial",
    "checkpoints/last.safetensors.new",
)
SAME = ("model.safetensors", "checkpoints/last.safetensors")


def started(*words: str) -> subprocess.Popen:
    """Start the command in a process of its own."""
    with Path("stderr.txt").open("w") as errors:
        command = [sys.executable, "-c", COMMAND, *words, "--json"]
        env = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors, env=env)


def ended(process: subprocess.Popen, what: str) -> int:
    """Wait for the end of a process that may be killed, but must not fail."""
    status = process.wait()
    if status not in (0, -signal.SIGKILL):
        sys.exit(f"{what}: {Path('stderr.txt').read_text()[-1000:]}")
    return status


def records(run: Path) -> list[dict]:
    """Return a run's records without what depends on time."""
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [
        {key: value for key, value in json.loads(line).items() if key not in WITHOUT_TIMES}
        for line in lines
    ]


def killed(kind: str, run: Path, kills: int, rng: random.Random) -> tuple[int, int]:
    """Let a run be killed and resumed; return the kills, and how many hit a file being written."""
    hits = made = 0
    while True:
        begun = (run / "checkpoints/last.safetensors").exists()
        words = ["resume", str(run)] if begun else ["train", *kind.split(), "--out", str(run)]
        if not begun and run.exists():
            shutil.rmtree(run)
        process = started(*words)
        if made < kills:
            wait_for_updates(run, process)
            time.sleep(rng.uniform(0.0, 1.5))
            if made % 2:
                wait_for_a_write(run, process)
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
                made += 1
        status = ended(process, str(run))
        hits += any((run / place).exists() for place in UNDER_WAY)
        if status == 0:
            return made, hits


def wait_for_a_write(run: Path, process: subprocess.Popen) -> None:
    """Wait until a file is being written, or for some seconds."""
    until = time.monotonic() + 5.0
    while process.poll() is None and time.monotonic() < until:
        if any((run / place).exists() for place in UNDER_WAY):
            return


def wait_for_updates(run: Path, process: subprocess.Popen) -> None:
    """Wait until the process writes, or has ended."""
    before = written(run)
    while process.poll() is None and written(run) == before:
        time.sleep(0.02)


def written(run: Path) -> float:
    """Return when the last checkpoint was written."""
    try:
        return (run / "checkpoints/last.safetensors").stat().st_mtime
    except OSError:
        return 0.0


def write_table_with_gaps(path: Path) -> None:
    """Write rows of a few columns, some of their cells empty."""
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (60, 6)).astype(str)
    rows[rng.random(rows.shape) < 0.1] = ""
    path.write_text("a,b,c,d,e,f\n" + "\n".join(map(",".join, rows)) + "\n")


def main() -> None:
    """Kill the chosen kinds of runs, and report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=[], metavar="KIND")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("runs/kills"))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    os.chdir(given.out)
    write_table_with_gaps(Path("gaps.csv"))
    rng, total = random.Random(0), [0, 0, 0]
    for name in given.kinds or KINDS:
        for old in Path().glob(f"{name}*"):
            shutil.rmtree(old)
        whole = Path(f"{name}-whole")
        ended(started("train", *KINDS[name].split(), "--out", str(whole)), str(whole))
        for number in range(given.runs):
            run = Path(f"{name}-{number}")
            made, hits = killed(KINDS[name], run, given.kills, rng)
            same = all((run / file).read_bytes() == (whole / file).read_bytes() for file in SAME)
            same = same and records(run) == records(whole)
            total = [total[0] + made, total[1] + hits, total[2] + (not same)]
            print(f"{run}: {made} kills, {hits} of them while a file was written:", end=" ")
            print("the same model, each record once" if same else "NOT THE SAME", flush=True)
    print(f"{total[0]} kills, {total[1]} within a write, {total[2]} runs that differ")


if __name__ == "__main__":
    main()
