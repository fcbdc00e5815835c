"""Models as PyTorch state dicts: plain dicts of tensors, under the names in common use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import input_error
from ...rbm import RBM
from .base import Parameters, listed, model_of, optional, parameters_of, short

# Names in use for W, and for the visible and the hidden bias; the first of each is what is written.
WEIGHTS = ("weights", "weight_matrix", "weight", "W")
BIASES = (
    ("visible_bias", "hidden_bias"),
    ("vbias", "hbias"),
    ("v_bias", "h_bias"),
    ("bias_visible", "bias_hidden"),
    ("bias_v", "bias_h"),
    ("b_v", "b_h"),
    ("bv", "bh"),
    ("a", "b"),
    ("b", "c"),
)
NAMES = (WEIGHTS[0], *BIASES[0])
# Names under which W is known to be (visible, hidden): those of harmonium and the rbms package.
AS_OURS = {NAMES, (WEIGHTS[1], *BIASES[1])}
WRAPPERS = ("state_dict", "model_state_dict", "model")  # keys of it in checkpoints


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
        expected, advice = "three names, for W, a and b", "pass three different names"
        raise input_error(source, expected, short(names), advice)
    parameters = parameters_of(rbm, source)
    torch = optional("torch", source)
    tensors = (torch.from_numpy(np.array(array, order="C")) for array in parameters)
    return dict(zip(names, tensors, strict=True))


def from_torch(
    state_dict: Mapping[str, Any], *, transposed: bool | None = None, source: str = "from_torch"
) -> RBM:
    """Make a model from a state dict, with any of the names that `WEIGHTS` and `BIASES` list.

    Names may have a prefix (`rbm.W`) and capitals; other entries are ignored. A W with three axes
    makes Potts visible units.

    Args:
        state_dict: names and tensors, or a checkpoint that holds them under `state_dict`.
        transposed: whether W is (hidden, visible), as in `torch.nn.Linear`; None to decide by the
            sizes of the biases. For a square W None works only with the names that harmonium or
            rbms writes.
        source: the name of the state dict in error messages.

    Raises:
        InputError: no such tensors, several candidates, or shapes that do not match.
    """
    tensors = _unwrapped(state_dict, source)
    names = _chosen(tensors, source)
    weights, a, b = (_array(tensors[name], name, source) for name in names)
    if weights.ndim == 2:
        if transposed is None:
            transposed = _is_transposed(weights.shape, a.size, b.size, names, source)
        weights = weights.T if transposed else weights
    return model_of(Parameters(weights, a, b), source, names)


def _unwrapped(found: Any, source: str) -> dict[str, Any]:
    """Return the dict that holds the tensors."""
    for key in WRAPPERS:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
            break
    if not isinstance(found, Mapping):
        advice = "save module.state_dict()"
        raise input_error(source, "a dict of tensors", type(found).__name__, advice)
    return {name: value for name, value in found.items() if isinstance(name, str)}


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
    expected = (
        f"one W ({', '.join(WEIGHTS)}) and one pair of biases ({NAMES[1]} and {NAMES[2]}, ...)"
    )
    advice = "rename its tensors weights, visible_bias and hidden_bias"
    raise input_error(source, expected, f"the tensors {listed(tensors)}", advice)


def _called(alias: str, tensors: dict[str, Any]) -> list[str]:
    """Return the names that match an alias, whatever their prefix and capitals."""
    return [name for name in tensors if name.lower().rpartition(".")[2] == alias.lower()]


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
    shape: tuple[int, ...], n_visible: int, n_hidden: int, names: tuple[str, str, str], source: str
) -> bool:
    """Return whether W is (hidden, visible), by the sizes of the biases, else by the names."""
    if n_visible != n_hidden or shape != (n_visible, n_hidden):
        return shape == (n_hidden, n_visible)
    if tuple(name.rpartition(".")[2] for name in names) in AS_OURS:
        return False
    expected = f"a {short(names[0])} whose sides differ, or names that say which side is which"
    advice = "give transposed=True or False to harmonium.io.convert.from_torch"
    raise input_error(source, expected, f"a square one of shape {shape}", advice)
