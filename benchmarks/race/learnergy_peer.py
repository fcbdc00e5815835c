"""learnergy 2 (PyTorch): CD-k, the only method of its `fit`, which also measures each batch."""

import logging
import math

import torch
from learnergy.models.bernoulli import RBM
from workloads import repeated

logging.disable(logging.CRITICAL)


def train(load):
    """Make updates by `fit`."""
    x = torch.from_numpy(load.data())
    data = torch.utils.data.TensorDataset(x, torch.zeros(len(x)))
    model = RBM(load.visible, load.hidden, steps=load.k, learning_rate=0.01)
    per_epoch = math.ceil(len(x) / load.batch)

    def run(updates):
        epochs = math.ceil(updates / per_epoch)
        model.fit(data, batch_size=load.batch, epochs=epochs)
        return epochs * per_epoch

    return run


def transform(load):
    """Return the means of the hidden units given rows."""
    model = RBM(load.visible, load.hidden)
    x = torch.from_numpy(load.data()[: load.batch])
    means = torch.no_grad()(model)
    return repeated(lambda: means(x), len(x))
