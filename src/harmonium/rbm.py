"""The RBM: two layers and the weights between them."""

from __future__ import annotations

import itertools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num, PRNGKeyArray

from ._base.checks import as_array, described
from ._base.html import table
from ._base.module import AbstractModule
from ._base.numerics import from_numpy, product, shapes_of, zeros_like
from ._base.parameters import map_parameters
from ._base.sharding import with_rows_spread
from .errors import InputError
from .layers import AbstractLayer, Bernoulli, Clamped
from .layers.capabilities import (
    given_units,
    is_conditional,
    projected,
    takes_given,
    takes_lengths,
)
from .weights import AbstractWeights
from .weights.base import dense, is_plain
from .weights.base import projected as projected_weights

__all__ = ["RBM"]


def _as_weights(weights: Any) -> Any:
    """Convert a list or array to a floating-point JAX array; return other weights unchanged."""
    is_whole = is_plain(weights) and not eqx.is_inexact_array(weights)
    if not (isinstance(weights, list | np.ndarray) or is_whole):
        return weights
    array = as_array(weights, "weights")
    if array.dtype.kind not in "buif":
        raise InputError(f"weights: expected numbers; got an array of dtype {array.dtype}.")
    return from_numpy(np.array(array, float))


class RBM(AbstractModule):
    r"""A restricted Boltzmann machine (RBM) with two layers of any types.

        E(v, h) = U_v(v) + U_h(h) − vᵀ W h          (in nats)
        p(v, h) = e^(−E(v, h)) / Z
        F(v)    = −log ∫ e^(−E(v, h)) dh = U_v(v) − Γ_h(vW),   p(v) = e^(−F(v)) / Z

    E is the energy, Z the partition function and F the free energy; U is the energy of a single
    layer, and Γ(I) = log ∫ e^(I·x − U(x)) dx its cumulant generating function. Given the states
    of one layer, the units of the other are independent, except within blocks, as in `Tree`. The
    model is symmetric: `rbm.T` exchanges the layers, so every method from visible to hidden units
    can also be used from hidden to visible units.

    Batch axes come first: v has shape (..., visible.size) and h has shape (..., hidden.size). If
    units have several columns, as Potts sites do, all methods also accept rows of integer codes,
    with one column for each unit.

    Attributes:
        visible: the layer that models the data.
        hidden: the layer of latent units.
        weights: W, shape (visible.size, hidden.size): an array, or `AbstractWeights` such as
            `MaskedWeights`.

    Example:
        >>> weights = jnp.array([[1.0, -1.0], [0.5, 2.0]])
        >>> rbm = hm.RBM(hm.Bernoulli(2), hm.Bernoulli(2), weights)
        >>> v, h = jnp.array([1.0, 0.0]), jnp.array([1.0, 0.0])
        >>> float(rbm.energy(v, h))  # −W of the two units that are on
        -1.0
        >>> [round(float(p), 3) for p in rbm.mean_h_from_v(v)]  # σ(1) and σ(−1)
        [0.731, 0.269]
        >>> round(hm.log_z(rbm).value, 3)
        3.945

    Source: Smolensky 1986; Hinton 2002.
    """

    visible: AbstractLayer
    hidden: AbstractLayer
    weights: Any = eqx.field(converter=_as_weights)

    def __check_init__(self):
        for name, layer in (("visible", self.visible), ("hidden", self.hidden)):
            if not isinstance(layer, AbstractLayer):
                raise InputError(f"{name}: expected a layer such as Bernoulli(10); got {layer!r}.")
        if not (is_plain(self.weights) or isinstance(self.weights, AbstractWeights)):
            kind = type(self.weights).__name__
            raise InputError(f"weights: expected an array or AbstractWeights; got {kind}.")
        expected = (self.visible.size, self.hidden.size)
        if tuple(jnp.shape(self.weights)) != expected:
            raise InputError(
                f"weights: expected shape (visible, hidden) = {expected};"
                f" got {tuple(jnp.shape(self.weights))}."
            )

    @classmethod
    def from_arrays(cls, weights: Any, visible_bias: Any, hidden_bias: Any) -> RBM:
        """Return the Bernoulli–Bernoulli RBM with these weights and biases.

        Args:
            weights: W, shape (visible, hidden).
            visible_bias: biases of the visible units, shape (visible,).
            hidden_bias: biases of the hidden units, shape (hidden,).

        Raises:
            InputError: the shapes do not match, or an entry is not finite.
        """
        arrays = {"weights": weights, "visible_bias": visible_bias, "hidden_bias": hidden_bias}
        for name, array in arrays.items():
            if np.asarray(array).dtype.kind not in "buif" or not np.isfinite(array).all():
                raise InputError(f"{name}: expected an array of finite numbers.")
        if np.ndim(weights) != 2:
            raise InputError(
                f"weights: expected shape (visible, hidden); got shape {np.shape(weights)}."
            )
        n_visible, n_hidden = np.shape(weights)
        layers = (Bernoulli(n_visible, visible_bias), Bernoulli(n_hidden, hidden_bias))
        return cls(*layers, np.asarray(weights))

    @property
    def T(self) -> RBM:  # noqa: N802  (named as for arrays)
        """The same model with its layers exchanged and its weights transposed."""
        return RBM(self.hidden, self.visible, self.weights.T)

    @property
    def widest(self) -> int:
        """The number of columns of the wider layer."""
        return max(self.visible.size, self.hidden.size)

    @property
    def parts(self) -> tuple[AbstractLayer, ...]:
        """The layers in order from the data upwards: two, or more than two in a deep model."""
        sides = (self.visible.by_depth, self.hidden.by_depth)
        pairs = itertools.zip_longest(*sides)
        return tuple(layer for pair in pairs for layer in pair if layer is not None)

    def energy(
        self, v: Num[Array, "*#batch _"], h: Num[Array, "*#batch _"]
    ) -> Float[Array, "*#batch"]:
        """Return E(v, h) = U_v(v) + U_h(h) − vᵀ W h, in nats; batch axes are broadcast."""
        v = self.visible.as_states(v, "v")
        h = self.hidden.as_states(h, "h")
        return self.visible.energy(v) + self.hidden.energy(h) - (self.inputs_to_h(v) * h).sum(-1)

    def free_energy(self, v: Num[Array, "*batch _"]) -> Float[Array, "*batch"]:
        """Return F(v) = U_v(v) − Γ_h(vW), in nats: log p(v) = −F(v) − log Z."""
        v = self.visible.as_states(v, "v")
        return self.visible.energy(v) - self.hidden.cgf(self.inputs_to_h(v))

    def inputs_to_h(self, v: Num[Array, "*batch _"]) -> Float[Array, "*batch hidden"]:
        """Return vW, the inputs that the hidden units receive."""
        return product(with_rows_spread(self.visible.as_states(v, "v")), self.weights)

    def inputs_to_v(self, h: Num[Array, "*batch _"]) -> Float[Array, "*batch visible"]:
        """Return h Wᵀ, the inputs that the visible units receive."""
        return product(with_rows_spread(self.hidden.as_states(h, "h")), self.weights.T)

    def mean_h_from_v(self, v: Num[Array, "*batch _"]) -> Float[Array, "*batch hidden"]:
        """Return ⟨h⟩ given v; for Bernoulli units with biases b, p(h = 1 | v) = σ(vW + b)."""
        return self.hidden.mean(self.inputs_to_h(v))

    def mean_v_from_h(self, h: Num[Array, "*batch _"]) -> Float[Array, "*batch visible"]:
        """Return ⟨v⟩ given h; for Bernoulli units with biases a, p(v = 1 | h) = σ(hWᵀ + a)."""
        return self.visible.mean(self.inputs_to_v(h))

    def sample_h_from_v(
        self, v: Num[Array, "*batch _"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch hidden"]:
        """Draw h from p(h | v)."""
        return self.hidden.sample(self.inputs_to_h(v), key=key)

    def sample_v_from_h(
        self, h: Num[Array, "*batch _"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch visible"]:
        """Draw v from p(v | h)."""
        return self.visible.sample(self.inputs_to_v(h), key=key)

    def gibbs_sweep(
        self, v: Num[Array, "*batch _"], *, key: PRNGKeyArray
    ) -> Float[Array, "*batch visible"]:
        """Return v after one sweep of block Gibbs sampling, v → h → v."""
        key_h, key_v = jax.random.split(key)
        h = self.sample_h_from_v(v, key=key_h)
        return self.with_given_of(v).sample_v_from_h(h, key=key_v)

    def with_given_of(self, v: Num[Array, "*batch _"]) -> RBM:
        """Return the model conditioned on the given part of these rows, one model for each row.

        A model of documents takes the length of a row as given, a conditional model its given
        units. All other models are returned unchanged.
        """
        if not takes_given(self.visible):
            return self
        v = self.visible.as_states(v, "v")
        if takes_lengths(self.visible):
            return self.with_lengths(self.visible.lengths(v))
        is_given = given_units(self.visible)
        known = jnp.broadcast_to(from_numpy(is_given), (*v.shape[:-1], len(is_given)))
        values = jnp.where(self.visible.spread(is_given), v, 0.0)
        clamped = Clamped(layer=self.visible, known=known, values=values)  # pyright: ignore
        return RBM(clamped, self.hidden, self.weights)

    def with_lengths(self, lengths: Float[Array, "*batch"]) -> RBM:
        """Return the model for documents of the given length, or a separate length for each row."""
        visible: Any = self.visible
        return RBM(visible.with_lengths(lengths), self.hidden, self.weights)

    @property
    def dense_weights(self) -> Array:
        """W as an array, whatever the form of `weights`."""
        return dense(self.weights)

    @property
    def uncoupled(self) -> RBM:
        """The model with the same layers but zero weights, so that the layers are independent."""
        return RBM(self.visible, self.hidden, map_parameters(zeros_like, self.weights))

    def project(self) -> RBM:
        """Return the model with its parameters projected back into their domain after an update."""
        return RBM(projected(self.visible), projected(self.hidden), projected_weights(self.weights))

    def __str__(self) -> str:
        """Return the layers as text, for messages."""
        return f"RBM({self.visible} – {self.hidden})"

    def _repr_html_(self) -> str:
        """Return an HTML table of the layers and the shape of W, for display in notebooks."""
        shape = f"{self.visible.size:,} × {self.hidden.size:,}"
        return table("RBM", {"visible": self.visible, "hidden": self.hidden, "weights": shape})


def checked_type(rbm: Any, name: str = "rbm") -> RBM:
    """Return the model if it is an RBM, possibly batched; otherwise raise InputError.

    Args:
        rbm: the model.
        name: the name of the model in error messages.
    """
    if not isinstance(rbm, RBM):
        parts = {"to_harmonium": "to_harmonium()", "rbm": "rbm", "rbm_": "rbm_"}
        hints = (f"; pass its {words}" for part, words in parts.items() if hasattr(rbm, part))
        hint = next(hints, "")
        actual = described(rbm)
        if hint:  # other interfaces also have classes named RBM
            actual = f"{type(rbm).__module__.rpartition('.')[0]}.{type(rbm).__name__}"
        raise InputError(
            f"{name}: expected an RBM, such as fit.rbm or the result of hm.initialize; got"
            f" {actual}{hint}."
        )
    return rbm


def checked_rbm(rbm: Any, name: str = "rbm") -> RBM:
    """Return the model if it is a single RBM; otherwise raise InputError.

    Args:
        rbm: the model.
        name: the name of the model in error messages.
    """
    checked_type(rbm, name)
    if is_conditional(rbm.hidden):
        raise InputError(f"{name}: expected given units only in the visible layer; got {rbm}.")
    for layer in (rbm.visible, rbm.hidden):
        if shapes_of(_cgf_without_inputs, layer).ndim:
            raise InputError(
                f"{name}: expected a single model; got a batch of models; condition on one row at"
                " a time."
            )
    return rbm


def _cgf_without_inputs(layer: AbstractLayer) -> Array:
    return layer.cgf(layer.zero_inputs)
