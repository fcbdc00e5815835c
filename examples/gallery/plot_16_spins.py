"""
Couplings of spins, recovered
=============================

Configurations of a ring of 16 spins are drawn at a known inverse temperature. The pair terms
of the model's log p give the coupling back: 0.5 between neighbours, 0 elsewhere.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import harmonium as hm

spins = hm.data.lattice_samples((16,), 0.5, 10_000, sweeps=50, seed=0)
key, key_fit = jax.random.split(jax.random.key(0))
rbm = hm.initialize(hm.Ising(16), hm.Bernoulli(24), spins, key=key)
fit = hm.fit(rbm, spins, key=key_fit, epochs=100)

couplings = hm.effective_couplings(fit.rbm)
J = np.full((16, 16), np.nan)
for (i, j), value in zip(couplings.units, couplings.values[:, 1, 1], strict=True):
    J[i, j] = J[j, i] = value
figure, axis = plt.subplots(figsize=(4.6, 3.8), layout="constrained")
picture = axis.imshow(J, cmap="RdBu_r", vmin=-0.6, vmax=0.6)
axis.set(xlabel="spin", ylabel="spin", title="coupling J; 0.5 between neighbours is right")
figure.colorbar(picture)
