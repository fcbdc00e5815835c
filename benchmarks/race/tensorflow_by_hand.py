"""Hand-written PCD-k in TensorFlow: a tf.while_loop in one tf.function, with or without XLA."""

import tensorflow as tf

RATE = 0.01


def draw(logits, dtype):
    """Draw units of 0 and 1."""
    return tf.cast(tf.random.uniform(tf.shape(logits)) < tf.sigmoid(logits), dtype)


def product(x, y, **turned):
    """Multiply in the type of the operands, and return the result in float32."""
    return tf.cast(tf.matmul(x, y, **turned), tf.float32)


def train(load, xla=False, short=False):
    """Make updates in one graph."""
    dtype = tf.bfloat16 if short else tf.float32
    data = tf.cast(load.data(), dtype)
    n = len(data)
    batch = load.batch
    w = tf.Variable(0.01 * tf.random.normal((load.visible, load.hidden)))
    a = tf.Variable(tf.zeros(load.visible))
    b = tf.Variable(tf.zeros(load.hidden))
    h = tf.Variable(tf.zeros((batch, load.hidden), dtype))

    @tf.function(jit_compile=xla)
    def loop(updates):
        for t in tf.range(updates):
            first = (t * batch) % (n - batch + 1)
            rows = tf.slice(data, (first, 0), (batch, load.visible))
            coarse = tf.cast(w, dtype)
            states = h.read_value()
            for _ in range(load.k):
                v = draw(product(states, coarse, transpose_b=True) + a, dtype)
                inputs = product(v, coarse) + b
                states = draw(inputs, dtype)
            positive = tf.sigmoid(product(rows, coarse) + b)
            negative = tf.sigmoid(inputs)
            gradient = product(rows, tf.cast(positive, dtype), transpose_a=True)
            gradient -= product(v, tf.cast(negative, dtype), transpose_a=True)
            w.assign_add(RATE / batch * gradient)
            change = tf.reduce_sum(tf.cast(rows, tf.float32) - tf.cast(v, tf.float32), 0)
            a.assign_add(RATE / batch * change)
            b.assign_add(RATE / batch * tf.reduce_sum(positive - negative, 0))
            h.assign(states)
        return tf.reduce_sum(a)

    def run(updates):
        loop(tf.constant(updates)).numpy()
        return updates

    return run


def sample(load, xla=False, short=False):
    """Make sweeps of all chains in one graph."""
    dtype = tf.bfloat16 if short else tf.float32
    w, a, b = map(tf.constant, load.model())
    w = tf.cast(w, dtype)
    v = tf.Variable(tf.zeros((load.batch, load.visible), dtype))

    @tf.function(jit_compile=xla)
    def loop(sweeps):
        states = v.read_value()
        for _ in tf.range(sweeps):
            h = draw(product(states, w) + b, dtype)
            states = draw(product(h, w, transpose_b=True) + a, dtype)
        v.assign(states)
        return tf.reduce_sum(states)

    def run(sweeps):
        loop(tf.constant(sweeps)).numpy()
        return sweeps

    return run
