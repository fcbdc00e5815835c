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

import os
import random
import resource
import sys
import tempfile
import time
import traceback
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

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

from reporting import parser_of  # noqa: E402 (it imports NumPy, which atheris observes)


class Finding(NamedTuple):
    """An input that is neither read nor refused, and the message of its exception."""

    content: bytes
    message: str


class Search:
    """Reads inputs one after the other, and stores those that are neither read nor refused."""

    def __init__(self, name: str, seconds: float, out: Path):
        self.reader = BY_FILE[name]
        self.seconds = seconds
        self.out = out
        self.started = time.perf_counter()
        self.executions = 0
        self.values = 0  # inputs that are read
        self.findings: dict[str, Finding] = {}  # by the place in the code
        self.folder = tempfile.TemporaryDirectory()

    def __call__(self, content: bytes) -> None:
        """Read an input; print the findings and end the process when time is over."""
        with tempfile.TemporaryDirectory(dir=self.folder.name) as folder:
            try:
                self.values += refusal_of(self.reader, content, Path(folder)) is None
            except Exception as error:  # whatever is not ours is a finding
                self.store(content, error)
        self.executions += 1
        if time.perf_counter() - self.started > self.seconds:
            self.end()

    def store(self, content: bytes, error: Exception) -> None:
        """Store an input if it is the first or the shortest that fails at its place."""
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{type(error).__name__} in {Path(frame.filename).name}, line {frame.lineno}"
        known = self.findings.get(place)
        if known is None or len(content) < len(known.content):
            self.findings[place] = Finding(content, str(error))
            digest = sha256(place.encode()).hexdigest()[:8]
            (self.out / f"{digest}_{self.reader.file.replace('/', '_')}").write_bytes(content)

    def end(self) -> None:
        """Print the findings."""
        seconds = time.perf_counter() - self.started
        print(
            f"{self.reader.file}: {self.executions:,} executions in {seconds:.0f} s,"
            f" {self.values:,} read, {len(self.findings)} findings"
        )
        for place, (content, message) in self.findings.items():
            print(f"  {place}: {message[:200]}\n    {content[:300]!r}")
        sys.stdout.flush()
        self.folder.cleanup()
        os._exit(bool(self.findings))


def search_numbers(search: Search, draw: random.Random) -> None:
    """Read valid files with other numbers until the time is over."""
    valid = search.reader.example()
    search(valid)  # what compiles does so here
    # Not of resident memory, which cannot be limited: JAX has reserved much more already.
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
    for name, content in numbers.variants(valid):
        started = time.perf_counter()
        search(content)
        if time.perf_counter() - started > 1.0:
            print(f"{time.perf_counter() - started:.0f} s for {name}")
    while True:
        search(numbers.drawn(valid, draw))


def main() -> None:
    parser = parser_of(__doc__, seconds=600.0, out=Path("fuzzed"))
    parser.add_argument("reader", nargs="?", choices=sorted(BY_FILE))
    parser.add_argument(NUMBERS, action="store_true", help="replace numbers of valid JSON")
    parser.add_argument("--seed", type=int, default=0, help="of --numbers")
    args = parser.parse_args()
    if args.reader is None:
        print("\n".join(BY_FILE))
        return
    args.out.mkdir(parents=True, exist_ok=True)
    if args.numbers:
        search_numbers(Search(args.reader, args.seconds, args.out), random.Random(args.seed))
    with tempfile.TemporaryDirectory() as corpus:
        valid = BY_FILE[args.reader].example()
        Path(corpus, "valid").write_bytes(valid)
        options = [f"-artifact_prefix={args.out}/", f"-max_len={max(LONGEST, 2 * len(valid))}"]
        options += ["-rss_limit_mb=6000", "-timeout=120", "-verbosity=0"]
        search = Search(args.reader, args.seconds, args.out)
        search(valid)  # what compiles does so here
        atheris.Setup([sys.argv[0], corpus, *options], search)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
