"""
Do draws have the statistics of the data?
=========================================

Each point is a pixel, or a pair of pixels: its mean, or covariance, in draws of the model
against that in the data. A model that has learned both has all points on the diagonal.
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
figure = plot.means(draws, rows)
