"""Print the oldest version that pyproject.toml allows of every package, as constraints for pip.

Every requirement states its oldest version as `name>=version`, that of the build and of each extra
too; one that does not, or a package with two oldest versions, is an error. Packages that only other
packages require are left to these.
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"


def oldest_versions(pyproject: dict) -> dict[str, str]:
    """The oldest version that is allowed, for each package."""
    project = pyproject["project"]
    oldest: dict[str, str] = {}
    for requirement in sum(
        project["optional-dependencies"].values(),
        pyproject["build-system"]["requires"] + project["dependencies"],
    ):
        if requirement.startswith(project["name"] + "["):
            continue
        parts = re.fullmatch(r"([\w.-]+)(?:\[[\w,-]+\])?>=([\d.]+)(?:,!=[\d.]+)*", requirement)
        if parts is None:
            raise SystemExit(f"pyproject.toml: expected name>=version, found {requirement!r}")
        name, version = parts.groups()
        if oldest.setdefault(name, version) != version:
            raise SystemExit(f"pyproject.toml: {name} has two oldest versions")
    return oldest


if __name__ == "__main__":
    for name, version in oldest_versions(tomllib.loads(PYPROJECT.read_text())).items():
        print(f"{name}=={version}")
