"""
A forecast with its intervals
=============================

The model gives the distribution of a value given the twelve values before it. Futures are drawn
step by step, so that their spread grows with the distance. Grey: five of them; the band holds 90 %.
"""

import jax
import matplotlib.pyplot as plt
import numpy as np

import harmonium as hm

rng = np.random.default_rng(0)
noise = rng.normal(size=600)
series = np.zeros(600)
for t in range(2, 600):  # an oscillation whose phase drifts
    series[t] = 1.7 * series[t - 1] - 0.9 * series[t - 2] + 0.2 * noise[t]
series = (series / series.std())[:, None]

past = 12
windows = hm.data.windows(series[:560], past)
key, key_fit = jax.random.split(jax.random.key(0))
layer = hm.Conditional(hm.Gaussian(past + 1), given=range(past))
rbm = hm.initialize(layer, hm.Bernoulli(8), windows, key=key)
fit = hm.fit(rbm, windows, key=key_fit, epochs=300)
futures = hm.forecast(fit.rbm, series[:560], 40, key=key, draws=200)[:, :, 0]

low, high = np.quantile(futures, [0.05, 0.95], axis=0)
steps = np.arange(560, 600)
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
axes.plot(np.arange(500, 600), series[500:, 0], "k", label="the series")
axes.fill_between(steps, low, high, alpha=0.3, label="forecast, 90 %")
axes.plot(steps, futures[:5].T, "grey", lw=0.7)
axes.set(xlabel="row", ylabel="value")
axes.legend(loc="upper left")
