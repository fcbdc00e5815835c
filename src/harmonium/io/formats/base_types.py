"""Types of layers and weights by name: one word for harmonium's own, else "module:Class"."""

from __future__ import annotations

import ast
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ... import layers, weights
from ...errors import input_error
from ...layers import AbstractLayer
from ...weights import AbstractWeights
from ..convert.base import short
from .base import file_error

HOMES = (layers, weights)
KINDS = (AbstractLayer, AbstractWeights)


def name_of_type(kind: type, source: str) -> str:
    """Return the name that a file stores for a type of layer or weights.

    Raises:
        InputError: a type that no other program can import, defined in a function or a script.
    """
    if any(getattr(home, kind.__name__, None) is kind for home in HOMES):
        return kind.__name__
    module, name = kind.__module__, kind.__qualname__
    if "<" in name or module == "__main__" or getattr(sys.modules.get(module), name, None) is None:
        expected = "layers and weights of types that can be imported"
        advice = "move the class to the top of a module of its own and import it from there"
        raise input_error(source, expected, f"{name} of {module}", advice)
    return f"{module}:{name}"


def type_named(name: Any, path: Path) -> Any:
    """Return the type with this name; a third-party module is imported if it defines the class.

    Whether it defines the class is read from its source first, so that a model file cannot make
    any other module run.

    Raises:
        ModelFileError: there is no such type in this environment.
    """
    module, colon, qualified = str(name).partition(":")
    if not colon:
        kind = next((getattr(home, module) for home in HOMES if hasattr(home, module)), None)
        advice = "install a newer harmonium"
    else:
        kind = _imported(module, qualified)
        advice = f"put {short(module)} where Python finds it"
    if not (isinstance(kind, type) and issubclass(kind, KINDS)):
        found = f"the type {short(name)}"
        raise file_error(path, "layers that can be imported here", found, advice)
    return kind


def _imported(module: str, name: str) -> Any:
    """Return a class of a module, or None if there is none."""
    if module not in sys.modules:
        if not _defines(module, name):
            return None
        try:
            import_module(module)
        except Exception:  # whatever a third-party module raises, it cannot be imported
            return None
    return getattr(sys.modules[module], name, None)


def _defines(module: str, name: str) -> bool:
    """Return whether a module's source, which is not run, defines this class at the top level."""
    first, *rest = module.split(".")
    if first in sys.stdlib_module_names:
        return False
    try:
        found = find_spec(first)  # of a submodule, this would import the package
        for part in rest:
            folders = found.submodule_search_locations if found else None
            found = PathFinder.find_spec(part, folders) if folders else None
        if found is None or not str(found.origin).endswith(".py"):
            return False
        tree = ast.parse(Path(str(found.origin)).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.ClassDef) and node.name == name for node in tree.body)
