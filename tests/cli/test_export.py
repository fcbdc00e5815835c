"""`harmonium export`, and the other commands on the files that it writes."""

import json
from pathlib import Path

import dimod
import numpy as np

import harmonium as hm


def test_a_run_is_exported_and_what_is_written_is_as_good_as_the_run(cli, trained):
    wanted = json.loads(cli("evaluate", str(trained), "bars", "--quick", "--json").out)
    for out in ("m.safetensors", "m.npz", "m.h5"):
        status, said, err = cli("export", str(trained), out)
        assert (status, err) == (0, "")
        size = Path(out).stat().st_size
        assert said == f"RBM(Bernoulli(16) – Bernoulli(4)) written to {out}, {size:,} bytes\n"
        np.testing.assert_array_equal(hm.load(out).weights, hm.load(trained).weights)
        evaluation = json.loads(cli("evaluate", out, "bars", "--quick", "--json").out)
        assert evaluation["log_likelihood"] == wanted["log_likelihood"]
        assert json.loads(cli("info", out, "--json").out)["kind"] == "model"
        assert cli("sample", out, "-n", "2", "--sweeps", "3").out.count("\n") == 2


def test_an_update_is_picked(cli, trained):
    cli("export", str(trained), "m.h5")
    status, said, err = cli("export m.h5:update_1 m.npz --json")
    assert (status, err) == (0, "")
    summary = json.loads(said)
    assert summary["out"] == "m.npz"
    assert summary["bytes"] == Path("m.npz").stat().st_size
    assert json.loads(cli("info m.h5:1 --json").out)["visible"] == "Bernoulli(16)"


def test_an_annealer_gets_its_model(cli, trained):
    assert cli("export", str(trained), "m.json").status == 0
    model = dimod.BinaryQuadraticModel.from_serializable(json.loads(Path("m.json").read_text()))
    rbm = hm.load(trained)
    assert (model.num_variables, model.num_interactions) == (20, 64)
    assert model.linear["h", 3] == -float(rbm.hidden.bias[3])


def test_an_older_file_is_replaced_only_where_that_is_said(cli, trained):
    Path("m.npz").write_text("old")
    assert cli("export", str(trained), "m.npz").status == 2
    assert Path("m.npz").read_text() == "old"
    assert cli("export", str(trained), "m.npz", "--overwrite").status == 0
    assert hm.load("m.npz").visible.size == 16
