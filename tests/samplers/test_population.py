"""Populations of chains."""

import jax
import numpy as np

import harmonium as hm
from harmonium.samplers import population
from registry import random_rbm


def test_populations_are_the_same_where_branches_would_wait_for_the_host(monkeypatch):
    """On a GPU, groups are resampled by a choice at each step and not in a branch."""
    rbm = random_rbm(hm.Bernoulli(6), hm.Bernoulli(4), 0, coupling=2.0)
    states = []
    for waits in (False, True):
        monkeypatch.setattr(population, "waits_at_turns", lambda waits=waits: waits)
        draws = population.annealed_population(rbm, 1, 64, 40, 10, key=jax.random.key(0))
        states.append(np.asarray(draws.v))
    np.testing.assert_array_equal(*states)
