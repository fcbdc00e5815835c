"""Paths between models, which have one model for each t from 0 to 1.

Every parameter of a model is a natural parameter, so the energy is affine in the parameters, whose
domain is convex. Therefore each point on the straight line between two models with finite Z is a
model with finite Z. Data in a model, such as the values of clamped units, are taken from the model
at the end of the path.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base.module import AbstractModule
from ._base.parameters import map_parameters
from ._base.programs import compiled
from .errors import InputError
from .layers import AbstractLayer
from .rbm import RBM
from .weights import Scaled

__all__ = ["AbstractPath", "Heating", "History", "Line"]


class AbstractPath(AbstractModule):
    """A path of models: `at(t)` is the model at position t, for t from 0 to 1.

    Example:
        >>> class Slow(hm.path.AbstractPath):  # small steps first
        ...     line: hm.path.Line
        ...     def at(self, t):
        ...         return self.line.at(t**2)
        ...     def ending_at(self, rbm):
        ...         return Slow(self.line.ending_at(rbm))
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> Slow(hm.path.Line(rbm.uncoupled, rbm)).at(0.5).weights[0].tolist()
        [0.25, 0.0, 0.0]
    """

    @abstractmethod
    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Return the model at position t."""

    @abstractmethod
    def ending_at(self, rbm: RBM) -> AbstractPath:
        """Return the path that ends at another model with layers of the same types and sizes.

        A temperature ladder uses this to track a model during training.
        """

    @property
    def log_z_of_base(self) -> Float[Array, ""]:
        """The log Z of the model at t = 0 if its weights are 0: the sum over its layers' log Z."""
        return _log_z_of_base(self)

    @property
    def begins_uncoupled(self) -> bool:
        """Whether all weights at t = 0 are 0; NaN weights of a diverged model count as 0."""
        return not float(_largest_weight_of_base(self)) > 0.0


@compiled
def _log_z_of_base(path: AbstractPath) -> Array:
    base = path.at(0.0)
    return base.visible.cgf(base.visible.zero_inputs) + base.hidden.cgf(base.hidden.zero_inputs)


@compiled
def _largest_weight_of_base(path: AbstractPath) -> Array:
    base = path.at(0.0)
    return abs(base.inputs_to_h(jnp.eye(base.visible.size, dtype=base.visible.dtype))).max()


class Line(AbstractPath):
    """The straight line between two models with layers of the same form: (1 − t)·start + t·end.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> path = hm.path.Line(rbm.uncoupled, rbm)
        >>> path.at(0.25).weights[0].tolist()
        [0.25, 0.0, 0.0]
    """

    start: RBM
    end: RBM

    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Return the model with parameters (1 − t)·start + t·end."""
        return _between(self.start, self.end, t)

    def ending_at(self, rbm: RBM) -> Line:
        return Line(self.start, rbm)


class Heating(AbstractPath):
    """A path from independent layers to a model, with interpolated layers and weights t·W.

    The path equals the `Line` that starts at a base model with zero weights, but needs one product
    with W instead of two.

    Attributes:
        visible: the base model's visible layer, of the same type and size as `rbm.visible`.
        hidden: the base model's hidden layer.
        rbm: the model at t = 1.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4, [1, 0, 0, 0]), hm.Bernoulli(3), np.eye(4, 3))
        >>> half = hm.path.Heating.from_neutral(rbm).at(0.5)  # all parameters are halved
        >>> half.visible.bias.tolist(), half.dense_weights[0].tolist()
        ([0.5, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0])
    """

    visible: AbstractLayer
    hidden: AbstractLayer
    rbm: RBM

    @classmethod
    def from_neutral(cls, rbm: RBM) -> Heating:
        """Return the path from zero biases and weights; t acts as an inverse temperature."""
        return cls(rbm.visible.base(), rbm.hidden.base(), rbm)

    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Return the model with interpolated layers and weights t·W."""
        visible = _between(self.visible, self.rbm.visible, t)
        hidden = _between(self.hidden, self.rbm.hidden, t)
        return RBM(visible, hidden, Scaled(self.rbm.weights, jnp.asarray(t)))

    def ending_at(self, rbm: RBM) -> Heating:
        """Return the path from the same base model to another model."""
        return Heating(self.visible, self.hidden, rbm)


class History(AbstractPath):
    """A piecewise linear path through a sequence of models, such as the checkpoints of a run.

    Model i of n is at t = i/(n − 1).

    Attributes:
        models: the n models, stored as one model whose arrays have a leading axis of length n.

    Example:
        >>> models = [hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), s * np.eye(4, 3)) for s in (0, 1, 3)]
        >>> path = hm.path.History.through(models)
        >>> [float(path.at(t).weights[0, 0]) for t in (0.0, 0.5, 0.75, 1.0)]
        [0.0, 1.0, 2.0, 3.0]
    """

    models: RBM

    @classmethod
    def through(cls, models: Sequence[RBM]) -> History:
        """Return the path through these models, in order."""
        if len(models) < 2:
            raise InputError(f"History: expected at least two models; got {len(models)}.")
        stacked: Any = jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)
        return cls(stacked)

    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Interpolate between the two models of the segment that contains t."""
        last = jax.tree.leaves(self.models)[0].shape[0] - 1
        position = jnp.asarray(t) * last
        segment = jnp.clip(jnp.floor(position).astype(int), 0, last - 1)
        start = jax.tree.map(lambda leaf: leaf[segment], self.models)
        end = jax.tree.map(lambda leaf: leaf[segment + 1], self.models)
        return _between(start, end, position - segment)

    def ending_at(self, rbm: RBM) -> History:
        """Return the path whose last model is replaced by this model."""
        return History(jax.tree.map(lambda stack, new: stack.at[-1].set(new), self.models, rbm))


def _between(start: Any, end: Any, t: Any) -> Any:
    """Return a pytree with parameters (1 − t)·start + t·end and with the data of `end`."""
    return map_parameters(lambda b, a: (1 - t) * a + t * b, end, start)


def path_to(rbm: RBM, path: AbstractPath | None = None) -> AbstractPath:
    """Return `path` ending at this model instead, or `Heating.from_neutral(rbm)` for None."""
    if path is None:
        return Heating.from_neutral(rbm)
    return path.ending_at(rbm)
