"""scikit-learn's BernoulliRBM: PCD-1 with as many chains as a batch has rows."""

import numpy as np
from sklearn.neural_network import BernoulliRBM
from workloads import CannotError, repeated


def model_of(load):
    return BernoulliRBM(load.hidden, learning_rate=0.01, batch_size=load.batch, random_state=0)


def train(load):
    """Make updates as `fit` does, without the new weights that `fit` draws in each call."""
    if load.k > 1:
        raise CannotError("k is always 1")
    x = load.data()
    model = model_of(load)
    rng = np.random.RandomState(0)
    model.n_iter = 1
    model.fit(x)

    def run(updates):
        for t in range(updates):
            first = t * load.batch % len(x)
            model._fit(x[first : first + load.batch], rng)
        return updates

    return run


def fitted(load):
    model = model_of(load)
    w, a, b = load.model()
    model.components_ = w.T.copy()
    model.intercept_visible_ = a
    model.intercept_hidden_ = b
    model.random_state_ = np.random.RandomState(0)
    model.n_features_in_ = load.visible
    return model


def sample(load):
    """Make sweeps by `gibbs`."""
    model = fitted(load)
    x = load.data()
    v = np.repeat(x, -(-load.batch // len(x)), 0)[: load.batch]
    chains = {"v": v}

    def run(sweeps):
        for _ in range(sweeps):
            chains["v"] = model.gibbs(chains["v"]).astype(np.float32)
        return sweeps

    return run


def transform(load):
    """Return the means of the hidden units given rows."""
    model = fitted(load)
    x = load.data()[: load.batch]
    return repeated(lambda: model.transform(x), len(x))
