"""The README's picture: digits that a model has not seen, its own samples, and log p of each.

    python benchmarks/first_picture.py docs/pictures/digits.png

500 hidden units learn MNIST from 60,000 rows by 18,000 default updates; pixels are drawn from their
grey levels. Needs the reference data, in the folder that HARMONIUM_DATA names.
"""

import sys

import jax
import matplotlib.pyplot as plt
import numpy as np
from reference_data import binarised_mnist, grey_mnist
from reporting import signed

import harmonium as hm

HIDDEN = 500
UPDATES = 18_000
SHOWN = 9
SEED = 0


def main(picture: str) -> None:
    grey, _ = grey_mnist()
    test = binarised_mnist("test")
    keys = jax.random.split(jax.random.key(SEED), 4)
    train = hm.Dataset(grey, scale=255, stochastic=True)
    rbm = hm.initialize(hm.Bernoulli(784), hm.Bernoulli(HIDDEN), train, key=keys[0])
    fit = hm.fit(rbm, train, key=keys[1], epochs=UPDATES // 300)
    score = hm.log_likelihood(fit.rbm, test, key=keys[2])
    print(score)
    rng = np.random.default_rng(SEED)
    unseen = test[rng.choice(len(test), SHOWN, replace=False)]
    drawn = hm.sample(fit.rbm, SHOWN, key=keys[3], steps=4_000)
    titles = ("digits that it has not seen", "digits that it draws")
    figure, axes = plt.subplots(2, SHOWN, figsize=(SHOWN * 1.0, 2.7), layout="constrained")
    for line, rows, title in zip(axes, (unseen, drawn), titles, strict=True):
        log_p = -hm.free_energies(fit.rbm, rows) - score.log_z.value
        for axis, row, value in zip(line, rows, log_p, strict=True):
            axis.imshow(row.reshape(28, 28), cmap="gray_r", interpolation="nearest")
            axis.set(xticks=[], yticks=[])
            axis.set_xlabel(signed(value, 0), fontsize=9)
            axis.spines[:].set_color("0.8")
        line[0].set_title(title, loc="left", fontsize=10)
    figure.savefig(picture, dpi=150)


if __name__ == "__main__":
    main(sys.argv[1])
