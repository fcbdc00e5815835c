"""harmonium and the rbms package read each other's files, with the same energies."""

import warnings

import h5py
import numpy as np
import pytest
import torch

import harmonium as hm
from models import BERNOULLI, POTTS, all_states, assert_same, energy, free_energy

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # rbms uses functions that torch calls deprecated
    from rbms.bernoulli_bernoulli.classes import BBRBM
    from rbms.io import load_model, load_params, save_model
    from rbms.potts_bernoulli.classes import PBRBM
    from rbms.utils import get_saved_updates

CPU = torch.device("cpu")
FLOAT = torch.float32


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def rows(rbm: hm.RBM) -> tuple[np.ndarray, np.ndarray]:
    """Return every joint state, and the visible part in the user's coding, as rbms takes it."""
    v, h = all_states(rbm)
    return rbm.visible.decode(v).astype(np.float32), h.astype(np.float32)


def assert_same_energies(rbm: hm.RBM, theirs) -> None:
    """Compare joint and free energies of all states; theirs are computed with torch."""
    codes, h = rows(rbm)
    v = np.asarray(rbm.visible.encode(codes))
    joint = theirs.compute_energy(torch.from_numpy(codes), torch.from_numpy(h))
    np.testing.assert_allclose(energy(rbm, v, h), joint.numpy(), atol=1e-5, rtol=0)
    free = theirs.compute_energy_visibles(torch.from_numpy(codes))
    np.testing.assert_allclose(free_energy(rbm, v), free.numpy(), atol=1e-5, rtol=0)
    of_h = theirs.compute_energy_hiddens(torch.from_numpy(h))
    np.testing.assert_allclose(free_energy(rbm.T, h), of_h.numpy(), atol=1e-5, rtol=0)


@pytest.mark.parametrize("rbm", [BERNOULLI, POTTS], ids=str)
def test_rbms_reads_files_of_harmonium(rbm):
    hm.save(rbm, "m.h5")
    assert list(get_saved_updates("m.h5")) == [1]
    assert_same_energies(rbm, load_params("m.h5", 1, CPU, FLOAT))
    params, chains, elapsed, _ = load_model("m.h5", 1, CPU, FLOAT)
    assert params.name == ("PBRBM" if rbm is POTTS else "BBRBM")
    assert (len(chains["visible"]), elapsed) == (0, 0.0)


@pytest.mark.parametrize("kind", [BBRBM, PBRBM])
def test_harmonium_reads_files_of_rbms(kind):
    torch.manual_seed(0)
    sites = (5,) if kind is BBRBM else (4, 3)
    with h5py.File("m.h5", "w") as file:  # as its trainer begins
        file["hyperparameters/batch_size"] = 10
    saved = {}
    for number in (1, 10, 200):
        saved[number] = kind(torch.randn(*sites, 2), torch.randn(sites), torch.randn(2))
        chains = {"visible": torch.zeros(7, sites[0])}
        save_model("m.h5", saved[number], chains, number, 1.5, flags=["checkpoint"])
    assert_same_energies(hm.load("m.h5"), saved[200])
    for number, theirs in saved.items():
        assert_same_energies(hm.load(f"m.h5:update_{number}"), theirs)


@pytest.mark.parametrize("rbm", [BERNOULLI, POTTS], ids=str)
def test_a_state_dict_of_rbms_is_read(rbm):
    hm.save(rbm, "m.h5")
    theirs = load_params("m.h5", 1, CPU, FLOAT)
    assert_same(hm.io.from_torch(theirs.named_parameters()), rbm)
