"""Every public name is documented: a summary of one line, its parameters, and an example."""

import inspect
import re
from importlib import import_module

import harmonium as hm

HOMES = [import_module(f"harmonium.{home}") for home in (*hm._HOMES, "plot", "sklearn")]
PUBLIC = {name: getattr(home, name) for home in HOMES for name in hm._public(home)}
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
