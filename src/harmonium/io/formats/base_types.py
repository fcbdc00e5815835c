"""Names of layer and weight types in files: "Class" for harmonium's own, else "module:Class"."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from ... import layers, weights
from ...errors import InputError, ModelFileError
from ...layers import AbstractLayer
from ...weights import AbstractWeights
from ..convert.base import short
from .base import COPY_AGAIN

HOMES = (layers, weights)
KINDS = (AbstractLayer, AbstractWeights)


def name_of_type(kind: type, source: str) -> str:
    """Return the name that model files use for a type of layer or weights.

    Raises:
        InputError: the type is defined in a function or a script, so that it cannot be imported.
    """
    if any(getattr(home, kind.__name__, None) is kind for home in HOMES):
        return kind.__name__
    module = kind.__module__
    name = kind.__qualname__
    if "<" in name or module == "__main__" or getattr(sys.modules.get(module), name, None) is None:
        raise InputError(
            f"{source}: expected layers and weights of types that can be imported; got {name} of"
            f" {module}; move the class to the top level of a module and import it from there."
        )
    return f"{module}:{name}"


def type_named(name: Any, path: Path) -> Any:
    """Return the layer or weight type with this name, from harmonium or an imported module.

    No module is imported, since a malicious `mylayers.py` may have come with the model file.

    Raises:
        ModelFileError: no imported module contains a type of this name.
    """
    module, colon, qualified = str(name).partition(":")
    kind: Any = None
    # Use `vars` for the lookup, since getattr would run a module's __getattr__.
    if not colon:
        kind = vars(layers).get(module) or vars(weights).get(module)
        advice = "install a newer harmonium"
    elif module in sys.modules:
        kind = vars(sys.modules[module]).get(qualified)
        advice = f"define it in {short(module)}, which is imported"
    elif all(part.isidentifier() for part in module.split(".")):
        advice = (
            f"if you trust {module}, import it first, or call hm.load(..., trust=[{module!r}]),"
            f" or add --trust {module}"
        )
    else:
        advice = COPY_AGAIN
    if not (isinstance(kind, type) and issubclass(kind, KINDS)):
        raise ModelFileError(
            f"{path}: expected layers of modules that are imported; got the type {short(name)};"
            f" {advice}."
        )
    return kind


def import_trusted(modules: Iterable[str], what: str) -> None:
    """Import modules that define layers and weights used in model files.

    Args:
        modules: the names of the modules, given by the user.
        what: the argument or option that contains these names, for error messages.

    Raises:
        InputError: a name is not the name of a module, or the module cannot be imported.
    """
    for name in [modules] if isinstance(modules, str) else modules:
        try:
            import_module(name)
        except Exception as error:  # a module can raise anything while it is imported
            reason = next(iter(str(error).splitlines()), "")
            raise InputError(
                f"{what}: expected names of modules that can be imported; got {short(name)}"
                f" ({type(error).__name__}: {reason}); put the module on Python's path, for example"
                " with PYTHONPATH=FOLDER."
            ) from None
