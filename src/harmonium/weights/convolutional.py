"""Weights that are filters, shared by all positions of an image or a sequence."""

from __future__ import annotations

import math
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from .._base.checks import as_array, positive_integer
from .._base.numerics import from_numpy, product
from .._base.parameters import data_field
from ..errors import InputError
from .base import AbstractWeights

PADDINGS = ("valid", "same", "periodic")


class ConvolutionalWeights(AbstractWeights):
    """Weights of a convolutional RBM: filters that are shared by all positions.

    The hidden units form one feature map for each filter. Unit p of the map of filter k receives
    the input

        I_pk = Σ_{o, c} f_koc · v_{s p + o, c}

    from the window at position s p of the visible layer v. Here o is an offset within the window, c
    a channel (a column of a visible unit, such as a state of a Potts site) and s the stride.
    Columns are ordered by position, in row-major order, and at each position by channel (visible)
    or filter (hidden). With periodic padding and equal biases at all positions, the model is
    invariant under translations of both layers. The gradient of a filter is a sum over all
    positions; a `Recipe` divides it by their number, so that the usual learning rates apply.

    Attributes:
        filters: f, shape (filters, *window, channels).
        grid: the shape of the image, such as (28, 28), or the length of the sequence, as in (53,).
        stride: the distance between windows along each axis.
        padding: "valid": all windows lie within the image; "same": pixels beyond its borders are
            0, so that stride 1 gives maps of the size of the image; "periodic": opposite
            borders meet.
        turned: whether the object represents the transpose Wᵀ.
        visible_factors: a factor for each visible column, from `over_rows`, or None if all are 1.
        hidden_factors: a factor for each hidden column, from `over_rows` of the transpose, or None.

    Example:
        >>> weights = hm.weights.ConvolutionalWeights([[1.0, 2.0]], (3,))  # one filter of width 2
        >>> weights.dense.tolist()
        [[1.0, 0.0], [2.0, 1.0], [0.0, 2.0]]
        >>> key = jax.random.key(0)
        >>> like = hm.weights.ConvolutionalWeights(np.zeros((16, 5, 5)), (28, 28))
        >>> rbm = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(9216), key=key, pattern=like)
        >>> rbm.weights.maps  # the shape of a map: 16 · 24 · 24 = 9216 hidden units
        (24, 24)

    Source: Lee, Grosse, Ranganath & Ng 2009; Norouzi, Ranjbar & Mori 2009.
    """

    filters: Array
    grid: tuple[int, ...] = eqx.field(static=True)
    stride: tuple[int, ...] = eqx.field(static=True)
    padding: str = eqx.field(static=True)
    turned: bool = eqx.field(static=True)
    visible_factors: Array | None = data_field(default=None)
    hidden_factors: Array | None = data_field(default=None)

    def __init__(
        self,
        filters: Any,
        grid: Any,
        stride: Any = 1,
        padding: str = "valid",
        turned: bool = False,
        visible_factors: Any = None,
        hidden_factors: Any = None,
    ):
        """Build the weights.

        Args:
            filters: see the class; the axis of channels may be left out if there is one channel.
            grid: see the class.
            stride: one number for all axes, or one for each.
            padding: see the class.
            turned: see the class.
            visible_factors: see the class.
            hidden_factors: see the class.

        Raises:
            InputError: the filters are not numbers, the window is empty or larger than the image,
                the stride does not divide the size of a periodic image, or the numbers of axes
                differ.
        """
        name = "ConvolutionalWeights"
        self.grid = _sizes(grid, f"{name} grid")
        rank = len(self.grid)
        filters = _as_filters(filters, f"{name} filters")
        if jnp.ndim(filters) == rank + 1:
            filters = filters[..., None]
        if jnp.ndim(filters) != rank + 2:
            raise InputError(
                f"{name} filters: expected shape (filters, *window, channels) with as many axes"
                f" of the window as in the grid {self.grid}; got shape {jnp.shape(filters)}."
            )
        if 0 in jnp.shape(filters):
            raise InputError(
                f"{name} filters: expected at least one filter, and windows of at least one unit;"
                f" got shape {jnp.shape(filters)}."
            )
        self.filters = filters
        strides = stride if isinstance(stride, tuple | list) else (stride,) * rank
        self.stride = _sizes(strides, f"{name} stride")
        if len(self.stride) != rank:
            raise InputError(f"{name} stride: expected one number per grid axis; got {strides}.")
        if padding not in PADDINGS:
            raise InputError(
                f"{name} padding: expected one of {', '.join(PADDINGS)}; got {padding!r}."
            )
        self.padding = padding
        too_large = [w for w, n in zip(self.window, self.grid, strict=True) if w > n]
        if too_large:
            raise InputError(
                f"{name} filters: expected a window no larger than the image {self.grid}; got"
                f" {self.window}."
            )
        uneven = [s for s, n in zip(self.stride, self.grid, strict=True) if n % s]
        if padding == "periodic" and uneven:
            raise InputError(
                f"{name} stride: expected divisors of the sizes {self.grid} of the periodic image;"
                f" got {self.stride}."
            )
        self.turned = turned
        self.visible_factors = visible_factors
        self.hidden_factors = hidden_factors

    @property
    def window(self) -> tuple[int, ...]:
        """The shape of a filter's window."""
        return tuple(jnp.shape(self.filters)[1:-1])

    @property
    def maps(self) -> tuple[int, ...]:
        """The shape of a filter's feature map."""
        room = [0] * len(self.grid) if self.padding != "valid" else [w - 1 for w in self.window]
        spaces = zip(self.grid, room, self.stride, strict=True)
        return tuple(math.ceil((size - less) / step) for size, less, step in spaces)

    @property
    def copies(self) -> int:
        """The number of positions of a filter."""
        return math.prod(self.maps)

    @property
    def shared_filters(self) -> Array | None:
        return self.filters if self.copies > 1 else None

    @property
    def shape(self) -> tuple[int, ...]:
        count, *_, channels = jnp.shape(self.filters)
        sizes = (math.prod(self.grid) * channels, math.prod(self.maps) * count)
        return sizes[::-1] if self.turned else sizes

    @property
    def T(self) -> ConvolutionalWeights:  # noqa: N802
        return self._with(turned=not self.turned)

    def _with(self, **fields: Any) -> ConvolutionalWeights:
        return ConvolutionalWeights(**(self.to_fields() | fields))

    def __rmatmul__(self, states: Array) -> Array:
        """Return states @ W: a convolution, or its transpose if `turned`."""
        states = jnp.asarray(states)
        flat = states.reshape(-1, states.shape[-1])
        if not self.turned:
            result = self._forward(flat)
        else:
            visible = jnp.zeros((len(flat), self.shape[1]), flat.dtype)
            result = jax.linear_transpose(self._forward, visible)(flat)[0]
        return result.reshape(*states.shape[:-1], -1)

    def _forward(self, v: Float[Array, "n visible"]) -> Float[Array, "n hidden"]:
        """Return v @ W, where W is not transposed, whatever `turned` is."""
        if self.visible_factors is not None:
            v = v * lax.stop_gradient(self.visible_factors)
        filters = self.filters.reshape(len(self.filters), -1).astype(v.dtype)
        h = product(self._windows(v.reshape(len(v), *self.grid, -1)), filters.T).reshape(len(v), -1)
        if self.hidden_factors is not None:
            h = h * lax.stop_gradient(self.hidden_factors)
        return h

    def _windows(self, images: Float[Array, "n *grid channels"]) -> Float[Array, "n positions _"]:
        """Return the window of each position as a row, in the order of a filter's entries."""
        # Products of a matrix of windows, since XLA's convolutions are ten times slower in the
        # loops of a run on a CPU.
        rank = len(self.grid)
        for axis, (window, step) in enumerate(zip(self.window, self.stride, strict=True), 1):
            count = self.maps[axis - 1]
            extent = (count - 1) * step + window  # the pixels that the windows cover
            excess = max(0, extent - self.grid[axis - 1])
            widths = [(0, 0)] * images.ndim
            if self.padding == "periodic":
                widths[axis] = (0, excess)
                images = jnp.pad(images, widths, mode="wrap")
            elif excess:
                widths[axis] = (excess // 2, excess - excess // 2)
                images = jnp.pad(images, widths)
            slices = [
                lax.slice_in_dim(images, first, first + extent - window + 1, step, axis)
                for first in range(window)
            ]
            # The offsets come after all axes of positions, in the order of the axes.
            images = jnp.stack(slices, axis=rank + axis)
        return images.reshape(len(images), self.copies, -1)

    @property
    def dense(self) -> Float[Array, "visible hidden"]:
        straight = self._with(turned=False)
        matrix = straight._forward(jnp.eye(straight.shape[0], dtype=self.filters.dtype))
        return matrix.T if self.turned else matrix

    @property
    def differentiable(self) -> ConvolutionalWeights:
        return self

    def over_rows(self, factors: Float[Array, " visible"]) -> ConvolutionalWeights:
        field = "hidden_factors" if self.turned else "visible_factors"
        if (own := getattr(self, field)) is not None:
            factors = own * factors
        return self._with(**{field: factors})

    def to_fields(self) -> dict[str, Any]:
        """Return the fields that a model file stores, without those that are None."""
        return {name: value for name, value in super().to_fields().items() if value is not None}

    def replaced(self, entries: Float[Array, "visible hidden"]) -> ConvolutionalWeights:
        """Return weights with these entries, which must be filters repeated at all positions.

        Raises:
            InputError: no filters produce these entries.
        """

        def matrix(filters: Array) -> Array:
            return self._with(filters=filters).dense

        back = jax.linear_transpose(matrix, self.filters)
        copies = back(matrix(jnp.ones_like(self.filters)))[0]
        sums = back(jnp.asarray(entries, self.filters.dtype))[0]
        result = self._with(filters=jnp.where(copies > 0, sums / jnp.maximum(copies, 1e-30), 0.0))
        error = abs(result.dense - entries).max()
        if not float(error) <= 1e-5 * max(1.0, float(abs(jnp.asarray(entries)).max())):
            raise InputError(
                "ConvolutionalWeights: expected entries that repeat at all positions; got entries"
                " that differ."
            )
        return result


def _as_filters(filters: Any, name: str) -> Any:
    """Return filters as an array of real numbers; what stands for an array is unchanged."""
    if isinstance(filters, list | tuple):
        filters = as_array(filters, name)
    # To NumPy, bfloat16 is of the kind of raw bytes; only JAX knows that it is a real number.
    kind = np.dtype(getattr(filters, "dtype", float)).kind
    if kind not in "buif" and not jnp.issubdtype(filters.dtype, jnp.floating):
        raise InputError(f"{name}: expected real numbers; got an array of dtype {filters.dtype}.")
    if isinstance(filters, np.ndarray) or kind in "bui":
        return from_numpy(np.array(filters, float))
    return filters


def _sizes(numbers: Any, name: str) -> tuple[int, ...]:
    numbers = numbers if isinstance(numbers, tuple | list) else (numbers,)
    return tuple(positive_integer(number, name) for number in numbers)
