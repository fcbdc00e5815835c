"""What must not come back into the code: several assignments in one, names that say nothing."""

import ast
from pathlib import Path

import pytest

import code_habits
import harmonium as hm

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src/harmonium"
# What stays is stored or public: `anew` in the state of a run, `reach` of an answer, and `side` of
# two built-in data sets.
VAGUE = 4
FOLDERS = ("src", "tests", "benchmarks", "docs/_extensions")


def python_files(*folders: str) -> list[Path]:
    return [file for folder in folders for file in sorted((ROOT / folder).rglob("*.py"))]


def test_an_assignment_has_one_value():
    packed = [
        f"{file.relative_to(ROOT)}:{node.lineno}: {ast.unparse(node)}"
        for file in python_files(*FOLDERS)
        for node in code_habits.packed_assignments(ast.parse(file.read_text()))
    ]
    assert not packed


def test_vague_names_become_fewer():
    count = sum(
        len(list(code_habits.vague_names(ast.parse(file.read_text()))))
        for file in python_files("src")
    )
    assert count <= VAGUE


def test_the_top_offers_what_its_stub_lists():
    stub = ast.parse((PACKAGE / "__init__.pyi").read_text())
    listed = {
        alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert set(dir(hm)) == listed
    assert len(listed) <= 120
    assert not [name for name in listed if not hasattr(hm, name)]


def test_a_package_offers_only_names_of_its_own():
    """A name that a module imports from elsewhere is no name of the package."""
    foreign = [
        f"{file.parent.name}: {name}"
        for file in PACKAGE.glob("*/__init__.py")
        for node in ast.parse(file.read_text()).body
        if isinstance(node, ast.ImportFrom)
        for name in [alias.asname or alias.name for alias in node.names]
        if node.level != 1
    ]
    assert not foreign


def test_counts_are_those_of_a_file_counted_by_hand(tmp_path):
    (tmp_path / "module.py").write_text(
        '"""Title."""\n\n# Why.\na, b = f(1), 2\na, b = b, a\nfound = 1 if a else 2\n'
    )
    counts = code_habits.counts_of(tmp_path)
    assert counts["lines of code"] == 3
    assert counts["packed assignments / 1,000"] == pytest.approx(1_000 / 3)
    assert counts["conditional expressions / 1,000"] == pytest.approx(1_000 / 3)
    assert counts["vague names / 1,000"] == pytest.approx(1_000 / 3)
    assert counts["comments, % of code"] == pytest.approx(100 / 3)
    assert "lines of code" in code_habits.table({"module": tmp_path})
