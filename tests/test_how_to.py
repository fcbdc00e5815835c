"""The how-to pages, followed literally: each makes a source file, a test file, an export line."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import harmonium

ROOT = Path(__file__).parents[1]
# A file's name begins a line; the next block of Python is the content of the file.
BLOCK = re.compile(
    r"^(?:In )?`((?:src|tests)/[\w/.]+)`(?:(?!```).)*?```python\n(.*?)```", re.S | re.M
)


def follow(page: str, target: Path) -> list[str]:
    """Copy the package and follow a page: write its files, append its export line."""
    shutil.copytree(Path(harmonium.__file__).parent, target / "src" / "harmonium")
    shutil.copytree(ROOT / "tests", target / "tests")
    shutil.copy(ROOT / "pyproject.toml", target)
    done = []
    for name, code in BLOCK.findall((ROOT / "docs" / page).read_text()):
        file = target / name
        new = not file.exists()
        with file.open("a") as out:
            out.write(code)
        done.append(("new " if new else "export ") + name)
    return done


@pytest.mark.parametrize(
    ("page", "part", "folder"),
    [
        ("how_to_add_a_layer.md", "Rotor", "layers"),
        ("how_to_add_a_gradient.md", "Restarted", "gradients"),
    ],
)
def test_the_page_followed_literally(page, part, folder, tmp_path):
    name = part.lower()
    assert follow(page, tmp_path) == [
        f"new src/harmonium/{folder}/{name}.py",
        f"new tests/{folder}/test_{name}.py",
        f"export src/harmonium/{folder}/__init__.py",
    ]
    # The environment of this process, with the copy before the installed package.
    environment = os.environ | {"PYTHONPATH": str(tmp_path / "src")}
    laws = f"tests/laws/test_{folder}.py"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/test_architecture.py",
    ]
    command += [
        f"tests/{folder}/test_{name}.py",
        laws,
        "-k",
        f"{part} or {name} or example or init",
    ]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
    found = int(re.search(r"(\d+) passed", ran.stdout).group(1))
    assert found > 15, ran.stdout[-500:]
