"""
log Z from both sides
=====================

Annealing forward, from independent units to the model, gives a log Z that is too low on
average; backward, from the model, one that is too high. Where both agree, log Z is known.
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
log_z = hm.log_z(fit.rbm, method="annealed", key=jax.random.key(1))
print(log_z)
figure = plot.annealing_runs(
    log_z.forward, log_z.reverse, value=log_z.value, low=log_z.low, high=log_z.high
)
