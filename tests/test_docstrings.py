"""Every public name is documented: a summary of one line, its parameters, and an example."""

import inspect
import re
from importlib import import_module

import pytest

import harmonium as hm

HOMES = [import_module(f"harmonium.{home}") for home in (*hm._HOMES, "plot", "sklearn")]
PUBLIC = {name: getattr(home, name) for home in HOMES for name in hm._public(home)}
DOCUMENTED = [
    (name, thing)
    for name, thing in sorted(PUBLIC.items())
    if inspect.isroutine(thing) or inspect.isclass(thing)
]
IDS = [name for name, _ in DOCUMENTED]


@pytest.mark.parametrize(("name", "thing"), DOCUMENTED, ids=IDS)
def test_it_has_a_summary_and_an_example_that_runs(name, thing):
    text = inspect.getdoc(thing)
    assert text, name
    summary = text.splitlines()[0]
    assert len(summary) <= 100
    assert summary.endswith((".", ":")), summary
    assert ">>> " in text, "an example, which --doctest-modules runs"


@pytest.mark.parametrize(("name", "thing"), DOCUMENTED, ids=IDS)
def test_a_functions_parameters_are_all_told(name, thing):
    if inspect.isclass(thing):
        return
    text = inspect.getdoc(thing)
    told = [p for p in inspect.signature(thing).parameters if p not in ("key", "rbm", "layer")]
    missing = [p for p in told if not re.search(rf"\b{p}\b", text)]
    assert not missing, f"{name}: {missing}"
