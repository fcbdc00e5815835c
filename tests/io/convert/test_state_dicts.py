"""State dicts of other programs, as arrays: names, orientation of W, and what is refused."""

import numpy as np
import pytest

import harmonium as hm

W = np.array([[2.0, -1.0], [0.5, 3.0]])
A = np.array([0.1, -0.2])
B = np.array([0.3, 0.4])
ROWS = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
LONG = np.arange(6.0).reshape(2, 3)  # (visible, hidden)


def free_energy(weights):
    """Return F of rows under W (visible, hidden)."""
    return -ROWS @ A - np.log1p(np.exp(ROWS @ weights + B)).sum(1)


def agrees(rbm, weights):
    np.testing.assert_allclose(hm.free_energies(rbm, ROWS), free_energy(weights), rtol=1e-5)


QUCUMBER = {"weights": W, "visible_bias": A, "hidden_bias": B}


def test_a_square_w_under_the_names_of_two_programs_is_not_guessed_at():
    with pytest.raises(hm.InputError, match=r"give transposed=True or False.*as QuCumber writes"):
        hm.io.from_torch(QUCUMBER)
    agrees(hm.io.from_torch(QUCUMBER, transposed=True), W.T)
    agrees(hm.io.from_torch(QUCUMBER, transposed=False), W)


@pytest.mark.parametrize(
    "names", [("W", "a", "b"), ("W", "b", "c"), ("W", "vb", "hb"), ("_W", "_bv", "_bh")]
)
def test_names_that_programs_of_both_orientations_write_are_not_guessed_at(names):
    with pytest.raises(hm.InputError, match="give transposed=True or False"):
        hm.io.from_torch(dict(zip(names, (W, A, B), strict=True)))


def test_the_nested_state_of_qucumber_is_hidden_by_visible():
    agrees(hm.io.from_torch({"rbm_am": QUCUMBER, "epoch": 3}), W.T)
    with pytest.raises(hm.InputError, match=r"got a complex one, with rbm_ph; for p\(v\)"):
        hm.io.from_torch({"rbm_am": QUCUMBER, "rbm_ph": QUCUMBER})
    density = {"weights_W": W, "weights_U": W, "visible_bias": A, "hidden_bias": B, "aux_bias": B}
    with pytest.raises(hm.InputError, match="QuCumber's density matrix"):
        hm.io.from_torch({"rbm_am": density})


@pytest.mark.parametrize(
    "names",
    [
        ("_W", "_a", "_b"),
        ("_weights", "_visible_biases", "_hidden_biases"),
        ("rbm._weights", "rbm._visible_biases", "rbm._hidden_biases"),
        ("weight_matrix", "vbias", "hbias"),
    ],
    ids=["learnergy", "D-Wave", "D-Wave in a module", "rbms"],
)
def test_names_of_one_program_tell_the_orientation(names):
    agrees(hm.io.from_torch(dict(zip(names, (W, A, B), strict=True))), W)


@pytest.mark.parametrize(
    "names",
    [
        ("W", "a", "b"),
        ("_W", "_a", "_b"),
        ("weights", "visible_biases", "hidden_biases"),
        ("W", "b_visible", "b_hidden"),
        ("W", "vis_bias", "hidden_bias"),
        ("weights", "vis_bias", "hid_bias"),
        ("W", "visbias", "hidbias"),
        ("w", "vb", "hb"),
        ("_W", "_bv", "_bh"),
    ],
)
def test_sizes_of_the_biases_tell_the_orientation(names):
    for weights in (LONG, LONG.T):
        state = dict(zip(names, (weights, A, np.zeros(3)), strict=True))
        np.testing.assert_array_equal(hm.io.from_torch(state).weights, LONG)


def test_a_tutorial_that_calls_the_hidden_bias_a_is_not_read_with_its_layers_exchanged():
    state = {"W": LONG.T, "a": np.zeros((1, 3)), "b": A[None]}  # 3 hidden, 2 visible units
    with pytest.raises(hm.InputError, match="some programs call the hidden bias a"):
        hm.io.from_torch(state)
    named = {"W": LONG.T, "hidden_bias": np.zeros((1, 3)), "visible_bias": A[None]}
    np.testing.assert_array_equal(hm.io.from_torch(named).weights, LONG)


def test_a_graph_of_spins_is_refused():
    with pytest.raises(hm.InputError, match=r"got D-Wave's graph of spins"):
        hm.io.from_torch({"_linear": A, "_quadratic": B, "_edge_idx_i": A})
