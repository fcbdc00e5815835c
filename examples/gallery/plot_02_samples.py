"""
Draws beside data
=================

Chains start from the model without its weights and run for a thousand sweeps. A good model
draws digits that one could take for real ones, and all ten kinds of them.
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
draws = hm.sample(fit.rbm, 64, key=jax.random.key(1))
figure = plot.samples_beside_data(draws, rows, image_shape=(8, 8))
