"""The ceiling of the device: the matrix products of an update alone, in one compiled loop."""

import jax
import jax.numpy as jnp
from ours import device_mib  # noqa: F401 (the worker asks for it)


def train(load, short=False):
    """Make the products of an update: 2k for the chains, one for the data, two for the gradient."""
    dtype = jnp.bfloat16 if short else jnp.float32
    x = jnp.asarray(load.data()[: load.batch], dtype)
    w = 0.01 * jax.random.normal(jax.random.key(0), (load.visible, load.hidden))
    h = jnp.ones((load.batch, load.hidden), dtype)

    def blocks(y):
        # XLA multiplies in bfloat16 only in these forms: see harmonium.transforms.precision.
        if load.batch % 2 == 0:
            return y.reshape(-1, 2, y.shape[-1])
        return y[:, None]

    def dot(x, y, over):
        precision = "default" if short else "highest"  # by default a GPU rounds float32 factors
        return jax.lax.dot_general(
            x, y, (over, ((), ())), precision, preferred_element_type=jnp.float32
        )

    def outer(x, y):
        return dot(blocks(x), blocks(y.astype(dtype)), ((0, 1), (0, 1)))

    def slightly(x, y):
        """Add a tiny part of y to x, so that the next product waits for this one."""
        return x.at[0, 0].add((1e-9 * y[0, 0]).astype(x.dtype))

    @jax.jit
    def loop(updates, w, x, h):
        def products(_, carry):
            w, x, h = carry
            coarse = w.astype(dtype)
            v = x
            for _ in range(load.k):
                v = slightly(v, dot(h, coarse, ((1,), (1,))))
                inputs = dot(v, coarse, ((1,), (0,)))
                h = slightly(h, inputs)
            w = w + 1e-9 * (outer(x, dot(x, coarse, ((1,), (0,)))) - outer(v, inputs))
            return w, x, h

        return jax.lax.fori_loop(0, updates, products, (w, x, h))

    def run(updates):
        jax.block_until_ready(loop(jnp.asarray(updates), w, x, h))
        return updates

    return run
