"""The how-to pages, followed literally: each makes a source file, a test file, an export line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import harmonium

ROOT = Path(__file__).parents[1]
PAGES = {
    "how_to_add_a_layer.md": ("layers", "rotor"),
    "how_to_add_a_gradient.md": ("gradients", "restarted"),
}
# A file's name begins a line; the next block of Python is the content of the file.
BLOCK = re.compile(
    r"^(?:In )?`((?:src|tests)/[\w/.]+)`(?:(?!```).)*?```python\n(.*?)```", re.S | re.M
)


def follow(page: str, target: Path) -> list[str]:
    """Follow a page in a copy of the package: write its files, append its export line."""
    if not (target / "src").exists():
        shutil.copytree(Path(harmonium.__file__).parent, target / "src" / "harmonium")
        shutil.copytree(ROOT / "tests", target / "tests")
        for file in ("pyproject.toml", "conftest.py"):
            shutil.copy(ROOT / file, target)
    done = []
    for name, code in BLOCK.findall((ROOT / "docs" / page).read_text()):
        file = target / name
        new = not file.exists()
        with file.open("a") as out:
            out.write(code)
        done.append(("new " if new else "export ") + name)
    return done


def test_the_pages_followed_literally(tmp_path):
    """Both in one copy: to import the package and to collect the laws takes most of the time."""
    for page, (folder, name) in PAGES.items():
        assert follow(page, tmp_path) == [
            f"new src/harmonium/{folder}/{name}.py",
            f"new tests/{folder}/test_{name}.py",
            f"export src/harmonium/{folder}/__init__.py",
        ]
    # The environment of this process, with the copy before the installed package.
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    tests = [
        f"tests/{file}.py"
        for folder, name in PAGES.values()
        for file in (f"{folder}/test_{name}", f"laws/test_{folder}")
    ]
    tests += [f"src/harmonium/{folder}/{name}.py" for folder, name in PAGES.values()]  # examples
    command = [sys.executable, "-m", "pytest", "-qrp", "-p", "no:cacheprovider"]
    # The laws of the layer are those of layers alone; a gradient meets its share of all layers.
    meant = "restarted or rotor and not test_gradients or example or init_files"
    meant += " or imports_go_down or name_is_bound"
    command += ["tests/test_architecture.py", *tests, "-k", meant]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
    assert int(re.search(r"(\d+) passed", ran.stdout).group(1)) > 15 + 4, ran.stdout[-500:]
    for part, fewest in (("rotor", 15), ("restarted", 3)):
        passed = re.findall(rf"^PASSED .*{part}", ran.stdout, re.M | re.I)
        assert len(passed) >= fewest, ran.stdout[-2000:]
