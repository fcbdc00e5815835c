"""Numerical functions that are more accurate in float32, or faster, than JAX's own functions."""

import math
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.core import Tracer
from jaxtyping import Array, Float, Integer, PRNGKeyArray

from .device import is_cpu

LOG_2PI = 1.8378770664093453


def from_numpy(array: np.ndarray) -> Array:
    """Return a NumPy array as a JAX array in the current precision, sharing memory if possible.

    The type is passed explicitly, because JAX (0.10.1) would otherwise compile a program for each
    new shape, which takes a hundred times as long as the conversion.
    """
    array = in_precision(array)
    return jnp.asarray(array, array.dtype)


def in_precision(array: np.ndarray) -> np.ndarray:
    """Return a NumPy array in JAX's current precision: float64 only if `jax_enable_x64` is set."""
    dtype = jax.dtypes.canonicalize_dtype(array.dtype)
    if array.dtype == dtype:
        return array
    with np.errstate(over="ignore"):  # JAX ignores overflow too; other code checks for it
        return array.astype(dtype)


def scalar(value: Any, dtype: Any) -> Array:
    """Return a JAX scalar of the given type without compiling a program."""
    return from_numpy(np.full((), value, dtype))


def whole_number(value: int) -> Any:
    """Return a whole number in a form that JAX traces, so that one program serves all values."""
    return np.int32(value)


def filled(shape: tuple[int, ...], value: float, like: Array) -> Array:
    """Return an array filled with a value, with the type of `like`, without compiling a program."""
    if isinstance(like, Tracer):
        return jnp.full(shape, value, like.dtype)
    return from_numpy(np.full(shape, value, like.dtype))


def zeros_like(array: Array) -> Array:
    """Return zeros shaped like an array; on a single device, no program is compiled for this."""
    if isinstance(array, Tracer) or len(array.devices()) > 1:
        return jnp.zeros_like(array)
    return filled(array.shape, 0.0, array)


def shapes_of(function: Callable, *arguments: Any, **named: Any) -> Any:
    """Return the shapes and types of a function's results, as `jax.eval_shape` does.

    The function is traced only once for all calls with arrays of the same shapes and types and
    equal other arguments, which reduces the time of a check before every call to a twentieth. The
    function must be long-lived rather than created for each call.
    """
    leaves, structure = jax.tree.flatten((arguments, named))
    rest = tuple(
        None if isinstance(leaf, jax.Array | np.ndarray) else (type(leaf), leaf)  # tells 1 from 1.0
        for leaf in leaves
    )
    arrays = [leaf for leaf, other in zip(leaves, rest, strict=True) if other is None]
    return _traced.eval_shape((function, structure, rest), arrays)


@partial(jax.jit, static_argnums=0)
def _traced(called: Hashable, arrays: list[Array]) -> Any:
    function, structure, rest = called  # pyright: ignore[reportGeneralTypeIssues]
    given = iter(arrays)
    leaves = [next(given) if value is None else value[1] for value in rest]
    arguments, named = jax.tree.unflatten(structure, leaves)
    return function(*arguments, **named)


def product(x: Any, y: Any) -> Any:
    """Return x @ y, multiplied in full float32 precision on every device.

    By default, a GPU would round the mantissas of the factors to ten bits, and a TPU to seven bits.
    """
    with jax.default_matmul_precision("highest"):
        return x @ y


@jax.custom_jvp
def softplus(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return log(1 + e^x), whose derivative is the logistic function.

    The derivative is defined explicitly because JAX would otherwise compute it from the value of
    the function. Every gradient would then need another exponential and logarithm, although the
    logistic function suffices.
    """
    return jax.nn.softplus(x)


softplus.defjvps(lambda dx, _, x: jax.nn.sigmoid(x) * dx)


def log_expm1(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the inverse softplus log(e^x − 1) of x ≥ 0, with 0 replaced by a tiny number."""
    x = jnp.maximum(x, jnp.finfo(x.dtype).tiny)
    return x + jnp.log(-jnp.expm1(-x))


@jax.custom_jvp
def log_2cosh(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return log(2 cosh x) = |x| + log(1 + e^(−2|x|)), whose derivative is tanh x."""
    size = jnp.abs(x)
    return size + jnp.log1p(jnp.exp(-2.0 * size))


log_2cosh.defjvps(lambda dx, _, x: jnp.tanh(x) * dx)


def normals(shape: tuple[int, ...], dtype: Any, *, key: PRNGKeyArray) -> Float[Array, "*shape"]:
    """Draw the same numbers as `jax.random.normal`, but faster if there are few columns.

    XLA's CPU backend vectorises along the last axis only, so numbers in three columns would be
    drawn at a quarter of the speed. On a CPU, the numbers are therefore drawn as a single row, and
    an optimization barrier keeps XLA from drawing them in the final shape.
    """
    if not is_cpu():
        return jax.random.normal(key, shape, dtype)
    row = jax.random.normal(key, (math.prod(shape),), dtype)
    return lax.optimization_barrier(row).reshape(shape)


def computed_once(draws: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return binary draws in a form that keeps XLA's CPU backend from recomputing them.

    The function takes a square root, which leaves 0 and 1 unchanged. That backend computes a root
    only once, but would otherwise repeat cheap arithmetic, including Threefry's sums and shifts, in
    every place that uses the draw. On a GPU, the root would cost an extra kernel, so it is omitted.
    """
    return jnp.sqrt(draws) if is_cpu() else draws


def bernoulli_draws(inputs: Float[Array, "*shape"], *, key: PRNGKeyArray) -> Float[Array, "*shape"]:
    """Draw 1 with probability σ(inputs), else 0, from one uniform number for each input.

    The condition u < 1/(1 + e^(−x)) is tested as u·(1 + e^(−x)) < 1, which needs no division. In
    float32, the uniform numbers are multiples of 2^(−23), so a probability is exact to within
    1.2e−7.
    """
    return bernoulli_states(inputs, jax.random.uniform(key, inputs.shape, inputs.dtype))


def bernoulli_states(inputs: Float[Array, "*shape"], uniforms: Array) -> Float[Array, "*shape"]:
    """Return draws as in `bernoulli_draws`, but from given uniform numbers."""
    return computed_once((uniforms * (1.0 + jnp.exp(-inputs)) < 1.0).astype(inputs.dtype))


def chosen_states(
    logits: Float[Array, " states *shape"], *, key: PRNGKeyArray
) -> Integer[Array, "*shape"]:
    """Draw a state for each column of unnormalised log probabilities, from one uniform number.

    The cumulative distribution is inverted, so a state of probability 0 is never drawn.
    """
    # For 112 sites of 21 states and 500 chains on two cores, this inversion takes 2.8 ms, an
    # exponential race 6.3 ms, and the Gumbel-max method 15 ms.
    odds = jnp.exp(logits - logits.max(0))
    uniforms = jax.random.uniform(key, odds.shape[1:], odds.dtype)
    return lax.platform_dependent(odds, uniforms, cpu=_passed_one_by_one, default=_passed)


def _passed(odds: Float[Array, " states *shape"], uniforms: Array) -> Integer[Array, "*shape"]:
    """Count the states with cumulative odds of at most the uniform number times the total odds."""
    cumulative = jnp.cumsum(odds, axis=0)
    return (cumulative[:-1] <= uniforms * cumulative[-1]).sum(0, dtype=jnp.int32)


def _passed_one_by_one(odds: Array, uniforms: Array) -> Array:
    """Return the same counts as `_passed`, computed in a loop over the states.

    XLA's CPU backend recomputes the whole sum for each entry of a cumulative sum. This loop takes
    half the time for 21 states.
    """
    threshold = uniforms * odds.sum(0)

    def passed(before: tuple[Array, Array], odd: Array) -> tuple[tuple[Array, Array], None]:
        reached, count = before
        reached = reached + odd
        return (reached, count + (reached <= threshold)), None

    nothing = (jnp.zeros_like(threshold), jnp.zeros(threshold.shape, jnp.int32))
    return lax.scan(passed, nothing, odds[:-1])[0][1]


WORDS_AT_ONCE = 16  # draws per row in an iteration of the loop


def chosen_counts(
    logits: Float[Array, "*shape states"], totals: Float[Array, "*rows"], *, key: PRNGKeyArray
) -> Float[Array, "*all states"]:
    """Return multinomial counts, the number of times each state occurs among `totals` draws.

    Each draw inverts the cumulative distribution by bisection, so the work is proportional to the
    largest total times the logarithm of the number of states, and no array needs an entry for each
    pair of a draw and a state.
    """
    shape = jnp.broadcast_shapes(logits.shape[:-1], totals.shape)
    states = logits.shape[-1]
    odds = jnp.exp(logits - logits.max(-1, keepdims=True))
    cumulative = lax.associative_scan(jnp.add, odds, axis=-1)
    cumulative = jnp.broadcast_to(cumulative, (*shape, states)).reshape(-1, states)
    total = jnp.broadcast_to(totals, shape).reshape(-1)
    rows = jnp.arange(total.size)[:, None]
    find = jax.vmap(lambda sums, points: jnp.searchsorted(sums, points, side="right"))

    def counted(i: Array, counts: Array) -> Array:
        fresh = jax.random.uniform(
            jax.random.fold_in(key, i), (total.size, WORDS_AT_ONCE), logits.dtype
        )
        # A uniform number times the total odds may round up to the total odds; then the last state
        # with positive odds is taken.
        below = jnp.nextafter(cumulative[:, -1:], jnp.zeros((), logits.dtype))
        place = find(cumulative, jnp.minimum(fresh * cumulative[:, -1:], below))
        is_meant = i * WORDS_AT_ONCE + jnp.arange(WORDS_AT_ONCE) < total[:, None]
        return counts.at[rows, place].add(is_meant.astype(counts.dtype))

    none = jnp.zeros((total.size, states), logits.dtype)
    turns = jnp.ceil(total.max(initial=0.0) / WORDS_AT_ONCE).astype(jnp.int32)
    return lax.fori_loop(0, turns, counted, none).reshape(*shape, states)


HIGH_RATE = 1e6  # above this rate a normal number suffices, as the skewness is below 0.001


def poissons(rate: Float[Array, "*shape"], *, key: PRNGKeyArray) -> Float[Array, "*shape"]:
    """Draw Poisson numbers with the given means; above 10⁶, approximate them by rounded normals."""
    key_low, key_high = jax.random.split(key)
    words = jax.random.bits(key_low, (2,), jnp.uint32)  # `poisson` needs JAX's own keys
    own = jax.random.wrap_key_data(words, impl="threefry2x32")
    low = jax.random.poisson(own, jnp.minimum(rate, HIGH_RATE), dtype=jnp.int32).astype(rate.dtype)
    noise = normals(rate.shape, rate.dtype, key=key_high)
    return jnp.where(rate > HIGH_RATE, jnp.round(rate + jnp.sqrt(rate) * noise), low)


# ---------------------------------------------------------------- normal numbers above zero

# For t below −FAR, a continued fraction of TERMS terms is accurate to float32 precision.
FAR = 2.0
TERMS = 24
NEWTON_STEPS = 5


def _fractions(far: Array) -> tuple[Array, Array]:
    """Return Laplace's continued fractions 1/(s + b) and b = 2/(s + 3/(s + 4/…)) for s ≥ `FAR`."""
    rest = jnp.zeros_like(far)
    for k in range(TERMS, 2, -1):
        rest = k / (far + rest)
    second = 2.0 / (far + rest)
    return 1.0 / (far + second), second


def _near(t: Array) -> tuple[Array, Array]:
    """Return max(t, −FAR), and P(x > 0) for a normal x with this mean and variance 1."""
    t = jnp.maximum(t, -FAR)
    return t, 0.5 * lax.erfc(-math.sqrt(0.5) * t)


@jax.custom_jvp
def log_half_line(t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return log ∫ exp(t·x − ½x²) dx over x > 0, in nats: the logarithm of Mills' ratio at −t.

    Its first two derivatives are the mean and the variance of a normal number with mean t and
    variance 1, given that the number is positive. For every t, the relative error of this mean is
    below 1e−6, and the relative error of this variance is below 1e−5.
    """
    first, _ = _fractions(jnp.maximum(-t, FAR))
    near, above = _near(t)
    here = 0.5 * near**2 + jnp.log(above) + 0.5 * LOG_2PI
    return jnp.where(t < -FAR, -jnp.log(jnp.maximum(-t, FAR) + first), here)


@jax.custom_jvp
def mean_half_line(t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the mean of a normal number with mean t and variance 1, given that it is positive."""
    first, _ = _fractions(jnp.maximum(-t, FAR))
    near, above = _near(t)
    return jnp.where(t < -FAR, first, near + jnp.exp(-0.5 * (near**2 + LOG_2PI)) / above)


@jax.custom_jvp
def variance_half_line(t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the variance of a normal number with mean t, variance 1, given that it is positive."""
    first, second = _fractions(jnp.maximum(-t, FAR))
    near, _ = _near(t)
    mean = mean_half_line(near)
    return jnp.where(t < -FAR, first * (second - first), 1.0 - mean * (mean - near))


def _skewness_of_half_line(variance: Array, t: Array) -> Array:
    """Return the third derivative of `log_half_line`."""
    mean = mean_half_line(t)
    return mean - variance * (2.0 * mean - t)


log_half_line.defjvps(lambda dt, _, t: mean_half_line(t) * dt)
mean_half_line.defjvps(lambda dt, _, t: variance_half_line(t) * dt)
variance_half_line.defjvps(lambda dt, variance, t: _skewness_of_half_line(variance, t) * dt)


def positive_normals(t: Float[Array, "*shape"], *, key: PRNGKeyArray) -> Float[Array, "*shape"]:
    """Draw normal numbers with mean t and variance 1, given that they are positive.

    The cumulative distribution is inverted in closed form if t > 0, and by Newton's method, applied
    to the logarithm of the tail probability, if t ≤ 0. This logarithm is concave, so iterations
    that start above the root decrease towards the root.
    """
    uniforms = 1.0 - jax.random.uniform(key, t.shape, t.dtype)  # above 0
    above = jnp.maximum(t, 0.0)
    high = above - jax.scipy.special.ndtri(uniforms * _near(above)[1])
    far = jnp.maximum(-t, 0.0)
    log_u = jnp.log(uniforms)
    root = jnp.sqrt(far**2 - 2.0 * log_u)
    low = -2.0 * log_u / jnp.maximum(far + root, jnp.finfo(t.dtype).tiny)
    for _ in range(NEWTON_STEPS):
        gap = far * low + 0.5 * low**2 + log_u + log_half_line(-far) - log_half_line(-far - low)
        slope = far + low + mean_half_line(-far - low)
        low = low - gap / slope
    return jnp.maximum(jnp.where(t > 0, high, low), 0.0)


# ---------------------------------------------------------------- tilted uniform numbers in [0, 1]

NEAR_ZERO = 1.0  # for |t| below this, a power series is used


def _series(t: Array, *coefficients: float) -> Array:
    """Return the series c_0 + c_1·t² + c_2·t⁴ + …, with |t| clipped at `NEAR_ZERO`."""
    square = jnp.minimum(jnp.abs(t), NEAR_ZERO) ** 2
    total = jnp.zeros_like(t)
    for coefficient in reversed(coefficients):
        total = coefficient + square * total
    return total


@jax.custom_jvp
def log_interval(t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return log ∫ exp(t·x) dx over 0 < x < 1 = log [(e^t − 1)/t], in nats.

    Its first two derivatives are the mean and the variance of a number with density ∝ e^(tx) on [0,
    1].
    """
    s = jnp.maximum(jnp.abs(t), NEAR_ZERO)
    far = jnp.maximum(t, 0.0) + jnp.log(-jnp.expm1(-s)) - jnp.log(s)
    near = t / 2 + t**2 * _series(t, 1 / 24, -1 / 2880, 1 / 181440, -1 / 9676800)
    return jnp.where(jnp.abs(t) < NEAR_ZERO, near, far)


@jax.custom_jvp
def mean_interval(t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the mean of the density ∝ e^(tx) on [0, 1]: 1/(1 − e^(−t)) − 1/t."""
    s = jnp.maximum(jnp.abs(t), NEAR_ZERO)
    lower = 1.0 / s - 1.0 / jnp.expm1(s)  # the mean at −s
    far = jnp.where(t < 0, lower, 1.0 - lower)
    near = 0.5 + t * _series(t, 1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160)
    return jnp.where(jnp.abs(t) < NEAR_ZERO, near, far)


@jax.custom_jvp
def variance_interval(t: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """Return the variance of the density ∝ e^(tx) on [0, 1]: 1/t² − 1/(2 sinh(t/2))²."""
    s = jnp.maximum(jnp.abs(t), NEAR_ZERO)
    far = 1.0 / s**2 - jnp.exp(-s) / jnp.expm1(-s) ** 2
    near = _series(t, 1 / 12, -1 / 240, 1 / 6048, -1 / 172800, 1 / 5322240)
    return jnp.where(jnp.abs(t) < NEAR_ZERO, near, far)


def _skewness_of_interval(t: Array) -> Array:
    """Return the third derivative of `log_interval`."""
    s = jnp.maximum(jnp.abs(t), NEAR_ZERO)
    small = jnp.exp(-s)
    far = jnp.sign(t) * (small * (1.0 + small) / (1.0 - small) ** 3 - 2.0 / s**3)
    near = t * _series(t, -1 / 120, 1 / 1512, -1 / 28800, 1 / 665280)
    return jnp.where(jnp.abs(t) < NEAR_ZERO, near, far)


log_interval.defjvps(lambda dt, _, t: mean_interval(t) * dt)
mean_interval.defjvps(lambda dt, _, t: variance_interval(t) * dt)
variance_interval.defjvps(lambda dt, _, t: _skewness_of_interval(t) * dt)


def tilted_uniforms(t: Float[Array, "*shape"], *, key: PRNGKeyArray) -> Float[Array, "*shape"]:
    """Draw from the density ∝ e^(tx) on [0, 1] by inverting the cumulative distribution."""
    s = jnp.maximum(jnp.abs(t), 1e-6)
    uniforms = jax.random.uniform(key, t.shape, t.dtype)
    falling = jnp.minimum(-jnp.log1p(uniforms * jnp.expm1(-s)) / s, 1.0)
    return jnp.where(t < 0, falling, 1.0 - falling)
