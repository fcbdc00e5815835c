"""
A penalty that sets weights to zero
===================================

An L1 penalty is applied as a proximal step, so that weights become exactly 0 and not merely
small. Most pixels then have nothing to do with most hidden units.
"""

import jax
import numpy as np
from sklearn.datasets import load_digits

import harmonium as hm
from harmonium import plot

rows = (load_digits().data / 16 > 0.5).astype(np.uint8)  # 8 × 8 pixels, 0 or 1
key, key_fit = jax.random.split(jax.random.key(0))
rbm = hm.initialize(hm.Bernoulli(64), hm.Bernoulli(32), rows, key=key)
recipe = hm.Recipe(penalties=(hm.L1(5e-4),))
fit = hm.fit(rbm, rows, key=key_fit, epochs=200, optimizer=recipe)
print(f"{(np.asarray(fit.rbm.weights) == 0).mean():.0%} of the weights are 0")
figure = plot.weight_histogram(fit.rbm)
