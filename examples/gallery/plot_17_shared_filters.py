"""
Filters that all positions share
================================

Eight filters of 3 × 3 pixels, each used at all 36 positions of an 8 × 8 digit: 72 weights, where 32
hidden units of their own would have 2,048. They find edges, wherever these are.
"""

import jax
import numpy as np
from sklearn.datasets import load_digits

import harmonium as hm
from harmonium import plot

rows = (load_digits().data / 16 > 0.5).astype(np.uint8)  # 8 × 8 pixels, 0 or 1
like = hm.weights.ConvolutionalWeights(np.zeros((8, 3, 3)), (8, 8))
key, key_fit = jax.random.split(jax.random.key(0))
rbm = hm.initialize(hm.Bernoulli(64), hm.Bernoulli(like.shape[1]), rows, key=key, pattern=like)
fit = hm.fit(rbm, rows, key=key_fit, epochs=200)
figure = plot.filters(fit.rbm)
