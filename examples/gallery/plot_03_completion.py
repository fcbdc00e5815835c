"""
The lower half from the upper half
==================================

Held pixels stay as they are, and the chains draw the others: NaN marks what is to be drawn. On
the left are nine digits that the model has not seen, on the right one way to complete the
upper half of each.
"""

import jax
import numpy as np
from sklearn.datasets import load_digits

import harmonium as hm
from harmonium import plot

rows = (load_digits().data / 16 > 0.5).astype(np.uint8)  # 8 × 8 pixels, 0 or 1
key, key_fit = jax.random.split(jax.random.key(0))
rbm = hm.initialize(hm.Bernoulli(64), hm.Bernoulli(64), rows[:1_600], key=key)
fit = hm.fit(rbm, rows[:1_600], key=key_fit, epochs=200)

unseen = rows[1_700:1_709].astype(float)
given = unseen.copy()
given[:, 32:] = np.nan
completed = hm.sample(fit.rbm, given=given, key=jax.random.key(1))
figure = plot.samples_beside_data(completed, unseen, image_shape=(8, 8), count=9)
