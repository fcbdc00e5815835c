"""Pairs of layers for the tests of the Keras interface."""

import harmonium as hm

PAIRS = {
    "bernoulli-bernoulli": (hm.Bernoulli(6), hm.Bernoulli(4)),
    "ising-ising": (hm.Ising(5), hm.Ising(4)),
    "gaussian-bernoulli": (hm.Gaussian(4), hm.Bernoulli(5)),
    "bernoulli-gaussian": (hm.Bernoulli(5), hm.Gaussian(3)),
    "potts-ising": (hm.Potts(3, states=3), hm.Ising(4)),
    "bernoulli-potts": (hm.Bernoulli(5), hm.Potts(2, states=3)),
}
