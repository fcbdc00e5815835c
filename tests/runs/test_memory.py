"""The available memory, and the option that needs more."""

import os

import pytest

from harmonium import _files
from harmonium.errors import InputError
from harmonium.layers import Bernoulli
from harmonium.runs import memory
from harmonium.runs.config import RunConfig
from harmonium.runs.prepare import check_sizes

GIB = 2**30


@pytest.fixture
def four_gib(monkeypatch):
    monkeypatch.setattr(memory, "memory_there", lambda: 4 * GIB)


def test_the_memory_of_this_model_is_plausible():
    there = memory.memory_there()
    assert there is None or there > GIB / 4


def test_a_container_may_have_less(monkeypatch, tmp_path):
    limit, none = tmp_path / "limit", tmp_path / "none"
    limit.write_text("1000000\n")
    none.write_text("max\n")
    monkeypatch.setattr(_files, "LIMITS", (str(none), str(limit), str(tmp_path / "missing")))
    assert memory.memory_there() == 1_000_000


def test_a_system_that_does_not_say_refuses_nothing(monkeypatch):
    monkeypatch.setattr(_files, "LIMITS", ())
    for error in (ValueError, OSError, AttributeError):

        def unknown(name, error=error):
            raise error(name)

        monkeypatch.setattr(os, "sysconf", unknown, raising=False)
        assert memory.memory_there() is None
        memory.refuse_beyond_memory(10**30, {"--chains": 1.0})


@pytest.mark.parametrize(
    ("options", "columns", "named"),
    [
        ({"chains": 1_000_000}, 784, "--chains"),
        ({"hidden": 1_000_000}, 784, "--hidden"),
        ({"batch": 1_000_000}, 784, "--batch"),
        ({"method": "cd", "hidden": 200_000}, 784, "--hidden"),
        ({}, 10_000_000, "wide.npy"),
    ],
)
def test_what_is_most_unusual_is_named(four_gib, options, columns, named):
    config = RunConfig(source="wide.npy", **({"hidden": 64} | options))
    with pytest.raises(InputError, match=f"{named}: expected sizes that fit into 4.0 GiB"):
        check_sizes(config, _Wide(columns), 1_000_000)


class _Wide(Bernoulli):
    """A layer of many units that takes no memory."""

    def __init__(self, size: int):
        super().__init__(1)
        self.size = size


def test_usual_sizes_fit(four_gib):
    check_sizes(RunConfig(source="mnist", hidden=500, chains=2_000), Bernoulli(784), 60_000)
    check_sizes(RunConfig(source="x", hidden=64, chains=10**9, method="cd"), Bernoulli(784), 60_000)
    check_sizes(RunConfig(source="x", hidden=64, batch=10**9), Bernoulli(784), 100)
