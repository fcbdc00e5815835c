"""Which tests a change has to pass, and which only the nightly run repeats.

Some tests take minutes and hold a part that few changes touch: files from strangers, several
devices, Keras on three backends, a page of the documentation. Each such suite names the files that
are its own. `make nightly` runs all of them and then records a digest of these files; `.ci/run`
leaves a suite out while its files are those of the record. So a suite runs with each change of its
own files, and every night with all others.

    python tests/suites.py ignored   the options for pytest that leave unchanged suites out
    python tests/suites.py changed   the suites with a target of their own in the Makefile to run
    python tests/suites.py record    record the digests, after everything has passed
"""

import hashlib
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "tests/suites.json"


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


def page(name: str) -> Suite:
    """Return the suite that runs the code of a page, docs/NAME.md."""
    return Suite((f"docs/{name}.md",), (f"tests/test_{name}_page.py",))


PAGES = (
    "density",
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

SUITES = {
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
    "pool of two threads": Suite(
        ("src/harmonium/_base/linalg.py", "src/harmonium/_base/host.py"),
        ("tests/test_thread_pool.py",),
    ),
    "external samplers": Suite(
        ("src/harmonium/gradients/external.py",), ("tests/gradients/test_external.py",)
    ),
    "how to": Suite(
        ("docs/how_to_add_a_layer.md", "docs/how_to_add_a_gradient.md"),
        ("tests/test_how_to.py", "tests/test_end_to_end.py"),
    ),
    "scikit-learn's checks": Suite(("src/harmonium/sklearn",), ("tests/sklearn/test_checks.py",)),
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


def digest(suite: Suite) -> str:
    """Return a digest of the names and contents of a suite's own files and tests."""
    # What git ignores is made by the suites themselves, such as notebooks of the course.
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--"]
    command += [*suite.files, *suite.tests]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    total = hashlib.sha256()
    for name in sorted(set(filter(None, listed.split("\0")))):
        file = ROOT / name
        if file.is_file():
            total.update(f"{name}\0".encode())
            total.update(file.read_bytes())
    return total.hexdigest()[:16]


def unchanged() -> set[str]:
    """Return the names of the suites whose files are as they were when all passed."""
    recorded = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    return {name for name, suite in SUITES.items() if recorded.get(name) == digest(suite)}


def main(what: str) -> None:
    """Print what `.ci/run` asks for, or write the record."""
    match what:
        case "ignored":
            print(*(f"--ignore={test}" for name in unchanged() for test in SUITES[name].tests))
        case "changed":
            names = SUITES.keys() - unchanged()
            print(*sorted({SUITES[name].target for name in names} - {""}))
        case "record":
            digests = {name: digest(suite) for name, suite in SUITES.items()}
            RECORD.write_text(json.dumps(digests, indent=1) + "\n")
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) == 2 else "")
