"""What a release must have right: one version everywhere."""

import re
import tomllib
from pathlib import Path

import harmonium as hm

ROOT = Path(__file__).parents[1]


def test_the_version_is_the_same_everywhere():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert citation is not None
    assert project["version"] == hm.__version__ == citation[1]
    assert hm.__version__ in (ROOT / "CHANGELOG.md").read_text()
