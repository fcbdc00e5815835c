"""The rule of the house: a module imports from lower storeys, or from its own folder's base.py."""

import ast
import graphlib
from pathlib import Path

import pytest

import harmonium as hm

ROOT = Path(hm.__file__).parent
STOREYS = [
    {"errors", "_threefry", "parameters"},
    {"checks", "_numerics", "orders"},
    {"layers", "weights", "data"},
    {"rbm"},
    {
        "initial",
        "gauge",
        "path",
        "rounding",
        "statistics",
        "quantities",
        "bridge",
        "enumeration",
        "moves",
        "interop",
        "sources",
    },
    {"samplers", "formats"},
    {"courses", "ladders", "holes"},
    {"gradients", "evaluation", "storage"},
    {"sampling", "imputation", "likelihood", "regimes"},
    {"training"},
    {"plot", "sklearn", "keras"},
    {"runs"},
    {"cli"},
    {"__main__"},
]
# Folders whose modules are not alternatives to one another may import siblings, never in a circle.
# In the others a module knows its folder's base*.py and registry.py alone; `gallery` puts all
# pictures together.
PIPELINES = {"data", "training", "runs", "cli", "sklearn", "keras"}
GATHERING = {("plot", "gallery")}
MODULES = sorted(p for p in ROOT.rglob("*.py") if p.name != "__init__.py")


def storey_of(top: str) -> int:
    found = [i for i, storey in enumerate(STOREYS) if top in storey]
    assert found, f"{top} stands on no storey: add it to STOREYS and to docs/architecture.md"
    return found[0]


def imports_of(file: Path) -> list[tuple[str, ...]]:
    """Give the harmonium modules that a file imports, as parts of their names."""
    package = file.relative_to(ROOT).with_suffix("").parts[:-1]
    found = []
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.ImportFrom):
            if node.level:
                stem = package[: len(package) - node.level + 1]
            elif (node.module or "").split(".")[0] == "harmonium":
                stem = ()
            else:
                continue
            name = tuple(
                part for part in (node.module or "").split(".") if part != "harmonium" and part
            )
            targets = [stem + name] if name else [(*stem, alias.name) for alias in node.names]
            found += [target for target in targets if target]
    return found


@pytest.mark.parametrize("file", MODULES, ids=lambda f: str(f.relative_to(ROOT)))
def test_imports_go_down(file):
    parts = file.relative_to(ROOT).with_suffix("").parts
    here = storey_of(parts[0])
    for target in imports_of(file):
        if target[0] not in set().union(*STOREYS):
            continue  # a name of the top package, such as __version__
        there = storey_of(target[0])
        if there < here:
            continue
        assert target[0] == parts[0], (
            f"{'.'.join(parts)} imports {'.'.join(target)} above or beside it"
        )
        assert len(target) > 1, f"{'.'.join(parts)} imports its own folder"
        shared = target[1].split("_")[0] in ("base", "registry")
        allowed = shared or parts[0] in PIPELINES or parts in GATHERING
        assert allowed, f"{'.'.join(parts)} imports its sibling {'.'.join(target)}"


@pytest.mark.parametrize("folder", sorted(PIPELINES))
def test_siblings_do_not_import_each_other_in_a_circle(folder):
    graph = {
        file.stem: {t[1] for t in imports_of(file) if t[0] == folder and len(t) > 1}
        for file in (ROOT / folder).glob("*.py")
    }
    assert list(graphlib.TopologicalSorter(graph).static_order())


@pytest.mark.parametrize("file", sorted(ROOT.rglob("__init__.py")), ids=lambda f: f.parent.name)
def test_init_files_only_re_export(file):
    if file.parent == ROOT:
        return  # finds names on first use, and says why
    tree = ast.parse(file.read_text())
    docstring, *others = tree.body
    assert isinstance(docstring, ast.Expr)
    for node in others:
        assert isinstance(node, ast.ImportFrom), f"{file}: line {node.lineno} is no re-export"


def test_no_module_grows_long():
    long = {
        str(f.relative_to(ROOT)): n for f in MODULES if (n := len(f.read_text().split("\n"))) > 380
    }
    assert not long


def test_public_names_are_there_and_lazy():
    import subprocess
    import sys

    promised = [
        "RBM",
        "initialize",
        "fit",
        "sample",
        "log_z",
        "log_likelihood",
        "save",
        "load",
        "Bernoulli",
        "Ising",
        "Potts",
    ]
    promised += [
        "Gaussian",
        "Mixed",
        "Exact",
        "Contrastive",
        "Persistent",
        "Gibbs",
        "Dataset",
        "Recipe",
    ]
    assert not [name for name in promised if not hasattr(hm, name)]
    assert set(promised) <= set(dir(hm))
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        hm.nonsense  # noqa: B018
    code = "import sys, harmonium, harmonium.cli; assert 'jax' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_concrete_class_inherits_from_a_concrete_one():
    """What two types share stands in an abstract one; errors alone are of kinds."""
    classes = {
        node.name: [ast.unparse(base).split(".")[-1] for base in node.bases]
        for file in MODULES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    }
    shared = (
        "Abstract",
        "Base",
        "Unit",
        "Machine",
    )  # the last two: what Keras models and units are
    wrong = {
        f"{name}({base})"
        for name, bases in classes.items()
        for base in bases
        if base in classes and base != name
        if not base.startswith(shared) and not base.endswith("Error")
    }
    assert not wrong
