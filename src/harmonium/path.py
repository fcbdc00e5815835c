"""A model at every t from 0 to 1.

Every parameter of a model is a natural one, so energy is affine in the parameters, and over a
convex domain each point of the straight line between two models of finite Z is a model of
finite Z. What a model holds of data, such as the values of clamped units, stays that of the end.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from .errors import InputError
from .layers import AbstractLayer
from .parameters import map_parameters
from .rbm import RBM
from .weights import Scaled

__all__ = ["AbstractPath", "Heating", "History", "Line"]


class AbstractPath(eqx.Module):
    """A model at every t: `at(0)` is where a path begins and `at(1)` where it ends."""

    @abstractmethod
    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Return the model at t."""

    @abstractmethod
    def ending_at(self, rbm: RBM) -> AbstractPath:
        """Return the path that ends at another model of the same layers.

        So a ladder follows a model in training.
        """

    @property
    def log_z_of_base(self) -> Float[Array, ""]:
        """Log Z of the model at t = 0 if its layers are independent: Γ_v(0) + Γ_h(0)."""
        return _log_z_of_base(self)

    @property
    def begins_uncoupled(self) -> bool:
        """Whether the model at t = 0 has no weights; NaN of a model that diverged are none."""
        return not float(_strongest_of_base(self)) > 0.0


@eqx.filter_jit
def _log_z_of_base(path: AbstractPath) -> Array:
    base = path.at(0.0)
    return base.visible.cgf(base.visible.zero_inputs) + base.hidden.cgf(base.hidden.zero_inputs)


@eqx.filter_jit
def _strongest_of_base(path: AbstractPath) -> Array:
    """Return the largest absolute weight of the model at t = 0."""
    base = path.at(0.0)
    return abs(base.inputs_to_h(jnp.eye(base.visible.size, dtype=base.visible.dtype))).max()


class Line(AbstractPath):
    """The straight line between two models of the same layers: (1 − t)·start + t·end."""

    start: RBM
    end: RBM

    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Average the parameters."""
        return _between(self.start, self.end, t)

    def ending_at(self, rbm: RBM) -> Line:
        """Draw the line to another end."""
        return Line(self.start, rbm)


class Heating(AbstractPath):
    """From independent layers to a model: the layers on a straight line, the weights t·W.

    The straight line from a base model without weights, with one product by W instead of two.

    Attributes:
        visible: the base model's visible layer, of the same type and size as the model's.
        hidden: the base model's hidden layer.
        rbm: the model at t = 1.
    """

    visible: AbstractLayer
    hidden: AbstractLayer
    rbm: RBM

    @classmethod
    def from_neutral(cls, rbm: RBM) -> Heating:
        """Heat from the model without any preference: a ladder of temperatures proper."""
        return cls(rbm.visible.neutral(), rbm.hidden.neutral(), rbm)

    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Average the layers and scale the weights."""
        visible = _between(self.visible, self.rbm.visible, t)
        hidden = _between(self.hidden, self.rbm.hidden, t)
        return RBM(visible, hidden, Scaled(self.rbm.weights, jnp.asarray(t)))

    def ending_at(self, rbm: RBM) -> Heating:
        """Heat from the same base model."""
        return Heating(self.visible, self.hidden, rbm)


class History(AbstractPath):
    """Straight lines from each model of a sequence to the next, as checkpoints of a run give.

    Model i of n stands at t = i/(n − 1).

    Attributes:
        models: one model whose leaves carry a leading axis of n entries.
    """

    models: RBM

    @classmethod
    def through(cls, models: Sequence[RBM]) -> History:
        """Make the path through these models, in order."""
        if len(models) < 2:
            raise InputError(f"A history needs at least two models; got {len(models)}.")
        stacked: Any = jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)
        return cls(stacked)

    def at(self, t: Float[Array, ""] | float) -> RBM:
        """Find the segment and average its two models."""
        last = jax.tree.leaves(self.models)[0].shape[0] - 1
        position = jnp.asarray(t) * last
        before = jnp.clip(jnp.floor(position).astype(int), 0, last - 1)
        part = position - before
        start, end = (
            jax.tree.map(lambda leaf, i=i: leaf[i], self.models) for i in (before, before + 1)
        )
        return _between(start, end, part)

    def ending_at(self, rbm: RBM) -> History:
        """Put another model in the place of the last one."""
        return History(jax.tree.map(lambda all_, new: all_.at[-1].set(new), self.models, rbm))


def _between(start: Any, end: Any, t: Any) -> Any:
    """Return the average of the parameters, with the data of the end."""
    return map_parameters(lambda b, a: (1 - t) * a + t * b, end, start)
