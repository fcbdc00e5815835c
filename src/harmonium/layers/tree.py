"""0/1 units that are coupled along the edges of a tree."""

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray, Shaped

from .._base.numerics import bernoulli_states, softplus
from .._base.trees import NONE
from ..errors import InputError
from .arrays import Columns, Rows, RowWeights, Units, parameter, weighted_mean
from .base import AbstractLayer
from .capabilities import AbstractBlocked
from .discrete import AbstractBernoulli
from .registry import layer_named


class Tree(AbstractBernoulli, AbstractBlocked):
    r"""0/1 units, each of which is coupled to its parent in a tree.

    The energy of a state x, in which unit p(i) is the parent of unit i, is

        U(x) = −b·x − Σ_i J_i x_i x_p(i).

    Sums over states and draws are exact; they take at most one pass up the tree and one pass down.
    In the upward pass, unit i with the input I_i has the field f_i = I_i + b_i + Σ_c m_c, where m_c
    is the message from its child c. The messages and the cumulant generating function are

        m_c = log(1 + e^(f_c + J_c)) − log(1 + e^f_c),      Γ(I) = Σ_i log(1 + e^f_i).

    In the downward pass, p(x_i = 1 | x_p) = σ(f_i + J_i x_p), with the logistic function σ. With
    W = 0, a model with this visible layer is the dependence tree itself, so hidden units need only
    model dependences that a tree cannot represent.

    Attributes:
        size: number of units.
        parents: the index of each unit's parent, or −1 for a root; each root has its own tree.
        bias: b, shape (size,), in nats.
        couplings: J, shape (size,), in nats; the coupling of a root has no effect.

    Example:
        >>> layer = hm.Tree(3, parents=[-1, 0, 0], couplings=[0.0, 2.0, -2.0])
        >>> known = jnp.array([True, False, False])
        >>> mean = layer.mean_given(layer.zero_inputs, known, jnp.array([1.0, 0.0, 0.0]))
        >>> [round(float(p), 2) for p in mean]  # σ(2) and σ(−2), given that their parent is on
        [1.0, 0.88, 0.12]

    Source: Chow & Liu 1968; Pearl 1988 (messages in a tree).
    """

    parents: tuple[int, ...] = eqx.field(static=True)
    couplings: Float[Array, "*models size"]

    def __init__(self, size: int, parents: Iterable[int], bias: Any = None, couplings: Any = None):
        super().__init__(size, bias)
        self.parents = tuple(int(parent) for parent in parents)
        self.couplings = parameter(couplings, (self.size,), "Tree couplings", default=0.0)
        if len(self.parents) != size or not all(NONE <= p < size for p in self.parents):
            raise InputError(
                "Tree parents: expected, for each unit, the index of another unit, or −1 for a"
                f" root (number of units: {size}); got {self.parents}."
            )
        _levels_of(self.parents)  # raises an error if there is a cycle

    # ------------------------------------------------------------------ sums along the tree

    def apart(self) -> AbstractLayer:
        """Return a layer of independent Bernoulli units."""
        return layer_named("bernoulli", "apart").make(self.size)

    @property
    def blocks(self) -> Integer[np.ndarray, " units"]:
        """The index of each unit's tree; trees are numbered in the order of their roots."""
        roots = np.arange(self.size)
        for level in _levels_of(self.parents)[1:]:
            roots[level.units] = roots[np.asarray(self.parents)[level.units]]
        return np.unique(roots, return_inverse=True)[1]

    def _joined(self, by_level: list[Array]) -> Units:
        """Concatenate the values of all levels, and sort them into the order of the units."""
        order = np.concatenate([level.units for level in _levels_of(self.parents)])
        rows = jnp.concatenate(by_level)[np.argsort(order).astype(np.int32)]
        return jnp.moveaxis(rows, 0, -1)

    def _of_parents(self, x: Array) -> Shaped[Array, "*batch units"]:
        """Return the value of each unit's parent, and an arbitrary value for a root."""
        return x[..., np.maximum(self.parents, 0).astype(np.int32)]

    def _couplings(self) -> Float[Array, "*models size"]:
        """Return each unit's coupling J to its parent, or 0 for a root."""
        has_parent = np.asarray(self.parents) != NONE
        return jnp.where(has_parent, self.couplings, 0.0)

    def unit_energies(self, x: Columns) -> Units:
        """Return −b_i x_i − J_i x_i x_p(i)."""
        return -x * (self.bias + self._couplings() * self._of_parents(x))

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return log(1 + e^f_i) for each unit; only the sum over a tree is meaningful."""
        return softplus(self._joined(self._free(inputs).fields()))

    def mean(self, inputs: Columns) -> Columns:
        """Return p(x_i = 1), computed from the parents' probabilities."""
        on, _ = self._free(inputs).probabilities()
        return self._joined(on)

    def variance(self, inputs: Columns) -> Columns:
        """Return the variance p(1 − p) of each unit."""
        on, off = self._free(inputs).probabilities()
        return self._joined(on) * self._joined(off)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw each unit given its parent, from the roots down."""
        messages = self._free(inputs)
        uniforms = jax.random.uniform(key, messages.total.shape, inputs.dtype)
        return self._joined(messages.draws(uniforms))

    # ------------------------------------------------------------------ given some units

    def unit_cgfs_given(self, inputs: Array, known: Array, values: Array) -> Units:
        """Return the cgfs with known units held; a known unit's entry is field times value."""
        fields = self._joined(self._held(inputs, known, values).fields())
        return jnp.where(known, fields * values, softplus(fields))

    def mean_given(self, inputs: Array, known: Array, values: Array) -> Columns:
        """Return the means of the unknown units, given the known ones."""
        on, _ = self._held(inputs, known, values).probabilities()
        return self._joined(on)

    def variance_given(self, inputs: Array, known: Array, values: Array) -> Columns:
        """Return p(1 − p) of each unknown unit."""
        on, off = self._held(inputs, known, values).probabilities()
        return jnp.where(known, 0.0, self._joined(on) * self._joined(off))

    def sample_given(
        self, inputs: Array, known: Array, values: Array, *, key: PRNGKeyArray
    ) -> Columns:
        """Draw the unknown units, from the roots down, given the known ones."""
        messages = self._held(inputs, known, values)
        uniforms = jax.random.uniform(key, messages.total.shape, inputs.dtype)
        return self._joined(messages.draws(uniforms))

    def _free(self, inputs: Array) -> "_Messages":
        """Return the message passing in a tree of which no unit is known."""
        shape = jnp.broadcast_shapes(inputs.shape, self.bias.shape)
        couplings = _units_first(self._couplings(), shape)
        total = _units_first(inputs + self.bias, shape)
        return _Messages(_levels_of(self.parents), total, couplings, None, total)

    def _held(self, inputs: Array, known: Array, values: Array) -> "_Messages":
        """Return the message passing with known units held, at which the tree is cut.

        The field of a known unit's child includes J v, where v is the value of the known unit.
        """
        shape = jnp.broadcast_shapes(inputs.shape, known.shape, values.shape, self.bias.shape)
        is_cut = self._of_parents(known) & (np.asarray(self.parents) != NONE)
        couplings = self._couplings()
        of_parents = jnp.where(is_cut, couplings * self._of_parents(values), 0.0)
        arrays = (inputs + self.bias + of_parents, jnp.where(is_cut, 0.0, couplings), known, values)
        return _Messages(_levels_of(self.parents), *(_units_first(x, shape) for x in arrays))

    # ------------------------------------------------------------------ parameters

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Tree":
        """Fit means and parent–child correlations to the rows and one pseudo-row.

        In the pseudo-row, each of the four states of a unit and its parent has probability ¼.
        """
        parents = np.asarray(self.parents)
        mean, n = weighted_mean(x, weights)
        pair_mean, _ = weighted_mean(x * self._of_parents(x), weights)
        n_on = n * mean + 0.5
        n_both = n * pair_mean + 0.25
        of_parent = n_on[np.maximum(parents, 0)]
        with_parent = jnp.log(n_both) - jnp.log(of_parent - n_both)
        without = jnp.log(n_on - n_both) - jnp.log(n + 1.0 - of_parent - (n_on - n_both))
        alone = jnp.log(n_on) - jnp.log(n + 1.0 - n_on)
        # The fields are the log odds if the parent is 0; they include the children's messages.
        fields = jnp.where(parents == NONE, alone, without)
        couplings = jnp.where(parents == NONE, 0.0, with_parent - without)
        messages = softplus(fields + couplings) - softplus(fields)
        of_children = jax.ops.segment_sum(
            jnp.where(parents == NONE, 0.0, messages), np.maximum(parents, 0), self.size
        )
        return Tree(self.size, self.parents, fields - of_children, couplings)


class _Messages(NamedTuple):
    """Message passing up and down a tree; results are lists with one array per level.

    The first axis of all arrays is that of the units, so that a level consists of whole rows, which
    can be gathered several times faster than columns.

    Attributes:
        levels: the levels of the tree, the roots first.
        total: I + b of each unit, plus J v if its parent is known and has the value v.
        couplings: J of each unit, or 0 for a unit that has no parent or a known parent.
        known: a mask of the known units, or None.
        values: the values of the known units.
    """

    levels: tuple["_Level", ...]
    total: Array
    couplings: Array
    known: Array | None
    values: Array

    def _unless_known(self, units: np.ndarray, result: Array, of_known: Array) -> Array:
        """Return `of_known` for the known units of a level, and `result` for the others."""
        if self.known is None:
            return result
        return jnp.where(self.known[units], of_known, result)

    def fields(self) -> list[Array]:
        """Return f, the field on each unit, including its children's messages."""
        fields = [self.total[level.units] for level in self.levels]
        for depth in range(len(self.levels) - 1, 0, -1):
            units, links = self.levels[depth]
            couplings = self.couplings[units]
            message = softplus(fields[depth] + couplings) - softplus(fields[depth])
            message = self._unless_known(units, message, couplings * self.values[units])
            fields[depth - 1] = fields[depth - 1] + _along(links.T, message)
        return fields

    def probabilities(self) -> tuple[list[Array], list[Array]]:
        """Return p(x = 1) and p(x = 0) of each unit, which are v and 1 − v for a known value v."""
        on: list[Array] = []
        off: list[Array] = []  # computed separately, since 1 − p loses digits when p is near 1
        for (units, links), field in zip(self.levels, self.fields(), strict=True):
            p_on = jax.nn.sigmoid(field)
            p_off = jax.nn.sigmoid(-field)
            if on:
                parent_on = _along(links, on[-1])
                parent_off = _along(links, off[-1])
                with_parent = field + self.couplings[units]
                p_on = parent_off * p_on + parent_on * jax.nn.sigmoid(with_parent)
                p_off = parent_off * p_off + parent_on * jax.nn.sigmoid(-with_parent)
            values = self.values[units]
            on.append(self._unless_known(units, p_on, values))
            off.append(self._unless_known(units, p_off, 1.0 - values))
        return on, off

    def draws(self, uniforms: Array) -> list[Array]:
        """Draw each unit given its parent, using one uniform number per unit."""
        drawn: list[Array] = []
        for (units, links), field in zip(self.levels, self.fields(), strict=True):
            logits = field
            if drawn:
                logits = field + self.couplings[units] * _along(links, drawn[-1])
            states = bernoulli_states(logits, uniforms[units])
            drawn.append(self._unless_known(units, states, self.values[units]))
        return drawn


def _along(links: np.ndarray, x: Array) -> Array:
    """Return `links` @ `x`: for each unit, the row of its parent or the sum over its children."""
    return jnp.tensordot(links, x, 1, precision="highest")


def _units_first(x: Array, shape: tuple[int, ...]) -> Array:
    """Broadcast `x` to this shape, and move the axis of units before the batch axes."""
    return jnp.moveaxis(jnp.broadcast_to(x, shape), -1, 0)


class _Level(NamedTuple):
    """One level of a tree: the units at the same distance from their roots.

    Attributes:
        units: the indices of the units.
        links: a 0/1 matrix; entry (i, j) is 1 if unit j of the level above is the parent of unit i
            of this level.
    """

    units: np.ndarray
    links: np.ndarray


@functools.cache
def _levels_of(parents: tuple[int, ...]) -> tuple[_Level, ...]:
    """Return the levels of the tree that these parents define, with the roots first.

    Raises:
        InputError: some units have no root as an ancestor.
    """
    of_units = np.asarray(parents)
    roots = np.flatnonzero(of_units == NONE).astype(np.int32)
    levels = [_Level(roots, np.zeros((len(roots), 0), np.float32))]
    while True:
        above = levels[-1].units
        units = np.flatnonzero(np.isin(of_units, above)).astype(np.int32)
        if not len(units):
            break
        links = (of_units[units][:, None] == above).astype(np.float32)
        levels.append(_Level(units, links))
    reached = sum(len(level.units) for level in levels)
    if reached < len(parents):
        raise InputError(
            "Tree parents: expected a root above each unit; got a cycle (number of units"
            f" without a root: {len(parents) - reached})."
        )
    return tuple(levels)
