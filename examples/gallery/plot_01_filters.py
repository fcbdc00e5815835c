"""
What hidden units look for
==========================

Each hidden unit has one weight to every pixel. Drawn as a picture, they are its *filter*: the
unit is on where the row agrees with it. Red adds, blue takes away.
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
figure = plot.filters(fit.rbm, image_shape=(8, 8), count=32)
