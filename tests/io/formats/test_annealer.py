"""JSON for annealers: the file that dimod reads back has the model's energies."""

import json
from pathlib import Path

import dimod
import numpy as np
import pytest

import harmonium as hm
from harmonium.io.convert import to_dimod
from models import BERNOULLI, OTHERS, TWO_VALUED, all_states, energy, refusal


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("rbm", TWO_VALUED, ids=str)
def test_dimod_reads_what_is_written(rbm):
    hm.save(rbm, "m.json")
    with Path("m.json").open() as file:
        model = dimod.BinaryQuadraticModel.from_serializable(json.load(file))
    assert model == to_dimod(rbm)
    v, h = all_states(rbm)
    state = np.hstack([v, h])
    bits = np.where(state > 0, 1, 0 if model.vartype is dimod.BINARY else -1).astype(np.int8)
    labels = [("v", i) for i in range(v.shape[1])] + [("h", j) for j in range(h.shape[1])]
    np.testing.assert_allclose(model.energies((bits, labels)), energy(rbm, v, h), atol=1e-5)


def test_it_is_not_read_back():
    hm.save(BERNOULLI, "m.json")
    assert "only written; save the model as .safetensors too" in refusal("m.json")


def test_units_of_more_than_two_values_are_refused():
    with pytest.raises(
        hm.InputError, match=r"m.json: expected independent units that take two values"
    ):
        hm.save(OTHERS[1], "m.json")
    assert not list(Path().iterdir())
