"""Intervals of log Z hold on models that were made to mislead, or are not called converged."""

import jax
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from hard_models import FAMILIES, exact_rows
from harmonium.likelihood.partition_function.annealed import Annealed
from registry import ALL, LEVEL, SEEDS

SOME = ["two modes, 3 %", "two modes, 8 %", "needle"]  # of one shape, so that they compile once
CHOSEN = list(FAMILIES) if ALL else SOME
DIALS = np.linspace(0.0, 1.0, 6 if ALL else 3)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("has_rows", [False, True])
def test_a_converged_interval_holds_whatever_the_model(seed, has_rows):
    """95 % of the converged ones, and 99.7 % of those that have not converged, hold log Z."""
    misses = {"converged": 0, "unchecked": 0, "not converged": 0}
    answers = dict(misses)
    for number, family in enumerate(CHOSEN):
        for i, dial in enumerate(DIALS):
            rng = np.random.default_rng([seed, number, i])
            rbm = FAMILIES[family](rng, dial)
            truth = hm.log_z(rbm, method="exact").value
            key = jax.random.key(100 * seed + i)
            if has_rows:
                rows = exact_rows(rbm, 500, rng)
                settings = {"method": "annealed", "seconds": 10.0}
                answer = hm.log_likelihood(rbm, rows, key=key, **settings).log_z
                assert answer.checked
            else:
                answer = Annealed(seconds=10.0).estimate(rbm, key=key)
            answers[answer.convergence] += 1
            misses[answer.convergence] += not answer.low <= truth <= answer.high
    assert answers["converged"] > sum(answers.values()) / 2
    for word, allowed in (("converged", 0.05), ("not converged", 0.003)):
        assert stats.binom.sf(misses[word] - 1, answers[word], allowed) > LEVEL, word


def test_a_mode_that_groups_of_chains_find_by_chance_has_its_share():
    """Reverse runs once started from too little of it, since each group counted alike."""
    rbm = FAMILIES["ferromagnet"](np.random.default_rng(5), 0.3)
    truth = hm.log_z(rbm, method="exact").value
    method = Annealed(seconds=10.0)
    errors = [method.estimate(rbm, key=jax.random.key(i)).value - truth for i in range(24)]
    assert stats.ttest_1samp(errors, 0.0).pvalue > LEVEL
    assert np.std(errors) < 0.05


def test_rows_show_a_mode_of_three_percent_that_no_chain_finds():
    """The upper end reaches what is missed; the answer is narrow enough to have converged."""
    rng = np.random.default_rng(0)
    rbm = FAMILIES["two modes, 3 %"](rng, 1.0)
    truth = hm.log_z(rbm, method="exact").value
    path = hm.path.Heating(rbm.visible, rbm.hidden, rbm)  # its own biases favour the larger mode
    rows = rbm.visible.encode(exact_rows(rbm, 1_000, rng))
    answer = Annealed(paths=[path], starts=rows).estimate(rbm, key=jax.random.key(0))
    assert answer.value < truth - 0.01
    assert answer.low <= truth <= answer.high
    assert answer.high - answer.low < 0.2
