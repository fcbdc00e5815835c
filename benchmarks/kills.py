"""Kill runs again and again, and see whether they end in the same model.

    python benchmarks/kills.py [--runs 5] [--kills 10] [--out runs/kills] [KIND ...]

For each kind of run, one is left alone, and `--runs` others are killed by SIGKILL and resumed,
`--kills` times each; then they may finish. Every other kill comes while a file is being written,
the rest at random times. Models and checkpoint must be equal to those of the run that was left
alone, byte by byte, and each record must be there once. Without KIND it is each of the first four.

Most of the time goes by starting processes. So they are forked from one that has imported
everything and computed nothing, compiled programs are kept in `--out`, and XLA is told to compile
fast; nothing that is compared depends on it.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

WITHOUT_TIMES = {"seconds", "samples_per_second", "update_ratio", "pseudo_log_likelihood"}
PAUSE = 0.004  # seconds, within each write of a run that is to be killed
IMPORTED = ["harmonium.cli", "harmonium.runs.train", "harmonium.runs.sweep"]
KINDS = {
    "plain": "bars --hidden 8 --epochs 5000",
    "exchange ladder": "bars --hidden 8 --method pt --k 4 --chains 40 --epochs 5000",
    "missing values": "gaps.csv --hidden 8 --epochs 5000",
    "ensemble": "bars --hidden 8 --ensemble 3 --chains 40 --epochs 5000",
    "autopilot": "bars --hidden 8 --method auto --chains 40 --epochs 5000",
}
USUAL = list(KINDS)[:4]
SETTINGS = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1",
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "0",
}


class InHalves:
    """A file that is written in two parts, with a pause between them."""

    def __init__(self, file: Any):
        self.file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self.file, name)

    def __enter__(self) -> "InHalves":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, content: bytes) -> int:
        """Write a half, and the other half."""
        half = len(content) // 2
        self.file.write(content[:half])
        self.file.flush()
        time.sleep(PAUSE)
        self.file.write(content[half:])
        return len(content)


def slow(function: Callable) -> Callable:
    """Return a function that begins with a pause."""

    def slowly(*given: Any, **named: Any) -> Any:
        time.sleep(PAUSE)
        return function(*given, **named)

    return slowly


def write_slowly() -> None:
    """Let files be written with pauses: half of it, the rest, to the disk, to its name."""
    before = Path.open

    def opened(path: Path, mode: str = "r", *rest: Any, **named: Any) -> Any:
        file = before(path, mode, *rest, **named)
        return InHalves(file) if mode in ("xb", "ab") else file

    Path.open, Path.replace, os.fsync = opened, slow(Path.replace), slow(os.fsync)


def work(words: list[str], is_to_be_killed: bool) -> None:
    """Carry out a command that saves after each chunk, and neither scores nor draws at the end."""
    with Path("stdout.txt").open("w") as out, Path("stderr.txt").open("w") as errors:
        os.dup2(out.fileno(), 1)
        os.dup2(errors.fileno(), 2)
    import harmonium.runs.train as runs
    from harmonium.cli import main
    from harmonium.runs import checkpointing
    from harmonium.training import loop

    if is_to_be_killed:
        write_slowly()
        loop.next_chunk = lambda chunk, _: min(16, 2 * chunk)
    checkpointing.SECONDS_BETWEEN_CHECKPOINTS = -1.0
    runs.final_score = lambda *_: {}
    runs.reported = lambda *_: {"report": None}
    main([*words, "--json"])


PROCESSES = get_context("forkserver")


def started(*words: str, is_to_be_killed: bool = False) -> BaseProcess:
    """Start the command in a process of its own."""
    process = PROCESSES.Process(target=work, args=(list(words), is_to_be_killed))
    process.start()
    return process


def ended(process: BaseProcess, what: str) -> int | None:
    """Wait for the end of a process that may be killed, but must not fail."""
    process.join()
    if process.exitcode not in (0, -signal.SIGKILL):
        sys.exit(f"{what}: {Path('stderr.txt').read_text()[-1000:]}")
    return process.exitcode


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
        process = started(*words, is_to_be_killed=made < kills)
        if made < kills:
            wait_for_updates(run, process)
            time.sleep(rng.uniform(0.0, 0.5))
            if made % 2:
                wait_for_a_write(run, process)
                time.sleep(rng.uniform(0.0, 2 * PAUSE))
            process.kill()
        status = ended(process, str(run))
        if status == 0:
            return made, hits
        made += 1
        hits += is_cut(run)


def is_cut(run: Path) -> bool:
    """Return whether a file, or a line of the metrics, is half written or without its name."""
    metrics = run / "metrics.jsonl"
    cut = metrics.is_file() and metrics.read_bytes()[-1:] not in (b"", b"\n")
    return cut or any(True for _ in under_way(run))


def under_way(run: Path) -> Iterator[Path]:
    """Find the files that are being written."""
    yield from run.rglob("*.partial")
    yield from run.rglob("*.new")


def wait_for_a_write(run: Path, process: BaseProcess) -> None:
    """Wait until a file is being written, or the process has ended."""
    while process.is_alive() and not any(True for _ in under_way(run)):
        time.sleep(PAUSE / 10)


def wait_for_updates(run: Path, process: BaseProcess) -> None:
    """Wait until the process has saved what it began from and then updates, or has ended."""
    for _ in range(2):
        before = written(run)
        while process.is_alive() and written(run) == before:
            time.sleep(0.005)


def written(run: Path) -> float:
    """Return when the last checkpoint was written."""
    try:
        return (run / "checkpoints/last.safetensors").stat().st_mtime
    except OSError:
        return 0.0


def is_same(run: Path, whole: Path) -> bool:
    """Return whether a run has the models, the checkpoint and the records of the one left alone."""
    same = [file.relative_to(whole) for file in whole.rglob("*.safetensors")]
    same = [file for file in same if file.name != "previous.safetensors"]
    equal = all((run / file).read_bytes() == (whole / file).read_bytes() for file in same)
    return equal and records(run) == records(whole)


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
    compiled = {"JAX_COMPILATION_CACHE_DIR": str(Path("compiled").absolute())}
    os.environ.update(SETTINGS | compiled)
    PROCESSES.set_forkserver_preload(["__main__", *IMPORTED])
    write_table_with_gaps(Path("gaps.csv"))
    rng, total = random.Random(0), [0, 0, 0]
    for name in given.kinds or USUAL:
        for old in Path().glob(f"{name}*"):
            shutil.rmtree(old)
        whole = Path(f"{name}-whole")
        ended(started("train", *KINDS[name].split(), "--out", str(whole)), str(whole))
        for number in range(given.runs):
            run = Path(f"{name}-{number}")
            made, hits = killed(KINDS[name], run, given.kills, rng)
            same = is_same(run, whole)
            total = [total[0] + made, total[1] + hits, total[2] + (not same)]
            print(f"{run}: {made} kills, {hits} of them while a file was written:", end=" ")
            print("the same model, each record once" if same else "NOT THE SAME", flush=True)
    print(f"{total[0]} kills, {total[1]} within a write, {total[2]} runs that differ")


if __name__ == "__main__":
    main()
