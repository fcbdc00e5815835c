"""Which tests a change has to pass, and which only the nightly run repeats.

All tests together take an hour and more, most of it for few of them. `make nightly` runs all, and
then records how long each slow test took and a digest of the files of each suite: of a package and
its tests, of a page of the documentation, of what needs an environment of its own, such as Keras on
three backends. Between two nights a change passes, in 20 minutes with its environment,

* all tests that are quick, all that the record does not know, and those that read all files;
* of the slow ones, as many as take a share of their time, dealt out by a hash of the tree of
  files. So the same files get the same tests, and other files others; those of a suite whose own
  files have changed since the record are four times as likely to be among them;
* suites with a target of their own in the Makefile, if their own files have changed.

    pytest --share 0.2               the quick tests, and a fifth of the slow ones, by time
    python tests/suites.py changed   the suites with a target of their own in the Makefile to run
    python tests/suites.py record F  record digests, and times from pytest's JUnit file F
"""

import hashlib
import json
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests/suites.json"
SLOW = 0.3  # seconds of a case, on average; the quicker ones are most of the tests, in little time
MORE_LIKELY = 4  # how often tests of changed files are chosen, relative to others

# Tests that read all sources, tests or pages: every change touches what they hold.
OF_ALL_FILES = ("architecture", "claims", "code_habits", "docstrings", "readme", "release")


class Suite(NamedTuple):
    """Tests that stand for a part of the project.

    Attributes:
        files: the files and folders of that part, from the project's root.
        tests: its tests among those of `make all`.
        target: what makes it, if it is not among those: a target of the Makefile.
    """

    files: tuple[str, ...]
    tests: tuple[str, ...] = ()
    target: str = ""


def package(name: str, *tests: str) -> Suite:
    """Return the suite of src/harmonium/NAME: its docstrings' examples, its laws, and `tests`."""
    laws = f"tests/laws/test_{name}.py"
    if (ROOT / laws).exists():
        tests = (*tests, laws)
    return Suite((), (f"src/harmonium/{name}", *tests))


def page(name: str) -> Suite:
    """Return the suite that runs the code of a page, docs/NAME.md."""
    return Suite((f"docs/{name}.md",), (f"tests/test_{name}_page.py",))


PAGES = (
    "deep",
    "conditional",
    "defaults",
    "labels_and_missing_values",
    "likelihood",
    "physics",
    "practice",
    "report",
    "scikit_learn",
    "sequences",
    "shell",
    "streams",
    "tables",
    "words",
)
PACKAGES = (
    "cli",
    "data",
    "diagnostics",
    "evaluation",
    "gradients",
    "io",
    "layers",
    "plot",
    "report",
    "runs",
    "samplers",
    "sequences",
    "sklearn",
    "tables",
    "training",
    "weights",
)

SUITES = {
    **{
        str(file.relative_to(ROOT)): Suite((), (str(file.relative_to(ROOT)),))
        for folder in ("tests", "tests/laws")
        for file in sorted((ROOT / folder).glob("test_*.py"))
    },
    **{name: package(name, f"tests/{name}") for name in PACKAGES},
    "analysis": package("analysis", "tests/evaluation/test_trees.py"),
    "inference": package(
        "inference", "tests/evaluation/test_questions.py", "tests/laws/test_questions.py"
    ),
    "missing values": package("likelihood/missing", "tests/missing"),
    "partition function": package(
        "likelihood/partition_function", "tests/partition_function", "tests/laws/test_log_z.py"
    ),
    "machine": Suite(("src/harmonium/rbm.py",), ("tests/laws/test_models.py",)),
    "sharding": Suite(
        ("src/harmonium/_base/sharding.py", "tests/eight_devices.py"), ("tests/test_sharding.py",)
    ),
    "processes": Suite(
        ("src/harmonium/_base/processes.py", "tests/one_of_several.py"),
        ("tests/runs/test_distributed.py",),
    ),
    "files from strangers": Suite(
        ("src/harmonium/io", "src/harmonium/_base/files.py"), ("tests/hostile",)
    ),
    "programs": Suite(
        (
            "src/harmonium/_base/programs.py",
            "src/harmonium/_base/program_files.py",
            "src/harmonium/_base/one_thread.py",
        ),
        ("tests/test_programs.py",),
    ),
    "pool of two threads": Suite(
        ("src/harmonium/_base/linalg.py", "src/harmonium/_base/host.py"),
        ("tests/test_thread_pool.py",),
    ),
    "how to": Suite(
        ("docs/how_to_add_a_layer.md", "docs/how_to_add_a_gradient.md"),
        ("tests/test_how_to.py", "tests/test_end_to_end.py"),
    ),
    **{f"page {name}": page(name) for name in PAGES},
    "keras": Suite(("src/harmonium/keras", "tests/interfaces/keras"), target="keras"),
    "other packages": Suite(
        ("src/harmonium/io/convert", "src/harmonium/io/formats", "tests/interfaces/io"),
        target="interface-others",
    ),
    "browser": Suite(("src/harmonium/report", "tests/browser"), target="interface-browser"),
    "site": Suite(
        ("docs/conf.py", "docs/_extensions", "docs/course", "examples/gallery"), target="docs"
    ),
    "package": Suite(("pyproject.toml",), target="package"),
    "newest": Suite((".ci/newest", "pyproject.toml"), target="newest-part"),
}


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def digest(suite: Suite) -> str:
    """Return a digest of the names and contents of a suite's own files and tests."""
    # What git ignores is made by the suites themselves, such as notebooks of the course.
    options = ("-z", "--cached", "--others", "--exclude-standard", "--")
    listed = _git("ls-files", *options, *suite.files, *suite.tests)
    total = hashlib.sha256()
    for name in sorted(set(filter(None, listed.split("\0")))):
        file = ROOT / name
        if file.is_file():
            total.update(f"{name}\0".encode())
            total.update(file.read_bytes())
    return total.hexdigest()[:16]


def recorded() -> dict[str, dict]:
    """Return the digests of suites and the seconds of slow tests that `make nightly` recorded."""
    if not RECORD.exists():
        return {"digests": {}, "seconds": {}}
    return json.loads(RECORD.read_text())


def unchanged() -> set[str]:
    """Return the names of the suites whose files are as they were when all passed."""
    digests = recorded()["digests"]
    return {name for name, suite in SUITES.items() if digests.get(name) == digest(suite)}


def function_of(test: str) -> str:
    """Return the test function of a case, without the case's parameters."""
    return test.partition("[")[0]


def dealt(tests: Iterable[str], share: float) -> set[str]:
    """Return which of some tests a change runs.

    Args:
        tests: identifiers, FILE::FUNCTION[CASE].
        share: what the slow ones may take, as a part of the time of all slow ones.
    """
    tests = list(tests)
    times = recorded()["seconds"]
    places = tuple(
        f"{place}/" if (ROOT / place).is_dir() else f"{place}::"
        for name in SUITES.keys() - unchanged()
        for place in SUITES[name].tests
    )
    tree = _git("rev-parse", "HEAD^{tree}")

    def turn(test: str) -> float:
        """Return a number that is uniform below 1, or below 1/4 for tests of changed files."""
        number = int(hashlib.sha256(f"{tree}{test}".encode()).hexdigest()[:8], 16) / 16**8
        return number / MORE_LIKELY if test.startswith(places) else number

    always = tuple(f"tests/test_{name}.py::" for name in OF_ALL_FILES)
    slow = [test for test in tests if function_of(test) in times and not test.startswith(always)]
    chosen = set(tests).difference(slow)
    seconds = share * sum(times[function_of(test)] for test in slow)
    for test in sorted(slow, key=turn):
        seconds -= times[function_of(test)]
        if seconds < 0:
            break
        chosen.add(test)
    return chosen


def seconds_of(report: Path) -> dict[str, float]:
    """Return the mean time of a case of each slow test function, from pytest's JUnit file."""
    times = defaultdict(list)
    for case in ElementTree.parse(report).iter("testcase"):
        function = function_of(f"{case.get('file')}::{case.get('name')}")
        times[function].append(float(case.get("time", "0")))
    means = {function: sum(each) / len(each) for function, each in sorted(times.items())}
    return {function: round(mean, 2) for function, mean in means.items() if mean > SLOW}


def main(*words: str) -> None:
    """Print what `.ci/run` asks for, or write the record."""
    match words:
        case ("changed",):
            names = SUITES.keys() - unchanged()
            print(*sorted({SUITES[name].target for name in names} - {""}))
        case ("record", report):
            digests = {name: digest(suite) for name, suite in SUITES.items()}
            record = {"digests": digests, "seconds": seconds_of(Path(report))}
            RECORD.write_text(json.dumps(record, indent=1) + "\n")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
