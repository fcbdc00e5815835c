"""A restricted Boltzmann machine on plain TensorFlow, with a gradient tape and a compiled update.

    E(v, h) = −vᵀWh − a·v − b·h,    p(v, h) = e^(−E(v, h)) / Z,    v and h binary

from_scratch.py writes the gradient out; here tf.GradientTape differentiates the free-energy gap
between data and model samples, ⟨F⟩_data − ⟨F⟩_model, in which h is summed out analytically.

python examples/from_scratch_tensorflow.py --method pcd --k 1 --hidden 16 --epochs 30 --seed 0
"""

import argparse

import tensorflow as tf
from sklearn.datasets import load_digits


def digits():
    """Return 1,797 handwritten digits of 8 × 8 pixels, each pixel 0 or 1."""
    return tf.cast(load_digits().data / 16 > 0.5, tf.float32)


def draw(probability, rng):
    return tf.cast(rng.uniform(tf.shape(probability)) < probability, tf.float32)


def free_energy(v, W, a, b):
    """Return F(v) = −log Σ_h e^(−E(v, h)) = −a·v − Σ_j log(1 + e^((vW + b)_j))."""
    return -tf.linalg.matvec(v, a) - tf.reduce_sum(tf.nn.softplus(v @ W + b), axis=-1)


def log_z(W, a, b):
    """Return log Z = log Σ_h e^(−F(h)), summed over all 2^hidden states; F(h) has v summed out."""
    unit = tf.range(b.shape[0])
    every_h = tf.bitwise.right_shift(tf.range(2 ** b.shape[0])[:, None], unit) & 1
    return tf.reduce_logsumexp(-free_energy(tf.cast(every_h, tf.float32), tf.transpose(W), b, a))


def log_likelihood(data, W, a, b):
    """Return the mean of log p(v) = −F(v) − log Z over the rows, in nats."""
    return float(-tf.reduce_mean(free_energy(data, W, a, b)) - log_z(W, a, b))


def gradient_of_gap(v, v_model, model):
    """Return the gradient of ⟨F⟩ over v minus ⟨F⟩ over v_model; both sets of rows are constants."""
    with tf.GradientTape() as tape:
        gap = tf.reduce_mean(free_energy(v, *model))
        gap -= tf.reduce_mean(free_energy(v_model, *model))
    return tape.gradient(gap, model)


def train(data, hidden, *, method, k, epochs, batch, rate, seed, chains=None, score=log_likelihood):
    """Maximise log p by CD-k, or PCD-k with `chains` chains; return (W, a, b, learning curve)."""
    rng = tf.random.Generator.from_seed(seed)
    p = (tf.reduce_sum(data, axis=0) + 0.5) / (len(data) + 1)
    start = 0.01 * rng.normal((len(p), hidden)), tf.math.log(p / (1 - p)), tf.zeros(hidden)
    W, a, b = model = [tf.Variable(values) for values in start]
    rows = tf.data.Dataset.from_tensor_slices(data).shuffle(len(data), seed=seed).batch(batch)

    @tf.function(reduce_retracing=True)  # Python runs once, to trace the graph
    def update(v, v_model):
        for _ in range(k):
            h_model = draw(tf.sigmoid(v_model @ W + b), rng)
            v_model = draw(tf.sigmoid(h_model @ tf.transpose(W) + a), rng)
        gradient = gradient_of_gap(v, v_model, model)
        for variable, slope in zip(model, gradient, strict=True):
            variable.assign_sub(rate * slope)  # a descent of the gap is an ascent of log p
        return v_model

    v_model = draw(tf.repeat(p[None], chains or batch, axis=0), rng)
    curve = [score(data, W, a, b)]
    for _ in range(epochs):
        for v in rows:
            v_model = update(v, v if method == "cd" else v_model)  # CD from data, PCD continues
        curve.append(score(data, W, a, b))
    return W, a, b, curve


def main():
    parser = argparse.ArgumentParser(description="Train a restricted Boltzmann machine on digits.")
    parser.add_argument("--method", choices=["cd", "pcd"], default="pcd")
    for name, value in {"k": 1, "hidden": 16, "epochs": 30, "batch": 20, "seed": 0}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=0.05)
    *_, curve = train(digits(), **vars(parser.parse_args()))
    print("epoch  exact log-likelihood per row, nats")
    for epoch, value in enumerate(curve):
        print(f"{epoch:5}  {value:.3f}")


if __name__ == "__main__":
    main()
