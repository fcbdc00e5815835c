"""What a release must have right: one version everywhere, and all that it needs."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest

import harmonium as hm
from oldest_versions import oldest_versions

ROOT = Path(__file__).parents[1]
DISTRIBUTIONS = {"sklearn": "scikit-learn", "arviz_stats": "arviz-stats"}  # of other names
# Those that a user has who comes with their objects or files; pandas comes with logomaker.
USERS = {"pyarrow", "polars", "pandas", "IPython"}


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert project["version"] == hm.__version__ == citation[1]
    assert hm.__version__ in (ROOT / "CHANGELOG.md").read_text()


def test_the_library_imports_only_what_it_requires():
    names = set()
    for file in Path(hm.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
                names.add(node.module.split(".")[0])
    needed = {
        DISTRIBUTIONS.get(name, name).replace("_", "-")
        for name in names - USERS - {"harmonium"} - set(sys.stdlib_module_names)
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = project["dependencies"] + project["optional-dependencies"]["sequences"]
    assert needed <= {requirement.partition(">=")[0] for requirement in required}


def test_every_requirement_has_an_oldest_version():
    oldest = oldest_versions(tomllib.loads((ROOT / "pyproject.toml").read_text()))
    assert {"hatchling", "jax", "torch", "pytest"} <= oldest.keys()


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy==2.1", "jax>=0.11"])
def test_a_requirement_without_one_oldest_version_is_an_error(requirement):
    with pytest.raises(SystemExit, match=re.split("[<=>]", requirement)[0]):
        oldest_versions(
            {
                "build-system": {"requires": []},
                "project": {
                    "name": "harmonium",
                    "dependencies": ["jax>=0.10.0,!=0.10.2"],
                    "optional-dependencies": {"test": ["harmonium[all]", requirement]},
                },
            }
        )
