"""Deep belief networks: RBMs trained one after the other, each on the hidden units below."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from .._base.checks import as_array, checked_key, positive_integer
from .._base.numerics import from_numpy
from .._base.programs import compiled
from .._base.statistics import log_mean_exp
from .._base.threefry import fold_in, split
from ..data import Dataset
from ..data.parts import in_parts
from ..errors import InputError
from ..inference import sample
from ..layers import AbstractLayer
from ..layers.capabilities import is_binary, takes_given
from ..likelihood.partition_function.base import LogZ
from ..likelihood.scoring import log_z
from ..rbm import RBM
from ..transforms.deep_machines import checked_depth, checked_layers
from ..transforms.initialization import initialize
from .loop import fit

__all__ = ["stack"]


class Bound(NamedTuple):
    """A lower bound on the mean log-likelihood of rows, in nats per row.

    Attributes:
        value: the estimated bound.
        low: the lower end of its interval, from the error of log Z of the top RBM.
        high: the upper end; the bound of no row exceeds log p(row), but its estimate may.
        stderr_rows: the standard error of the mean over rows.
        log_z: log Z of the top RBM.
    """

    value: float
    low: float
    high: float
    stderr_rows: float
    log_z: LogZ


class Stack(NamedTuple):
    r"""A deep belief network (DBN): RBMs of which each models the hidden units of the one below.

    The top RBM is the model of the two highest layers, and each lower RBM contributes the
    distribution of its visible units given its hidden ones,

        p(x, h¹, h², …) = p₁(x | h¹) p₂(h¹ | h²) ⋯ p_L(hᴸ⁻¹, hᴸ).

    Attributes:
        rbms: the RBMs, from the data upwards.

    Example:
        >>> rows, key = hm.bars_and_stripes(3), jax.random.key(0)
        >>> layers = [hm.Bernoulli(9), hm.Bernoulli(8), hm.Bernoulli(4)]
        >>> dbn = hm.stack(layers, rows, key=key, epochs=200)
        >>> [str(rbm) for rbm in dbn.rbms]
        ['RBM(Bernoulli(9) – Bernoulli(8))', 'RBM(Bernoulli(8) – Bernoulli(4))']
        >>> dbn.features(rows).shape, dbn.sample(5, key=key).shape
        ((16, 4), (5, 9))

    Source: Hinton, Osindero & Teh 2006.
    """

    rbms: tuple[RBM, ...]

    @property
    def layers(self) -> tuple[AbstractLayer, ...]:
        """The layers from the data upwards."""
        return (self.rbms[0].visible, *(rbm.hidden for rbm in self.rbms))

    def features(self, rows: Any, depth: int | None = None) -> np.ndarray:
        """Return the means of a hidden layer, computed upwards with the means of each layer.

        Args:
            rows: rows in the user's coding, shape (n, visible units), without missing values.
            depth: the index of the hidden layer, from 1; the top layer if None.

        Returns:
            Means, shape (n, columns of the layer).

        Raises:
            InputError: the rows are not in the first layer's domain, or there is no such layer.
        """
        depth = checked_depth(depth, len(self.rbms))
        visible = self.rbms[0].visible
        checked = visible.validate(as_array(rows, "rows"), "rows")
        widest = max(layer.size for layer in self.layers)
        rbms = self.rbms[:depth]
        return in_parts(lambda part, _: _means(rbms, part), checked, widest)

    def sample(self, n: int, *, key: PRNGKeyArray) -> np.ndarray:
        """Draw rows: states of the top RBM's visible layer, then downwards, layer by layer.

        Args:
            n: number of rows.
            key: a JAX random key.

        Returns:
            Rows in the user's coding, shape (n, visible units).
        """
        key_top, key_down = split(checked_key(key))
        rows = sample(self.rbms[-1], n, key=key_top)
        states = _downwards(self.rbms, from_numpy(np.asarray(rows, np.float32)), key=key_down)
        return self.rbms[0].visible.decode(np.asarray(states))

    def log_likelihood_bound(
        self, rows: Any, *, key: PRNGKeyArray, draws: int = 20, **settings: Any
    ) -> Bound:
        r"""Return a lower bound on the mean log-likelihood of rows.

            log p(x) ≥ ⟨log (1/K) Σ_k p(x, h_k) / q(h_k | x)⟩,      h_k ~ q(h | x),

        with q(h | x) the factorial distributions of the RBMs, from the data upwards, and p(hᴸ⁻¹) =
        e^(−F(hᴸ⁻¹)) / Z of the top RBM. It rises with the number of draws K. The estimate is
        unbiased for given log Z, whose interval is that of the bound.

        Args:
            rows: rows in the user's coding, shape (n, visible units), without missing values.
            key: a JAX random key.
            draws: K, the number of draws for each row.
            settings: as for `hm.log_z`, such as `seconds`.

        Raises:
            InputError: the rows are not in the domain of the first layer.

        Source: Salakhutdinov & Murray 2008 (K = 1); Burda, Grosse & Salakhutdinov 2016.
        """
        draws = positive_integer(draws, "draws")
        key_rows, key_z = split(checked_key(key))
        visible = self.rbms[0].visible
        checked = visible.validate(as_array(rows, "rows"), "rows")
        of_top = log_z(self.rbms[-1], key=key_z, **settings)
        widest = draws * max(layer.size for layer in self.layers)

        def bounds(part: Array, number: int) -> Array:
            return _log_weights(self.rbms, part, draws, key=fold_in(key_rows, number))

        values = log_mean_exp(in_parts(bounds, checked, widest).astype(np.float64), axis=1)
        mean = float(values.mean())
        stderr = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan
        return Bound(
            value=mean - of_top.value,
            low=mean - of_top.high,
            high=mean - of_top.low,
            stderr_rows=stderr,
            log_z=of_top,
        )


def stack(
    layers: Sequence[AbstractLayer],
    data: Any,
    *,
    key: PRNGKeyArray,
    weights: Any = None,
    **settings: Any,
) -> Stack:
    """Train a deep belief network greedily: an RBM on the rows, and one on each hidden layer.

    The rows of the next RBM are the hidden units given the rows: of Bernoulli units, the means,
    from which states are drawn at each visit; of other units, one draw for each row.

    Args:
        layers: the visible layer and the hidden layers, from the data upwards; at least two.
        data: rows in the user's coding, shape (n, visible units), or a `Dataset` in memory; without
            missing values.
        key: a JAX random key.
        weights: sample weights of the rows, shape (n,).
        settings: arguments of `fit` for each RBM, such as `epochs`.

    Raises:
        InputError: fewer than two layers, or rows with missing values or outside the domain.

    Example:
        >>> rows, key = hm.bars_and_stripes(3), jax.random.key(0)
        >>> layers = [hm.Bernoulli(9), hm.Bernoulli(8), hm.Bernoulli(4)]
        >>> dbn = hm.stack(layers, rows, key=key, epochs=500)
        >>> dbn.log_likelihood_bound(rows, key=key).log_z.method
        'exact, 16 states'

    Source: Hinton, Osindero & Teh 2006; Bengio, Lamblin, Popovici & Larochelle 2007.
    """
    levels = checked_layers(layers, "a visible layer and one or more hidden layers")
    for layer in levels:
        if layer.n_latent or takes_given(layer):
            raise InputError(
                f"layers: expected layers of which rows hold all units, none given; got {layer}."
            )
    wrong_settings = {"validation", "state", "keep"} & set(settings)
    if wrong_settings:
        raise InputError(
            f"{min(wrong_settings)}: expected only arguments of fit that suit every RBM; leave it"
            " out, since each RBM has rows of its own."
        )
    key = checked_key(key)
    rows = Dataset.of(data, weights).checked_for(levels[0])
    if rows.missing:
        raise InputError(
            "data: expected rows without missing values; got some; fill them in first: hm.impute."
        )
    rbms: list[RBM] = []
    for number, (below, above) in enumerate(itertools.pairwise(levels)):
        key_start, key_fit, key_up = split(fold_in(key, number), 3)
        rbm = initialize(below, above, rows, key=key_start)
        rbms.append(fit(rbm, rows, key=key_fit, **settings).rbm)
        if number + 2 < len(levels):
            rows = _hidden_rows(rbms[-1], rows, key=key_up)
    return Stack(tuple(rbms))


def _hidden_rows(rbm: RBM, rows: Dataset, *, key: PRNGKeyArray) -> Dataset:
    """Return the hidden units of rows as rows of the next RBM."""
    # A one-hot unit has several columns, which cannot be drawn one by one from their means.
    are_bits = is_binary(rbm.hidden) and rbm.hidden.n_units == rbm.hidden.size
    parts = []
    for number, part in enumerate(rows.parts(key=key)):
        key_part = None if are_bits else fold_in(key, number)
        upwards = functools.partial(_upwards, rbm, key_part)
        parts.append(in_parts(upwards, part, rbm.widest))
    hidden = np.concatenate(parts)
    if are_bits:
        return Dataset(hidden, rows.weights, stochastic=True, name="hidden units")
    return Dataset(rbm.hidden.decode(hidden), rows.weights, name="hidden units")


@compiled
def _upwards(rbm: RBM, key: Any, rows: Array, number: int) -> Array:
    """Return the means of the hidden units given rows, or a draw if a key is given."""
    inputs = rbm.inputs_to_h(rbm.visible.encode(rows))
    if key is None:
        return rbm.hidden.mean(inputs)
    return rbm.hidden.sample(inputs, key=jax.random.fold_in(key, number))


@compiled
def _means(rbms: tuple[RBM, ...], rows: Array) -> Float[Array, "n hidden"]:
    states = rbms[0].visible.encode(rows)
    for rbm in rbms:
        states = rbm.mean_h_from_v(states)
    return states


@compiled
def _downwards(rbms: tuple[RBM, ...], rows: Array, *, key: PRNGKeyArray) -> Array:
    """Draw states of the data, layer by layer, below rows of the top RBM."""
    states = rbms[-1].visible.encode(rows)
    for number, rbm in enumerate(reversed(rbms[:-1])):
        states = rbm.sample_v_from_h(states, key=jax.random.fold_in(key, number))
    return states


@compiled
def _log_weights(
    rbms: tuple[RBM, ...], rows: Array, draws: int, *, key: PRNGKeyArray
) -> Float[Array, "n draws"]:
    """Return log p(x, h) − log q(h | x) of draws h of each row, without log Z of the top RBM."""
    states = rbms[0].visible.encode(rows)
    states = jnp.broadcast_to(states[:, None], (len(rows), draws, states.shape[-1]))
    log_weights = jnp.zeros(states.shape[:2], states.dtype)
    for number, rbm in enumerate(rbms[:-1]):
        above = rbm.inputs_to_h(states)
        hidden = rbm.hidden.sample(above, key=jax.random.fold_in(key, number))
        below = rbm.inputs_to_v(hidden)
        # log p(states | hidden) − log q(hidden | states), each x·I − U(x) − Γ(I)
        log_weights += _log_p(rbm.visible, states, below) - _log_p(rbm.hidden, hidden, above)
        states = hidden
    return log_weights - rbms[-1].free_energy(states)


def _log_p(layer: AbstractLayer, x: Array, inputs: Array) -> Array:
    return (x * inputs).sum(-1) - layer.energy(x) - layer.cgf(inputs)
