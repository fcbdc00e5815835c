"""
Modes of the data, and of the draws
===================================

Data and draws on the data's first two principal axes. Clusters that are missing on one side
are modes that the model has not learned, or that its chains do not find.
"""

import jax
import numpy as np
from sklearn.datasets import load_digits

import harmonium as hm
from harmonium import plot

rows = (load_digits().data / 16 > 0.5).astype(np.uint8)  # 8 × 8 pixels, 0 or 1
key, key_fit = jax.random.split(jax.random.key(0))
rbm = hm.initialize(hm.Bernoulli(64), hm.Bernoulli(32), rows, key=key)
fit = hm.fit(rbm, rows, key=key_fit, epochs=200)
draws = hm.sample(fit.rbm, 1_000, key=jax.random.key(1))
figure = plot.pca_plane(draws, rows)
