"""Search for bytes on which a reader fails, guided by the code that they reach.

    pip install atheris
    python benchmarks/fuzz.py READER [--seconds 600] [--out fuzzed]
    python benchmarks/fuzz.py READER --numbers

READER is the name of a file in tests/hostile/readers.py, such as model.npz; without one, the names
are listed. The search starts from valid content. Each input must be read or refused by an error of
harmonium's own; those on which another exception is raised, or a file is written, are stored in the
folder --out, the shortest for each place in the code. Crashes of the process are stored there too.

With --numbers, which needs no atheris, valid JSON has single numbers and words replaced by others:
that of READER, or the description in a model file's head (every-kind.safetensors has layers of all
kinds). What takes more than 2 GiB of memory is a finding too.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile
import time
import traceback
from hashlib import sha256
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
LONGEST = 2**14  # bytes of an input
MEMORY = 2**31  # bytes that reading an input may take
INSTRUMENTED = ["harmonium", "zipfile", "gzip", "csv", "numpy.lib"]
NUMBERS = "--numbers"

if NUMBERS in sys.argv:
    from hostile import numbers
    from hostile.readers import BY_FILE, refusal_of

    EVERY_KIND = BY_FILE["model.safetensors"]._replace(example=lambda: numbers.models()[0])
    BY_FILE = BY_FILE | {"every-kind.safetensors": EVERY_KIND}
else:
    import atheris  # it must come before what it observes

    with atheris.instrument_imports(include=INSTRUMENTED):
        from hostile.readers import BY_FILE, refusal_of


class Search:
    """Reads inputs one after the other, and keeps what goes wrong."""

    def __init__(self, name: str, seconds: float, out: Path):
        self.reader, self.seconds, self.out = BY_FILE[name], seconds, out
        self.began, self.executions, self.values = time.perf_counter(), 0, 0
        self.found: dict[str, tuple[bytes, str]] = {}
        self.folder = tempfile.TemporaryDirectory()

    def __call__(self, content: bytes) -> None:
        """Read an input; print what was found and end the process when time is over."""
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            try:
                self.values += refusal_of(self.reader, content, Path(folder)) is None
            except Exception as error:  # whatever is not ours is a finding
                self.keep(content, error)
        self.executions += 1
        if time.perf_counter() - self.began > self.seconds:
            self.end()

    def keep(self, content: bytes, error: Exception) -> None:
        """Store an input if it is the first or the shortest that fails at its place."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
        known = self.found.get(place)
        if known is None or len(content) < len(known[0]):
            self.found[place] = content, str(error)
            digest = sha256(place.encode()).hexdigest()[:8]
            (self.out / f"{digest}_{self.reader.file.replace('/', '_')}").write_bytes(content)

    def end(self) -> None:
        """Print the findings."""
        took = time.perf_counter() - self.began
        print(
            f"{self.reader.file}: {self.executions:,} executions in {took:.0f} s,"
            f" {self.values:,} read, {len(self.found)} findings"
        )
        for place, (content, message) in self.found.items():
            print(f"  {place}: {message[:200]}\n    {content[:300]!r}")
        sys.stdout.flush()
        self.folder.cleanup()
        os._exit(bool(self.found))


def search_numbers(search: Search, draw: random.Random) -> None:
    """Read valid files with other numbers until the time is over."""
    valid = search.reader.example()
    search(valid)  # what compiles does so here
    # Not of resident memory, which cannot be limited: JAX has reserved much more already.
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    for name, content in numbers.variants(valid):
        began = time.perf_counter()
        search(content)
        if time.perf_counter() - began > 1.0:
            print(f"{time.perf_counter() - began:.0f} s for {name}")
    while True:
        search(numbers.drawn(valid, draw))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("reader", nargs="?", choices=sorted(BY_FILE))
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--out", type=Path, default=Path("fuzzed"))
    parser.add_argument(NUMBERS, action="store_true", help="replace numbers of valid JSON")
    parser.add_argument("--seed", type=int, default=0, help="of --numbers")
    told = parser.parse_args()
    if told.reader is None:
        print("\n".join(BY_FILE))
        return
    told.out.mkdir(parents=True, exist_ok=True)
    if told.numbers:
        search_numbers(Search(told.reader, told.seconds, told.out), random.Random(told.seed))
    with tempfile.TemporaryDirectory() as corpus:
        valid = BY_FILE[told.reader].example()
        Path(corpus, "valid").write_bytes(valid)
        options = [f"-artifact_prefix={told.out}/", f"-max_len={max(LONGEST, 2 * len(valid))}"]
        options += ["-rss_limit_mb=6000", "-timeout=120", "-verbosity=0"]
        search = Search(told.reader, told.seconds, told.out)
        search(valid)  # what compiles does so here
        atheris.Setup([sys.argv[0], corpus, *options], search)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
