"""
Free energies tell digits from nonsense
=======================================

The free energy F(v) is −log p(v) up to a constant. Unseen digits have about that of the digits
learned from; the same digits with shuffled pixels lie far away.
"""

import jax
import numpy as np
from sklearn.datasets import load_digits

import harmonium as hm
from harmonium import plot

rows = (load_digits().data / 16 > 0.5).astype(np.uint8)  # 8 × 8 pixels, 0 or 1
key, key_fit = jax.random.split(jax.random.key(0))
rbm = hm.initialize(hm.Bernoulli(64), hm.Bernoulli(32), rows[:1_500], key=key)
fit = hm.fit(rbm, rows[:1_500], key=key_fit, epochs=200)

unseen = rows[1_500:]
shuffled = np.random.default_rng(0).permuted(unseen, axis=1)
print("mean of shuffled digits:", hm.free_energies(fit.rbm, shuffled).mean().round(1))
draws = hm.sample(fit.rbm, 300, key=jax.random.key(1))
figure = plot.energies(hm.free_energies(fit.rbm, unseen), hm.free_energies(fit.rbm, draws))
