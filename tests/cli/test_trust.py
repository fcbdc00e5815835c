"""A model file makes no module run, but --trust imports one that the user names."""

import sys
from pathlib import Path

import numpy as np
import pytest

import harmonium as hm

MINE = """
from pathlib import Path
import harmonium as hm

Path("has_run").touch()


class Mine(hm.Bernoulli):
    pass
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Make a module with a layer, and beside it a model file that names it."""
    name = f"mine_{tmp_path.name.replace('-', '_')}"
    Path(f"{name}.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    layer = __import__(name).Mine(3)
    hm.save(hm.RBM(layer, hm.Bernoulli(2), np.zeros((3, 2))), "m.safetensors")
    del sys.modules[name]
    Path("has_run").unlink()
    return name


@pytest.mark.parametrize("words", ["info", "sample", "evaluate", "export"])
def test_a_module_beside_a_model_runs_only_if_it_is_trusted(words, module, cli):
    more = " m.npz" if words == "export" else ""
    status, _, err = cli(f"{words} m.safetensors{more}")
    assert status == 2
    assert f"add --trust {module}" in err
    assert not Path("has_run").exists()


def test_a_trusted_module_is_imported(module, cli):
    status, out, err = cli(f"info m.safetensors --trust {module}")
    assert (status, err) == (0, "")
    assert "Mine(3)" in out
    assert cli(f"sample m.safetensors -n 2 --trust {module} --trust json").status == 0
    status, _, err = cli("info m.safetensors --trust nowhere.at_all")
    assert status == 2
    assert err.startswith("harmonium: --trust: expected names of modules that can be imported")


READERS = ("sample", "impute", "ask", "score", "scan", "contacts", "motifs", "evaluate", "report")


@pytest.mark.parametrize("name", [*READERS, "compare", "export", "info"])
def test_every_command_that_reads_models_has_the_option(name, cli):
    assert "--trust MODULE" in cli(f"{name} --help").out
