"""
How many sweeps until a chain has forgotten?
============================================

The autocorrelation of each observable of a chain falls with the number of sweeps between two
looks. The slowest one sets the relaxation time, and so how far apart independent draws are.
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
mixing = hm.mixing(fit.rbm, key=jax.random.key(1), starts=rows, seconds=5)
print(f"relaxation time {mixing.relaxation:.0f} sweeps, slowest: {mixing.slowest}")
names = list(mixing.observables)[:5]
curves = [mixing.observables[name].autocorrelation for name in names]
figure = plot.autocorrelations(curves, names=names, sweeps=mixing.lags)
