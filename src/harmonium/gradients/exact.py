"""The exact gradient: averages over the model are computed as sums over all states."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PRNGKeyArray

from ..errors import InputError
from ..likelihood.partition_function.enumerated import (
    chunk_of_states,
    chunk_plan,
    enumerable,
    partial_log_z,
)
from ..rbm import RBM
from ..samplers import Cloud
from .base import About, AbstractGradient, Estimate, mean_free_energy, phase_info

LARGEST_LOG2_STATES = 24  # for 24 binary units, 4·10⁸ multiplications per unit of the other layer


class Exact(AbstractGradient):
    """The exact likelihood gradient, by enumeration of the smaller discrete layer.

    The sum over states x, weighted by p(x) = e^(−F(x))/Z, is computed in chunks, so memory use is
    bounded for any number of states. The reported gap is the mean of −log p(v) over the batch.

    Example:
        >>> rbm = hm.RBM.from_arrays([[1.0, -1.0], [0.5, 2.0]], [0.0, 0.0], [0.0, 0.0])
        >>> method, key = hm.Exact(), jax.random.key(0)
        >>> batch = hm.samplers.Cloud.uniform(jnp.array([[1.0, 1.0]]))
        >>> grads, _, info = method.estimate(rbm, batch, method.init(rbm, batch, key=key), key=key)
        >>> round(float(info.gap), 3), round(-hm.log_likelihood(rbm, [[1, 1]]).value, 3)
        (0.931, 0.931)
    """

    @property
    def about(self) -> About:
        return About("exact gradient", is_exact=True)

    def init(self, rbm: RBM, batch: Cloud, *, key: PRNGKeyArray) -> tuple[()]:
        """Check that the states of a layer can be enumerated, and return an empty state."""
        summed = enumerable(rbm)
        if summed is None or (summed.visible.n_states or 0) > 2**LARGEST_LOG2_STATES:
            raise InputError(
                "Exact learning: expected an RBM with a discrete layer of at most"
                f" 2^{LARGEST_LOG2_STATES} joint states; got {rbm}; choose pcd or a smaller layer."
            )
        return ()

    def estimate(self, rbm: RBM, batch: Cloud, state: tuple[()], *, key: PRNGKeyArray) -> Estimate:
        data_energy, data_grads = eqx.filter_value_and_grad(mean_free_energy)(rbm, batch)
        log_z, model_grads = _model_term(rbm)
        grads = jax.tree.map(jnp.subtract, data_grads, model_grads)
        return grads, state, phase_info(rbm, batch, data_energy + log_z)


def _model_term(rbm: RBM) -> tuple[Array, RBM]:
    """Return log Z and the model's expectation ⟨∂F/∂θ⟩."""
    summed = enumerable(rbm)
    if summed is None:
        raise InputError(
            f"Exact learning: expected an RBM with a discrete layer; got {rbm}; choose pcd."
        )
    rows, chunks = chunk_plan(summed)
    log_z = jax.nn.logsumexp(partial_log_z(summed, rows, 0, chunks))
    is_transposed = summed.visible is not rbm.visible

    def add_chunk(chunk: Array, total: RBM) -> RBM:
        states, log_odds = chunk_of_states(summed, chunk, rows)
        cloud = Cloud(states, jnp.exp(log_odds - log_z))

        def energy(model: RBM) -> Array:
            if is_transposed:
                model = model.T
            return mean_free_energy(model, cloud)

        return jax.tree.map(jnp.add, total, eqx.filter_grad(energy)(rbm))

    zero = jax.tree.map(jnp.zeros_like, rbm)
    if chunks == 1:
        return log_z, add_chunk(jnp.zeros((), jnp.uint32), zero)
    return log_z, jax.lax.fori_loop(0, chunks, add_chunk, zero)
