"""
What each mutation would cost
=============================

log p of every single mutant of a sequence, less that of the sequence itself. Inside the stem a
mutation breaks a pair and costs nats; where no base pairs, it costs nothing.
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
changes = hm.analysis.single_changes(fit.rbm, codes[0])
figure = plot.mutation_map(changes, LETTERS, codes[0])
