"""RBMs as quadratic models: the same energy in every coding, offset included."""

import dimod
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.io.convert import to_bernoulli, to_couplings, to_dimod, to_ising, to_qubo
from models import OTHERS, TWO_VALUED, all_states, energy, free_energy
from registry import random_rbm

LARGER = [
    random_rbm(hm.Ising(30), hm.Ising(20), 1),
    random_rbm(hm.Mixed(hm.Ising(10), hm.Bernoulli(20)), hm.Bernoulli(20), 2),
]


def energies(rbm: hm.RBM, v: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Return E(v, h) in float64, from the formula."""
    a, b = (
        np.concatenate([part.bias for part in getattr(layer, "parts", (layer,))]).astype(float)
        for layer in (rbm.visible, rbm.hidden)
    )
    return -v @ a - h @ b - np.einsum("ni,ij,nj->n", v, np.asarray(rbm.weights, float), h)


def lowest(rbm: hm.RBM) -> np.ndarray:
    """Return the lower of the two values of each unit, which is that of the first state."""
    both = [layer.states(jnp.asarray(0)) for layer in (rbm.visible, rbm.hidden)]
    return np.concatenate(both)


def recoded(x: np.ndarray, vartype: str) -> np.ndarray:
    """Return the states with the lower value as 0 or as −1, and the higher one as 1."""
    return np.where(x > 0, 1.0, 0.0 if vartype == "BINARY" else -1.0)


def samples(v: np.ndarray, h: np.ndarray, vartype: str) -> tuple[np.ndarray, list]:
    """Return states in the form that dimod takes: columns, and the names of their variables."""
    labels = [("v", i) for i in range(v.shape[1])] + [("h", j) for j in range(h.shape[1])]
    return recoded(np.hstack([v, h]), vartype).astype(np.int8), labels


@pytest.mark.parametrize("vartype", ["BINARY", "SPIN"])
@pytest.mark.parametrize("rbm", TWO_VALUED, ids=str)
def test_the_energy_of_every_sample_is_the_models(rbm, vartype):
    model = to_dimod(rbm, vartype)
    v, h = all_states(rbm)
    assert (model.vartype.name, model.num_variables) == (vartype, 5)
    actual = model.energies(samples(v, h, vartype))
    np.testing.assert_allclose(actual, energies(rbm, v, h), atol=1e-12, rtol=0)
    np.testing.assert_allclose(actual, energy(rbm, v, h), atol=1e-5, rtol=0)


@pytest.mark.parametrize("rbm", LARGER, ids=str)
def test_the_energy_of_random_samples_is_the_models(rbm):
    model = to_dimod(rbm)
    high = np.random.default_rng(0).integers(0, 2, (100, 50))
    states = np.where(high == 1, 1.0, lowest(rbm))
    v = states[:, :30]
    h = states[:, 30:]
    actual = model.energies(samples(v, h, model.vartype.name))
    np.testing.assert_allclose(actual, energies(rbm, v, h), atol=1e-11, rtol=0)


def test_a_model_keeps_its_own_coding():
    names = [to_dimod(rbm).vartype.name for rbm in TWO_VALUED]
    assert names == ["BINARY", "SPIN", "BINARY", "BINARY"]
    model = to_dimod(TWO_VALUED[1])
    assert model.offset == 0.0
    assert model.linear["v", 2] == -float(TWO_VALUED[1].visible.bias[2])
    assert model.quadratic[("v", 0), ("h", 1)] == -float(TWO_VALUED[1].weights[0, 1])


@pytest.mark.parametrize("rbm", TWO_VALUED, ids=str)
def test_a_solver_finds_the_state_of_lowest_energy(rbm):
    v, h = all_states(rbm)
    best = dimod.ExactSolver().sample(to_dimod(rbm)).first
    known = energies(rbm, v, h)
    assert best.energy == pytest.approx(known.min(), abs=1e-9)
    row = np.array([best.sample["v", i] for i in range(v.shape[1])])
    np.testing.assert_array_equal(row > 0, v[known.argmin()] > 0)


@pytest.mark.parametrize("rbm", TWO_VALUED, ids=str)
def test_the_qubo_matrix(rbm):
    matrix, offset = to_qubo(rbm)
    v, h = all_states(rbm)
    x = recoded(np.hstack([v, h]), "BINARY")
    np.testing.assert_array_equal(matrix, np.triu(matrix))
    actual = np.einsum("ni,ij,nj->n", x, matrix, x) + offset
    np.testing.assert_allclose(actual, energies(rbm, v, h), atol=1e-12, rtol=0)


@pytest.mark.parametrize("rbm", TWO_VALUED, ids=str)
def test_the_couplings_and_fields_of_spins(rbm):
    matrix, field, offset = to_couplings(rbm)
    v, h = all_states(rbm)
    s = recoded(np.hstack([v, h]), "SPIN")
    np.testing.assert_array_equal(matrix, matrix.T)
    assert not matrix[:3, :3].any()
    assert not matrix[3:, 3:].any()
    actual = -0.5 * np.einsum("ni,ij,nj->n", s, matrix, s) - s @ field + offset
    np.testing.assert_allclose(actual, energies(rbm, v, h), atol=1e-12, rtol=0)


def test_a_spin_obeys_its_input_as_p_bits_do():
    rbm = TWO_VALUED[1]
    matrix, field, _ = to_couplings(rbm)
    v = np.array([1.0, -1, -1])
    h = np.array([-1.0, 1])
    inputs = matrix @ np.concatenate([v, h]) + field
    np.testing.assert_allclose(
        np.tanh(inputs[3:]), rbm.mean_h_from_v(jnp.asarray(v, float)), atol=1e-6
    )
    np.testing.assert_allclose(
        np.tanh(inputs[:3]), rbm.mean_v_from_h(jnp.asarray(h, float)), atol=1e-6
    )


@pytest.mark.parametrize(("rewrite", "vartype"), [(to_bernoulli, "BINARY"), (to_ising, "SPIN")])
@pytest.mark.parametrize("rbm", TWO_VALUED, ids=str)
def test_a_model_in_the_other_coding_is_the_same_but_for_a_constant(rbm, rewrite, vartype):
    other, offset = rewrite(rbm)
    v, h = all_states(rbm)
    x = recoded(v, vartype)
    y = recoded(h, vartype)
    np.testing.assert_allclose(energy(other, x, y) + offset, energy(rbm, v, h), atol=1e-5, rtol=0)
    np.testing.assert_allclose(
        free_energy(other, x) + offset, free_energy(rbm, v), atol=1e-5, rtol=0
    )
    assert hm.log_z(other).value - offset == pytest.approx(hm.log_z(rbm).value, abs=1e-5)


@pytest.mark.parametrize("convert", [to_dimod, to_qubo, to_couplings, to_bernoulli, to_ising])
def test_units_of_more_than_two_values_are_refused(convert):
    for rbm in OTHERS[1:4]:
        words = rf"{convert.__name__}: expected independent units.*; got .*save it as"
        with pytest.raises(hm.InputError, match=words):
            convert(rbm)


def test_another_vartype_is_refused():
    with pytest.raises(hm.InputError, match="expected vartype BINARY or SPIN; got 'INTEGER'"):
        to_dimod(TWO_VALUED[0], "INTEGER")
