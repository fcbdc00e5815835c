"""
What hidden units read in sequences
===================================

The weights of a hidden unit as a logo: letters above the line switch it on, letters below
switch it off. Sites that change together show up in one unit.
"""

import jax
import numpy as np

import harmonium as hm
from harmonium import plot

LETTERS = "ACGU"
rng = np.random.default_rng(0)
codes = rng.integers(0, 4, (1_000, 16))  # 1,000 sequences of 16 sites
for i in range(6):  # sites 0 and 15, 1 and 14, … pair: A with U, C with G
    paired = rng.random(1_000) < 0.9
    codes[paired, 15 - i] = 3 - codes[paired, i]
loop = rng.random(1_000) < 0.8
codes[loop, 7:9] = [2, 0]  # GA, four times of five

key, key_fit = jax.random.split(jax.random.key(0))
rbm = hm.initialize(hm.Potts(16, states=4), hm.Bernoulli(24), codes, key=key)
fit = hm.fit(rbm, codes, key=key_fit, epochs=200)
weights = np.asarray(fit.rbm.weights).reshape(16, 4, 24)
strongest = np.argsort(-np.linalg.norm(weights, axis=(0, 1)))[:3]
figure = plot.weight_logos(weights, LETTERS, [int(unit) for unit in strongest])
