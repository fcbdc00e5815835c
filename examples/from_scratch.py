"""A restricted Boltzmann machine from scratch: only NumPy, and scikit-learn's digits.

    E(v, h) = −vᵀWh − a·v − b·h,    p(v, h) = e^(−E(v, h)) / Z,    v and h binary

python examples/from_scratch.py --method pcd --k 1 --hidden 16 --epochs 30 --seed 0
"""

import argparse

import numpy as np
from sklearn.datasets import load_digits


def digits():
    """Return 1,797 handwritten digits of 8 × 8 pixels, each pixel 0 or 1."""
    return (load_digits().data / 16 > 0.5).astype(float)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def draw(probability, rng):
    return (rng.random(probability.shape) < probability).astype(float)


def free_energy(v, W, a, b):
    """Return F(v) = −log Σ_h e^(−E(v, h)) = −a·v − Σ_j log(1 + e^((vW + b)_j))."""
    return -v @ a - np.logaddexp(0, v @ W + b).sum(axis=-1)


def log_z(W, a, b):
    """Return log Z = log Σ_h e^(−F(h)), summed over all 2^hidden states; F(h) has v summed out."""
    every_h = np.arange(2 ** len(b))[:, None] >> np.arange(len(b)) & 1
    return np.logaddexp.reduce(-free_energy(every_h, W.T, b, a))


def log_likelihood(data, W, a, b):
    """Return the mean of log p(v) = −F(v) − log Z over the rows, in nats."""
    return -free_energy(data, W, a, b).mean() - log_z(W, a, b)


def train(data, hidden, *, method, k, epochs, batch, rate, seed, chains=None, score=log_likelihood):
    """Maximise log p by CD-k, or PCD-k with `chains` chains; return (W, a, b, learning curve)."""
    rng = np.random.default_rng(seed)
    p = (data.sum(axis=0) + 0.5) / (len(data) + 1)
    W, a, b = 0.01 * rng.standard_normal((len(p), hidden)), np.log(p / (1 - p)), np.zeros(hidden)
    v_model = draw(np.tile(p, (chains or batch, 1)), rng)
    curve = [score(data, W, a, b)]
    for _ in range(epochs):
        for rows in np.split(rng.permutation(len(data)), range(batch, len(data), batch)):
            v = data[rows]
            v_model = v if method == "cd" else v_model  # CD restarts at the data, PCD continues
            for _ in range(k):
                h_model = draw(sigmoid(v_model @ W + b), rng)
                v_model = draw(sigmoid(h_model @ W.T + a), rng)
            mean_h, mean_h_model = sigmoid(v @ W + b), sigmoid(v_model @ W + b)  # analytic average
            W += rate * (v.T @ mean_h / len(v) - v_model.T @ mean_h_model / len(v_model))
            a += rate * (v.mean(axis=0) - v_model.mean(axis=0))
            b += rate * (mean_h.mean(axis=0) - mean_h_model.mean(axis=0))
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
