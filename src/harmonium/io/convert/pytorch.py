"""Models as PyTorch state dicts: plain dicts of tensors, under the names in common use."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import input_error
from ...rbm import RBM
from .base import Parameters, listed, model_of, optional, parameters_of, short

# Names in use for W, and for the visible and the hidden bias; the first of each is what is written.
# Capitals, a prefix such as "rbm." and a leading underscore make no difference.
WEIGHTS = ("weights", "weight_matrix", "weight", "W")
BIASES = (
    ("visible_bias", "hidden_bias"),
    ("visible_biases", "hidden_biases"),
    ("vbias", "hbias"),
    ("v_bias", "h_bias"),
    ("vis_bias", "hid_bias"),
    ("vis_bias", "hidden_bias"),
    ("visbias", "hidbias"),
    ("bias_visible", "bias_hidden"),
    ("b_visible", "b_hidden"),
    ("bias_v", "bias_h"),
    ("b_v", "b_h"),
    ("bv", "bh"),
    ("vb", "hb"),
    ("a", "b"),
    ("b", "c"),
)
NAMES = (WEIGHTS[0], *BIASES[0])
# Names under which W is known to be (visible, hidden). "weights, visible_bias, hidden_bias" are not
# among them: QuCumber's BinaryRBM (qucumber/rbm/binary_rbm.py) has W (hidden, visible) under these.
AS_OURS = {
    (WEIGHTS[1], "vbias", "hbias"),  # rbms
    ("_W", "_a", "_b"),  # learnergy/models/bernoulli/rbm.py: torch.randn(n_visible, n_hidden)
    # dwave-pytorch-plugin, examples/rbm_image_generation.py: batch @ weights + hidden_biases
    ("_weights", "_visible_biases", "_hidden_biases"),
}
WRAPPERS = ("state_dict", "model_state_dict", "model")  # keys of it in checkpoints
# Keys of QuCumber's files (nn_states/neural_state.py, save): the RBMs of amplitude and of phase.
AMPLITUDE = "rbm_am"
PHASE = "rbm_ph"
UNREAD = {
    "weights_u": "QuCumber's density matrix, an RBM with a third layer",
    "_quadratic": "D-Wave's graph of spins (_linear, _quadratic)",
}
# PyTorch's own state dicts carry this attribute, which torch.save keeps; in ours it tells that W is
# (visible, hidden), as names alone do not.
METADATA = "_metadata"
ORIENTATION = "harmonium: W is (visible, hidden)"


def to_torch(rbm: RBM, names: Sequence[str] = NAMES, *, source: str = "to_torch") -> dict[str, Any]:
    """Return a state dict of three tensors: W (visible, hidden), a (visible,), b (hidden,).

    For Potts visible units W is (sites, states, hidden) and a is (sites, states).

    Args:
        rbm: a model with Bernoulli or Potts visible and Bernoulli hidden units.
        names: the names for W, a and b, as the module that will load them expects.
        source: the name of the conversion in error messages.

    Raises:
        InputError: other layers.
        MissingDependencyError: torch is not installed.
    """
    if isinstance(names, str) or len(names) != 3 or len(set(names)) != 3:
        expected = "three names, for W, a and b"
        advice = "pass three different names"
        raise input_error(source, expected, short(names), advice)
    parameters = parameters_of(rbm, source)
    torch = optional("torch", source)
    tensors = (torch.from_numpy(np.array(array, order="C")) for array in parameters)
    state = OrderedDict(zip(names, tensors, strict=True))
    if tuple(names) == NAMES:  # under other names it is meant for another module
        setattr(state, METADATA, OrderedDict({"": {ORIENTATION: True}}))
    return state


def from_torch(
    state_dict: Mapping[str, Any], *, transposed: bool | None = None, source: str = "from_torch"
) -> RBM:
    """Make a model from a state dict, with any of the names that `WEIGHTS` and `BIASES` list.

    Names may have a prefix (`rbm.W`), capitals and a leading underscore; other entries are ignored.
    A W with three axes makes Potts visible units, another one Bernoulli units. Of QuCumber's nested
    state the RBM of the amplitude is read, whose p(v) is that of the measurements.

    Args:
        state_dict: names and tensors, or a checkpoint that holds them under `state_dict`.
        transposed: whether W is (hidden, visible), as in `torch.nn.Linear` and in QuCumber; None to
            decide by the sizes of the biases. For a square W None works only with what `to_torch`
            returns, and with names that only programs of one orientation write: those of rbms,
            learnergy (`_W`, `_a`, `_b`) and D-Wave, and the nested state of QuCumber.
        source: the name of the state dict in error messages.

    Raises:
        InputError: no such tensors, several candidates, shapes that do not match, or a square W
            whose orientation is not known.

    Example:
        >>> state = {"weights": np.eye(2), "visible_bias": np.zeros(2), "hidden_bias": np.ones(2)}
        >>> print(hm.io.from_torch(state, transposed=True))  # as QuCumber writes it
        RBM(Bernoulli(2) – Bernoulli(2))
    """
    tensors, is_turned = _unwrapped(state_dict, source)
    names = _chosen(tensors, source)
    weights, a, b = (_array(tensors[name], name, source) for name in names)
    _check_biases(names, a, b, source)
    if weights.ndim == 2:
        if transposed is None:
            transposed = _is_transposed(weights.shape, a.size, b.size, names, is_turned, source)
        weights = weights.T if transposed else weights
    return model_of(Parameters(weights, a, b), source, names)


def _unwrapped(found: Any, source: str) -> tuple[dict[str, Any], bool | None]:
    """Return the dict that holds the tensors, and whether W is known to be (hidden, visible)."""
    for key in WRAPPERS:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
            break
    is_turned = None
    if isinstance(found, Mapping) and isinstance(found.get(AMPLITUDE), Mapping):
        if PHASE in found:
            expected = f"QuCumber's positive wave function, with {AMPLITUDE} alone"
            advice = f"for p(v) = |ψ|², without the phase, pass its {AMPLITUDE} and transposed=True"
            raise input_error(source, expected, f"a complex one, with {PHASE}", advice)
        found = found[AMPLITUDE]
        is_turned = True
    if not isinstance(found, Mapping):
        advice = "save module.state_dict()"
        raise input_error(source, "a dict of tensors", type(found).__name__, advice)
    metadata = getattr(found, METADATA, None)
    ours = metadata.get("") if isinstance(metadata, Mapping) else None
    if isinstance(ours, Mapping) and ORIENTATION in ours:
        is_turned = False
    return {name: value for name, value in found.items() if isinstance(name, str)}, is_turned


def _chosen(tensors: dict[str, Any], source: str) -> tuple[str, str, str]:
    """Return the names of W, a and b; there must be exactly one W and one pair of biases."""
    weights = [name for alias in WEIGHTS for name in _called(alias, tensors)]
    pairs = [
        (a, b)
        for pair in BIASES
        for a in _called(pair[0], tensors)
        for b in _called(pair[1], tensors)
    ]
    if len(set(weights)) == 1 and len(set(pairs)) == 1:
        return weights[0], *pairs[0]
    for name in tensors:
        what = UNREAD.get(name.lower().rpartition(".")[2])
        if what is not None:
            advice = "make the model by harmonium.RBM with its layers and W"
            raise input_error(source, "an RBM of three tensors, W and two biases", what, advice)
    expected = (
        f"one W ({', '.join(WEIGHTS)}) and one pair of biases ({NAMES[1]} and {NAMES[2]}, ...)"
    )
    advice = "rename its tensors weights, visible_bias and hidden_bias"
    raise input_error(source, expected, f"the tensors {listed(tensors)}", advice)


def _called(alias: str, tensors: dict[str, Any]) -> list[str]:
    """Return the names that match an alias, whatever their prefix, underscore and capitals."""
    wanted = alias.lower()
    return [name for name in tensors if name.lower().rpartition(".")[2].lstrip("_") == wanted]


def _check_biases(names: tuple[str, str, str], a: np.ndarray, b: np.ndarray, source: str) -> None:
    """Refuse single-letter biases that are rows: who writes them so calls the hidden one a."""
    is_ab = tuple(name.rpartition(".")[2] for name in names[1:]) == BIASES[-2]
    if is_ab and a.ndim == b.ndim == 2 and len(a) == len(b) == 1:
        # A tutorial that many have copied: W (hidden, visible), a (1, hidden), b (1, visible). Its
        # shapes fit a model with its layers exchanged.
        found = f"rows {short(names[1])} {a.shape} and {short(names[2])} {b.shape}"
        advice = "rename them visible_bias and hidden_bias, as some programs call the hidden bias a"
        raise input_error(source, "biases of one axis", found, advice)


def _array(tensor: Any, name: str, source: str) -> np.ndarray:
    """Return a tensor as an array, converted through float64, as NumPy has no bfloat16."""
    try:
        if hasattr(tensor, "detach"):
            if tensor.is_complex():
                raise TypeError(f"{tensor.dtype}")
            return tensor.detach().cpu().double().numpy()
        return np.asarray(tensor)
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        found = f"one of another kind ({short(str(error))})"
        advice = "write dense tensors of real numbers"
        raise input_error(source, f"a dense real tensor {short(name)}", found, advice) from None


def _is_transposed(
    shape: tuple[int, ...],
    n_visible: int,
    n_hidden: int,
    names: tuple[str, str, str],
    is_turned: bool | None,
    source: str,
) -> bool:
    """Return whether W is (hidden, visible), by the sizes of the biases, else by who wrote it."""
    if n_visible != n_hidden or shape != (n_visible, n_hidden):
        return shape == (n_hidden, n_visible)
    if is_turned is not None:
        return is_turned
    if tuple(name.rpartition(".")[2] for name in names) in AS_OURS:
        return False
    expected = f"a {short(names[0])} whose sides differ, or names that say which side is which"
    advice = "give transposed=True or False to harmonium.io.from_torch: True if W is"
    advice += " (hidden, visible), as QuCumber writes it"
    raise input_error(source, expected, f"a square one of shape {shape}", advice)
