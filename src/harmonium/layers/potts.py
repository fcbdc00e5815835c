"""Units that take one of q states."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .._base.checks import positive_integer
from .._base.numerics import chosen_states, product
from ..errors import InputError
from .arrays import Columns, Proposals, Rows, RowWeights, Units, digits, parameter, weighted_mean
from .coding import EqualCodes
from .discrete import AbstractOneHot
from .registry import register_layer


@register_layer("potts", rows="codes")
class Potts(AbstractOneHot):
    """Sites that take one of q states each, represented by one-hot vectors.

    With U, Γ and the inputs I as in `AbstractLayer`,

        U(x) = −b·x,      Γ(I) = Σ_i log Σ_a e^(I_ia + b_ia)

    over the sites i and states a.

    Rows in the user's coding have one column for each site, with integer codes 0 … q − 1. In a
    state, a site has q columns, one of which is 1 (one-hot). Therefore `size`, the number of
    columns of a state, is sites · states.

    Attributes:
        sites: number of sites, which are the units.
        states_per_site: q, the number of states, at least 2, from the argument `states`.
        bias: b, shape (sites · states,), in nats.

    Example:
        >>> layer = hm.Potts(2, states=4)
        >>> layer.n_units, layer.size, layer.n_states
        (2, 8, 16)
        >>> layer.encode(np.array([[0, 2]])).tolist()
        [[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0]]
        >>> layer.mean(layer.zero_inputs)[:4].tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    sites: int = eqx.field(static=True)
    states_per_site: int = eqx.field(static=True)
    bias: Float[Array, "*models columns"]

    def __init__(self, sites: int, states: int, bias: Any = None):
        self.sites = positive_integer(sites, "Potts sites")
        self.states_per_site = positive_integer(states, "Potts states")
        if states < 2:
            raise InputError(f"Potts states: expected at least 2; got {states}.")
        self.bias = parameter(bias, (sites * states,), "Potts bias")

    @classmethod
    def from_fields(cls, **fields: Any) -> "Potts":
        return cls(fields["sites"], fields["states_per_site"], fields["bias"])

    def __str__(self) -> str:
        return f"Potts({self.sites}, states={self.states_per_site})"

    @property
    def coding(self) -> EqualCodes:
        """The coding: in rows, a site has a code from 0 to q − 1; states are one-hot vectors."""
        return EqualCodes((self.states_per_site,) * self.sites, "a Potts site")

    def unit_cgfs(self, inputs: Columns) -> Units:
        """Return log Σ_a e^(I_ia + b_ia)."""
        return jax.nn.logsumexp(self.coding.by_unit(inputs + self.bias), axis=-1)

    def mean(self, inputs: Columns) -> Columns:
        """Return each state's probability, the softmax over a site's states."""
        logits = inputs + self.bias
        return jax.nn.softmax(self.coding.by_unit(logits), axis=-1).reshape(logits.shape)

    def variance(self, inputs: Columns) -> Columns:
        """Return p(1 − p) for each column, where 1 − p is a sum over the site's other states."""
        probability = self.coding.by_unit(self.mean(inputs))
        others = product(probability, 1.0 - jnp.eye(self.states_per_site, dtype=probability.dtype))
        return (probability * others).reshape(inputs.shape)

    def sample(self, inputs: Columns, *, key: PRNGKeyArray) -> Columns:
        """Draw each site's state by inverting its cumulative distribution function."""
        logits = inputs + self.bias
        by_state = jnp.moveaxis(self.coding.by_unit(logits), -1, 0)
        chosen = chosen_states(by_state, key=key)
        one_hot = jax.nn.one_hot(chosen, self.states_per_site, dtype=logits.dtype)
        return one_hot.reshape(logits.shape)

    def states(self, indices: Integer[Array, "*batch"]) -> Columns:
        """Return the joint states; the codes are digits in base q, the least significant first."""
        return self.encode(digits(indices, self.states_per_site, self.sites, jnp.int32))

    def proposals(self, x: Columns) -> Proposals:
        """Return the proposals that move one site to one of its q − 1 other states."""
        by_site = self.coding.by_unit(x)
        others = range(1, self.states_per_site)
        changes = [jnp.roll(by_site, r, axis=-1) - by_site for r in others]
        columns = np.arange(self.size).reshape(self.sites, self.states_per_site)
        return np.tile(columns, (len(others), 1)), jnp.concatenate(changes, axis=-2)

    def fit_moments(self, x: Rows, weights: RowWeights = None) -> "Potts":
        """Set b = log p with p = (n m + 1/q) / (n + 1), then subtract each site's mean bias.

        Here m is the mean of the n rows.
        """
        mean, n = weighted_mean(x, weights)
        logs = self.coding.by_unit(jnp.log((n * mean + 1.0 / self.states_per_site) / (n + 1.0)))
        bias = (logs - logs.mean(-1, keepdims=True)).reshape(-1)
        return Potts(self.sites, self.states_per_site, bias)
