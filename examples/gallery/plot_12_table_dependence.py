"""
Which columns depend on each other?
===================================

Above the diagonal in the data, below it in draws of the model: a model that has learned how
columns go together gives a symmetric picture.
"""

from pathlib import Path

import jax
import numpy as np

import harmonium as hm
from harmonium import plot

rng = np.random.default_rng(0)
lines = ["rooms,area,city,balcony"]
for _ in range(800):
    rooms = 1 + rng.binomial(4, 0.4)
    area = rng.normal(22 * rooms, 6)
    city = rng.choice(["Ulm", "Graz", "Brno"], p=[0.5, 0.3, 0.2])
    balcony = "yes" if rng.random() < 0.15 * rooms else "no"
    lines.append(f"{rooms},{area:.0f},{city},{balcony}")
Path("flats.csv").write_text("\n".join(lines))

table = hm.open_source("flats.csv")  # what each column means is decided from its cells
key, key_fit = jax.random.split(jax.random.key(0))
rbm = hm.initialize(table.columns.layer, hm.Bernoulli(24), table.train, key=key)
fit = hm.fit(rbm, table.train, key=key_fit, epochs=200)
draws = hm.sample(fit.rbm, 800, key=jax.random.key(1))
figure = plot.dependence(table.columns, draws, table.train)
