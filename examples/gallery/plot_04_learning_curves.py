"""
A run, watched
==============

What a run measures on its way is in ``fit.history``, a record each. With ``validation=`` rows
the curves show when a model begins to overfit: the free energies of both sets part.
"""

import jax
import numpy as np
from sklearn.datasets import load_digits

import harmonium as hm
from harmonium import plot

rows = (load_digits().data / 16 > 0.5).astype(np.uint8)  # 8 × 8 pixels, 0 or 1
key, key_fit = jax.random.split(jax.random.key(0))
rbm = hm.initialize(hm.Bernoulli(64), hm.Bernoulli(32), rows[:1_500], key=key)
fit = hm.fit(rbm, rows[:1_500], validation=rows[1_500:], key=key_fit, epochs=300)
figure = plot.learning_curves(fit.history)
