"""States of another origin, the fractions that they stand for, and the evidence that they give."""

import jax
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.likelihood.partition_function.agreement import (
    AnnealingRuns,
    ReferenceRuns,
    level_of_look,
    tail_of_count,
)
from harmonium.likelihood.partition_function.bridge import bennett, bennett_stderr, sandwich
from harmonium.likelihood.partition_function.reference_states import (
    ReferenceStates,
    covered,
    quenched,
)

RNG = np.random.default_rng(0)
KNOWN = RNG.normal(0.0, 1.0, (512, 8))
FAR = RNG.normal(12.0, 1.0, (8, 8))  # a second mode


def test_the_farthest_states_stand_for_all_of_their_mode():
    rows = np.concatenate([RNG.normal(0.0, 1.0, (792, 8)), FAR])
    states, fractions = ReferenceStates.of_rows(rows).chosen(KNOWN, 64, np.random.default_rng(0))
    assert states.shape == (64, 8)
    is_far = states.mean(1) > 6.0
    assert fractions[is_far].sum() == pytest.approx(8 / 800)
    assert fractions.sum() < 1.0  # the rest are nearer to known states


@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_few_rows_are_enough(count):
    states, fractions = ReferenceStates.of_rows(FAR[:count]).chosen(
        KNOWN, 6, np.random.default_rng(0)
    )
    assert states.shape == (6, 8)
    assert fractions.sum() == pytest.approx(1.0)


def test_weights_of_chains_become_fractions():
    log_weights = np.log([1.0, 3.0, 4.0])
    references = ReferenceStates.of_chains(jax.numpy.eye(3), log_weights)
    np.testing.assert_allclose(references.fractions, [1 / 8, 3 / 8, 4 / 8])
    assert references.log_z == pytest.approx(np.log(8 / 3))
    assert references.effective == pytest.approx(64 / 26)


def test_what_states_of_another_origin_cover():
    same = RNG.normal(0.0, 1.0, (128, 8))
    both = np.concatenate([KNOWN[:384], FAR.repeat(16, axis=0)])
    assert covered(KNOWN, same) > 0.9
    assert covered(both, same) < 0.8
    corners = RNG.integers(0, 2, (512, 3)).astype(float)  # equal states lie at a distance of 0
    assert covered(corners, corners[:64]) == 1.0


def test_quenches_find_the_pattern_of_a_hidden_unit():
    weights = np.zeros((12, 4), np.float32)
    weights[:, 0] = 20.0 * np.where(np.arange(12) % 3, 1, -1)
    rbm = hm.RBM.from_arrays(weights, np.zeros(12), [-150.0, 0, 0, 0])
    states = np.asarray(quenched(rbm, 64, key=jax.random.key(0)))
    assert (states == (weights[:, 0] > 0)).all(1).any()


def runs(fractions, reverse, log_z=None):
    own = AnnealingRuns(RNG.normal(0.0, 0.3, 512), RNG.normal(0.0, 0.3, 512))
    effective = 1_000.0
    references = (
        ReferenceRuns("the rows", np.array(reverse), np.array(fractions), log_z, effective),
    )
    return own._replace(references=references)


def test_the_mass_that_rows_show_is_in_the_upper_end():
    annealed = runs([0.02, 0.3], [-9.0, 0.1])
    estimate = annealed.sandwich(16)
    ((mass, reason),) = annealed.unreached(estimate.value, 0.1)
    upper = stats.chi2.ppf(0.975, 2 * 21) / 2 / 1_000  # of a Poisson mean, from a count of 20
    assert mass == pytest.approx(upper / (1 - upper), rel=0.02)
    assert reason.startswith(
        "a fraction 0.02 of the rows is in regions that hardly any chain reached"
    )
    low, high = annealed.interval(estimate, 0.1)
    assert low == estimate.interval[0]
    assert high == pytest.approx(estimate.interval[1] + np.log1p(mass))


@pytest.mark.parametrize(
    ("fractions", "reverse"),
    [([0.02, 0.3], [0.2, 0.1]), ([0.001, 0.3], [-9.0, 0.1])],
    ids=["they cost no more", "as many as by chance"],
)
def test_what_is_no_evidence(fractions, reverse):
    annealed = runs(fractions, reverse)
    assert annealed.unreached(annealed.sandwich(16).value, 0.1) == []


def test_chains_of_another_base_count_by_their_own_mass():
    annealed = runs([0.5, 0.3], [-90.0, 0.1], log_z=-20.0)
    estimate = annealed.sandwich(16)
    ((mass, _),) = annealed.unreached(estimate.value, 0.1)
    assert mass < 1e-8


def test_more_rounds_of_the_same_chains_do_not_silence_an_alarm():
    runs = AnnealingRuns(np.zeros(512), np.append(np.zeros(480), np.full(32, -3.5)))
    ten_rounds = AnnealingRuns.joined([runs] * 10)
    assert runs.undersampled_fraction(0.0, 0.1) == pytest.approx(1 / 16)
    assert ten_rounds.undersampled_fraction(0.0, 0.1) == pytest.approx(1 / 16)


def test_levels_and_counts():
    assert sum(level_of_look(look) for look in range(1, 60)) <= 0.05
    for count, mean in ((0, 1.0), (1, 0.3), (4, 2.5), (20, 9.0)):
        assert tail_of_count(count, mean) == pytest.approx(stats.poisson.sf(count - 1, mean))


def test_shares_of_reverse_runs_are_their_weights():
    """A run that stands for twice as much counts as two equal ones."""
    forward = RNG.normal(0.1, 0.7, 64)
    reverse = RNG.normal(-0.2, 0.7, 48)
    shares = np.repeat([1.0, 2.0], 24)
    twice = np.concatenate([reverse, reverse[24:]])
    weighted = bennett(forward, reverse, np.log(shares))
    assert weighted == pytest.approx(bennett(np.tile(forward, 3), np.tile(twice, 2)), abs=1e-9)
    equal = np.full(48, 3.0)
    assert bennett(forward, reverse, equal) == pytest.approx(bennett(forward, reverse), abs=1e-9)
    assert bennett_stderr(forward, reverse, equal) == pytest.approx(
        bennett_stderr(forward, reverse), rel=1e-9
    )
    both = sandwich(forward, reverse, 4, equal)
    assert both.half_width == pytest.approx(sandwich(forward, reverse, 4).half_width)
