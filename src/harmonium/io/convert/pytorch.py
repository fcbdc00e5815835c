"""Models as PyTorch state dicts: plain dicts of tensors under commonly used names."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError
from ...rbm import RBM
from .base import Parameters, listed, model_of, optional, parameters_of, short

# Common names of W, the visible bias and the hidden bias; the first of each is used for writing.
# Case, a prefix such as "rbm." and a leading underscore are ignored.
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
# Names that imply that W is (visible, hidden). "weights, visible_bias, hidden_bias" are not
# included, since QuCumber's BinaryRBM (qucumber/rbm/binary_rbm.py) uses these names with W as
# (hidden, visible).
AS_OURS = {
    (WEIGHTS[1], "vbias", "hbias"),  # rbms
    ("_W", "_a", "_b"),  # learnergy/models/bernoulli/rbm.py: torch.randn(n_visible, n_hidden)
    # dwave-pytorch-plugin, examples/rbm_image_generation.py: batch @ weights + hidden_biases
    ("_weights", "_visible_biases", "_hidden_biases"),
}
WRAPPERS = ("state_dict", "model_state_dict", "model")  # keys of the state dict in checkpoints
# Keys of QuCumber's files (nn_states/neural_state.py, save): the RBMs for amplitude and phase.
AMPLITUDE = "rbm_am"
PHASE = "rbm_ph"
UNREAD = {
    "weights_u": "QuCumber's density matrix, an RBM with a third layer",
    "_quadratic": "D-Wave's graph of spins (_linear, _quadratic)",
}
# PyTorch's own state dicts have this attribute, which torch.save preserves. We use it to record
# that W is (visible, hidden), which the names alone do not imply.
METADATA = "_metadata"
ORIENTATION = "harmonium: W is (visible, hidden)"


class _Tensors(NamedTuple):
    """Tensors by name, and whether W has shape (hidden, visible); None if this is not recorded."""

    by_name: dict[str, Any]
    is_transposed: bool | None


def to_torch(rbm: RBM, names: Sequence[str] = NAMES, *, source: str = "to_torch") -> dict[str, Any]:
    """Return a state dict of three tensors: W (visible, hidden), a (visible,), b (hidden,).

    For Potts visible units, W has shape (sites, states, hidden) and a has shape (sites, states).

    Args:
        rbm: a model with Bernoulli or Potts visible and Bernoulli hidden units.
        names: the names of W, a and b, as expected by the module that will load them.
        source: the name of the conversion in error messages.

    Raises:
        InputError: the model has other layers.
        MissingDependencyError: torch is not installed.
    """
    if isinstance(names, str) or len(names) != 3 or len(set(names)) != 3:
        raise InputError(
            f"{source}: expected three different names, for W, a and b; got {short(names)}."
        )
    parameters = parameters_of(rbm, source)
    torch = optional("torch", source)
    tensors = (torch.from_numpy(np.array(array, order="C")) for array in parameters)
    state = OrderedDict(zip(names, tensors, strict=True))
    if tuple(names) == NAMES:  # other names are for modules that may have W transposed
        setattr(state, METADATA, OrderedDict({"": {ORIENTATION: True}}))
    return state


def from_torch(
    state_dict: Mapping[str, Any], *, transposed: bool | None = None, source: str = "from_torch"
) -> RBM:
    """Create a model from a state dict that uses the names listed in `WEIGHTS` and `BIASES`.

    Prefixes (`rbm.W`), capitals and a leading underscore in these names are ignored, and so are
    entries with other names. If W has three axes, the visible units are Potts units, otherwise
    Bernoulli units. From QuCumber's nested state, the RBM of the amplitude is read, whose p(v) is
    the distribution of the measurements.

    Args:
        state_dict: a dict of names and tensors, or a checkpoint with this dict as `state_dict`.
        transposed: whether W is (hidden, visible), as in `torch.nn.Linear` and QuCumber; None to
            infer the orientation from the sizes of the biases. For a square W, None works only with
            the output of `to_torch`, and with the names used by rbms, learnergy (`_W`, `_a`, `_b`),
            D-Wave, and QuCumber's nested state, which imply an orientation.
        source: the name of the state dict in error messages.

    Raises:
        InputError: the tensors are missing or ambiguous, their shapes do not match, or W is square
            and its orientation unknown.

    Example:
        >>> state = {"weights": np.eye(2), "visible_bias": np.zeros(2), "hidden_bias": np.ones(2)}
        >>> print(hm.io.from_torch(state, transposed=True))  # as QuCumber writes it
        RBM(Bernoulli(2) – Bernoulli(2))
    """
    tensors = _unwrapped(state_dict, source)
    names = _names_of_parameters(tensors.by_name, source)
    weights, a, b = (_array(tensors.by_name[name], name, source) for name in names)
    _check_biases(names, a, b, source)
    if weights.ndim == 2 and transposed is None:
        is_square = weights.shape == (a.size, b.size) == (b.size, a.size)
        if not is_square:
            transposed = weights.shape == (b.size, a.size)
        elif tensors.is_transposed is not None:
            transposed = tensors.is_transposed
        elif tuple(map(_last_part, names)) not in AS_OURS:
            raise InputError(
                f"{source}: expected a {short(names[0])} that is not square, or names that identify"
                f" its axes; got a square matrix, shape {weights.shape}; give"
                " transposed=True or False to harmonium.io.from_torch: True if W is (hidden,"
                " visible), as QuCumber writes it."
            )
    if weights.ndim == 2 and transposed:
        weights = weights.T
    return model_of(Parameters(weights, a, b), source, names)


def _unwrapped(state_dict: Any, source: str) -> _Tensors:
    """Return the tensors of a state dict, a checkpoint that contains one, or a QuCumber file."""
    for key in WRAPPERS:
        if isinstance(state_dict, Mapping) and isinstance(state_dict.get(key), Mapping):
            state_dict = state_dict[key]
            break
    is_transposed = None
    if isinstance(state_dict, Mapping) and isinstance(state_dict.get(AMPLITUDE), Mapping):
        if PHASE in state_dict:
            raise InputError(
                f"{source}: expected QuCumber's positive wave function, with only {AMPLITUDE};"
                f" got a complex one, with {PHASE}; for p(v) = |ψ|², without the phase, pass its"
                f" {AMPLITUDE} and transposed=True."
            )
        state_dict = state_dict[AMPLITUDE]
        is_transposed = True
    if not isinstance(state_dict, Mapping):
        raise InputError(
            f"{source}: expected a dict of tensors; got {type(state_dict).__name__};"
            " save module.state_dict()."
        )
    metadata = getattr(state_dict, METADATA, None)
    if isinstance(metadata, Mapping):
        own_metadata = metadata.get("")
        if isinstance(own_metadata, Mapping) and ORIENTATION in own_metadata:
            is_transposed = False
    by_name = {name: value for name, value in state_dict.items() if isinstance(name, str)}
    return _Tensors(by_name, is_transposed)


def _names_of_parameters(tensors: dict[str, Any], source: str) -> tuple[str, str, str]:
    """Return the names of W, a and b; raise InputError if any of these is missing or ambiguous."""
    weights = {name for alias in WEIGHTS for name in _matches(alias, tensors)}
    pairs = {
        (a, b)
        for alias_of_a, alias_of_b in BIASES
        for a in _matches(alias_of_a, tensors)
        for b in _matches(alias_of_b, tensors)
    }
    if len(weights) == 1 and len(pairs) == 1:
        return weights.pop(), *pairs.pop()
    for name in tensors:
        description = UNREAD.get(_last_part(name).lower())
        if description is not None:
            raise InputError(
                f"{source}: expected an RBM of three tensors, W and two biases; got {description};"
                " create the model with harmonium.RBM from its layers and W."
            )
    raise InputError(
        f"{source}: expected one W ({', '.join(WEIGHTS)}) and one pair of biases"
        f" ({NAMES[1]} and {NAMES[2]}, ...); got tensors named: {listed(tensors)};"
        " rename these to weights, visible_bias and hidden_bias."
    )


def _matches(alias: str, tensors: dict[str, Any]) -> list[str]:
    """Return the names of tensors that match an alias, ignoring prefixes, underscores and case."""
    return [name for name in tensors if _last_part(name).lower().lstrip("_") == alias.lower()]


def _last_part(name: str) -> str:
    return name.rpartition(".")[2]


def _check_biases(names: tuple[str, str, str], a: np.ndarray, b: np.ndarray, source: str) -> None:
    """Reject biases `a` and `b` with two axes, since some programs call the hidden bias `a`."""
    is_ab = (_last_part(names[1]), _last_part(names[2])) == ("a", "b")
    if is_ab and a.ndim == b.ndim == 2 and len(a) == len(b) == 1:
        # A widely copied tutorial has W (hidden, visible), a (1, hidden), b (1, visible). Read by
        # shape alone, these tensors would give a model with its layers exchanged.
        raise InputError(
            f"{source}: expected biases of one axis; got rows {short(names[1])} {a.shape} and"
            f" {short(names[2])} {b.shape}; rename these to visible_bias and hidden_bias, since"
            " some programs call the hidden bias a."
        )


def _array(tensor: Any, name: str, source: str) -> np.ndarray:
    """Convert a tensor to an array via float64, since NumPy has no bfloat16."""
    try:
        if hasattr(tensor, "detach"):
            if tensor.is_complex():
                raise TypeError(f"{tensor.dtype}")
            return tensor.detach().cpu().double().numpy()
        return np.asarray(tensor)
    # PyTorch raises NotImplementedError for tensors on its device "meta", which have no values.
    except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
        raise InputError(
            f"{source}: expected a dense real tensor {short(name)}; got another type"
            f" ({short(str(error))}); write dense tensors of real numbers."
        ) from None
