"""Every public name is documented: a summary of one line, its parameters, and an example."""

import importlib
import inspect
import pkgutil
import re

import harmonium as hm

# These offer names to other packages of the library; what users need of them is at the top.
INTERNAL = {"io", "report", "sequences", "tables"}
PACKAGES = [getattr(hm, name) for name in set(dir(hm)) - INTERNAL]
PUBLIC = {
    name: getattr(place, name)
    for place in (hm, *filter(inspect.ismodule, PACKAGES))
    for name in getattr(place, "__all__", vars(place))
    if name[0] != "_"
}
DOCUMENTED = {
    name: thing
    for name, thing in sorted(PUBLIC.items())
    if inspect.isroutine(thing) or inspect.isclass(thing)
}
SHORT = 100  # characters of a summary


def test_every_name_has_a_summary_and_an_example_that_runs():
    """`--doctest-modules` runs the examples."""
    wrong = []
    for name, thing in DOCUMENTED.items():
        text = inspect.getdoc(thing) or ""
        summary = text.partition("\n")[0]
        is_sentence = 0 < len(summary) <= SHORT and summary.endswith((".", ":"))
        if not is_sentence or ">>> " not in text:
            wrong.append(name)
    assert not wrong


def test_every_parameter_of_a_function_is_described():
    undescribed = []
    for name, thing in DOCUMENTED.items():
        if inspect.isclass(thing):
            continue
        text = inspect.getdoc(thing) or ""
        parameters = set(inspect.signature(thing).parameters) - {"key", "rbm", "layer"}
        undescribed += [f"{name}: {p}" for p in parameters if not re.search(rf"\b{p}\b", text)]
    assert not undescribed


def _methods(modules):
    """Yield the name and the value, as the class shows it, of each public method and property."""
    for module in modules:
        for class_name, kind in vars(module).items():
            is_own = inspect.isclass(kind) and kind.__module__ == module.__name__
            if not is_own or class_name.startswith("_"):
                continue
            fields = inspect.get_annotations(kind)  # a function may be a field's default
            for name, member in vars(kind).items():
                is_method = inspect.isroutine(member) or isinstance(member, property)
                if is_method and not name.startswith("_") and name not in fields:
                    yield f"{module.__name__}.{class_name}.{name}", getattr(kind, name)


def test_every_public_method_is_described_by_its_class_or_a_base_of_it():
    modules = [
        importlib.import_module(module.name)
        for module in pkgutil.walk_packages(hm.__path__, "harmonium.")
        if not module.name.startswith(("harmonium.keras", "harmonium.__main__"))
    ]
    assert not [name for name, method in _methods(modules) if not inspect.getdoc(method)]
