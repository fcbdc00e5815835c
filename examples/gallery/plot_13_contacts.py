"""
Contacts from sequences
=======================

Pairs of sites whose letters go together, in effective couplings of the model. In a family of
RNA hairpins these are the bases that pair: the stem shows as a line across the diagonal.
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
scores = hm.contact_scores(hm.effective_couplings(fit.rbm))
figure = plot.contact_map(scores, best=6, apart=2)
