"""The rule of the package: a module imports from lower levels, or from beside itself."""

import ast
import builtins
import graphlib
import re
from pathlib import Path

import pytest

import harmonium as hm

ROOT = Path(hm.__file__).parent
LEVELS = [
    {"errors"},
    {"_base"},
    {"layers", "weights"},
    {"rbm"},
    {"tables", "path"},
    {"sequences"},
    {"data", "io"},
    {"samplers"},
    {"transforms"},
    {"likelihood"},
    {"gradients", "inference"},
    {"evaluation"},
    {"diagnostics", "training"},
    {"analysis", "plot"},
    {"report", "sklearn", "keras"},
    {"runs"},
    {"cli"},
    {"__main__"},
]
MODULES = sorted(p for p in ROOT.rglob("*.py") if p.name != "__init__.py")
# The top one finds names on first use, for a reason it states.
INIT_FILES = sorted(set(ROOT.rglob("__init__.py")) - {ROOT / "__init__.py"})


def level_of(top: str) -> int:
    levels = [i for i, level in enumerate(LEVELS) if top in level]
    assert levels, f"{top} has no level: add it to LEVELS and to docs/architecture.md"
    return levels[0]


def parts_of(file: Path) -> tuple[str, ...]:
    return file.relative_to(ROOT).with_suffix("").parts


def imports_of(file: Path) -> list[tuple[str, ...]]:
    """Return the harmonium modules that a file imports, as parts of their names."""
    package = file.relative_to(ROOT).with_suffix("").parts[:-1]
    imported = []
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
            imported += [target for target in targets if target]
    return imported


def classes_of(file: Path) -> dict[str, list[str]]:
    """Return the classes that a file defines, and the names of their bases."""
    return {
        node.name: [ast.unparse(base).split(".")[-1] for base in node.bases]
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.ClassDef)
    }


def strategies() -> dict[Path, set[str]]:
    """Return, for each module, the base classes of its own folder's base*.py that it implements."""
    bases = {name: of for file in MODULES for name, of in classes_of(file).items()}

    def contracts(name: str) -> set[str]:
        above = bases.get(name, [])
        return {name} if not above else {name}.union(*map(contracts, above))

    modules = {}
    for file in MODULES:
        own = {
            name
            for base in file.parent.glob("base*.py")
            for name in classes_of(base)
            if name.startswith("Abstract")
        }
        if not file.name.startswith("base"):
            concrete = [name for name in classes_of(file) if not name.startswith("Abstract")]
            modules[file] = own & set().union(*map(contracts, concrete))
    return {file: fulfilled for file, fulfilled in modules.items() if fulfilled}


def test_imports_go_down():
    rooms = set().union(*LEVELS)
    wrong = []
    for file in MODULES:
        parts = parts_of(file)
        level = level_of(parts[0])
        for target in imports_of(file):
            if target[0] not in rooms:
                continue  # a name of the top package, such as __version__
            arrow = f"{'.'.join(parts)} imports {'.'.join(target)}"
            if level_of(target[0]) >= level and target[0] != parts[0]:
                wrong.append(f"{arrow}, which is above or beside it")
            if target == parts[:-1]:
                wrong.append(f"{arrow}, its own folder")
    assert not wrong


def test_no_strategy_imports_another_one():
    """Code that two of them share is in a separate module beside them."""
    modules = strategies()
    assert len(modules) > 30  # layers, weights, samplers, ways to log Z, gradients, formats
    names = {parts_of(file): contracts for file, contracts in modules.items()}
    wrong = [
        f"{'.'.join(parts_of(file))} imports {'.'.join(target)}"
        for file, contracts in modules.items()
        for target in imports_of(file)
        if target[:-1] == parts_of(file)[:-1] and contracts & names.get(target, set())
    ]
    assert not wrong


def test_modules_do_not_import_each_other_in_a_circle():
    for folder in {file.parent for file in MODULES} - {ROOT}:
        here = folder.relative_to(ROOT).parts
        depth = len(here)
        graph = {
            file.stem: {t[depth] for t in imports_of(file) if t[:depth] == here and len(t) > depth}
            for file in folder.glob("*.py")
            if file.name != "__init__.py"
        }
        # `static_order` raises a CycleError that names the modules.
        assert list(graphlib.TopologicalSorter(graph).static_order())


def test_init_files_only_re_export():
    wrong = []
    for file in INIT_FILES:
        docstring, *others = ast.parse(file.read_text()).body
        assert isinstance(docstring, ast.Expr), file
        wrong += [
            f"{file.relative_to(ROOT)}, line {node.lineno}"
            for node in others
            if not isinstance(node, ast.ImportFrom)
        ]
    assert not wrong


def test_no_module_has_the_name_of_what_its_folder_exports():
    """Importing the module would replace the function of the same name."""
    wrong = []
    for file in INIT_FILES:
        modules = {path.stem for path in file.parent.glob("*.py")}
        packages = {path.parent.name for path in file.parent.glob("*/__init__.py")}
        exported = {
            alias.asname or alias.name
            for node in ast.walk(ast.parse(file.read_text()))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        wrong += sorted((modules | packages) & exported)
    exported = {name for name in dir(hm) if callable(getattr(hm, name))}
    wrong += sorted(exported & {path.stem for path in ROOT.glob("*")})
    assert not wrong


def test_only_one_module_calls_lapack():
    """Elsewhere `jax.vmap` could make a call of several matrices, which may wait for ever."""
    without_lapack = {"norm", "block_diag"}
    calls = [
        f"{'.'.join(parts_of(file))}: {ast.unparse(node)}"
        for file in MODULES
        if file.name != "linalg.py"
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute)
        and re.match(
            r"(jnp|jax|lax)\b.*\blinalg\.|jax\.random\.(multivariate|ortho)", ast.unparse(node)
        )
        and node.attr not in without_lapack
    ]
    assert not calls


def test_no_module_grows_long():
    """A module holds one subject; at 800 lines it is time to ask whether it does."""
    lengths = {str(file.relative_to(ROOT)): file.read_text().count("\n") for file in MODULES}
    assert not {name: length for name, length in lengths.items() if length > 800}


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
    with pytest.raises(AttributeError, match="nonsense"):
        hm.nonsense  # noqa: B018
    code = "import sys, harmonium, harmonium.cli; assert not {'jax', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_concrete_class_inherits_from_a_concrete_one():
    """Code that two types share is in an abstract class; only errors inherit otherwise."""
    classes = {name: of for file in MODULES for name, of in classes_of(file).items()}
    shared = ("Abstract", "Base", "Unit")  # "Unit" is for the units of Keras models
    wrong = {
        f"{name}({base})"
        for name, bases in classes.items()
        for base in bases
        if base in classes and base != name
        if not base.startswith(shared) and not base.endswith("Error")
    }
    assert not wrong


def test_every_name_is_bound():
    """jaxtyping's shapes are strings of undefined names, so linters cannot check for this."""
    unbound = []
    for file in MODULES:
        bound = set(dir(builtins)) | {"__name__", "__file__"}
        read = {}
        for node in ast.walk(ast.parse(file.read_text())):
            match node:
                case ast.Name(id=name, ctx=ast.Load()):
                    read[name] = node.lineno
                case ast.Name(id=name) | ast.arg(arg=name):
                    bound.add(name)
                case (
                    ast.FunctionDef(name=name)
                    | ast.AsyncFunctionDef(name=name)
                    | ast.ClassDef(name=name)
                ):
                    bound.add(name)
                case ast.Import(names=names) | ast.ImportFrom(names=names):
                    bound |= {(alias.asname or alias.name).split(".")[0] for alias in names}
                case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                    bound.add(name)
        place = file.relative_to(ROOT)
        unbound += [f"{place}:{read[name]}: {name}" for name in read.keys() - bound]
    assert not unbound
