"""Sample quality: perfect samplers pass, imperfect ones are detected, ties are unbiased."""

import numpy as np
import pytest
from scipy import stats
from scipy.spatial.distance import cdist

import harmonium as hm
from harmonium.evaluation.base import FEWEST_ROWS
from harmonium.evaluation.quality import _energies, _halves

LEVEL = 1e-4 / 2  # family-wise, for each of the two statistics that test perfect samplers
ALARMS = 0.01  # the accepted share of perfect samplers that some score calls imperfect
CENTRES = np.random.default_rng(7).random((3, 12))
FINE = "as other rows of data"


def bits(rng, n):
    """Draw rows of a mixture of three product distributions, whose columns are dependent."""
    return (rng.random((n, 12)) < CENTRES[rng.integers(0, 3, n)]).astype(np.uint8)


def reals(rng, n):
    return rng.normal(size=(n, 1)) * [3.0, 2.0, 1.0] + rng.normal(size=(n, 3))


def codes(rng, n):
    site = rng.integers(0, 4, n)
    return np.stack([(site + (rng.random(n) < 0.2)) % 4 for _ in range(4)], axis=1)


def independent(rng, rows):
    """Shuffle each column separately, which keeps the means and removes correlations."""
    return np.stack([rng.permutation(column) for column in rows.T], axis=1)


DRAWS = [(bits, None), (reals, None), (codes, 4), (codes, [4, 4, 1, 1])]


@pytest.mark.parametrize(("draw", "states"), DRAWS)
def test_a_perfect_sampler_is_called_perfect(draw, states):
    """Over ten seeds z is 0 on average, with a deviation of about 1 at most; alarms are rare."""
    tables = []
    for seed in range(10):
        rng = np.random.default_rng(1000 + seed)
        parts = [draw(rng, n) for n in (150, 320, 100)]
        tables.append(
            hm.sample_quality(*parts[:2], held_out=parts[2], states=states, seed=seed).scores
        )
    z = np.array([[score.z for score in table] for table in tables])
    assert z.shape == (10, 9)
    bound = stats.norm.isf(LEVEL / (2 * z.shape[1]))
    assert np.abs(z.mean(0)).max() * np.sqrt(10) < bound
    alarms = sum(any(score.judgement != FINE for score in table) for table in tables)
    assert alarms <= stats.binom.isf(LEVEL, 10, ALARMS)


@pytest.mark.parametrize(("draw", "states"), DRAWS)
def test_independent_columns_are_detected(draw, states):
    rng = np.random.default_rng(1)
    n = 1_000 if draw is bits else 400  # bits depend least on each other
    data = draw(rng, 2 * n)
    others = draw(rng, n)
    quality = hm.sample_quality(independent(rng, others), data, states=states)
    assert quality.means.judgement == FINE
    for score in (quality.covariances, quality.aats, quality.energy):
        assert score.z > 3.0, score
    assert quality.covariances.judgement == "worse than other rows of data"
    assert quality.aats.value > 0.55
    assert quality.aats.judgement == "distinguishable from data"


def test_copies_are_detected():
    rng = np.random.default_rng(2)
    data = reals(rng, 600)
    held_out = reals(rng, 300)
    quality = hm.sample_quality(data, data, held_out=held_out)
    assert quality.aats.value < 0.35
    assert quality.aats.judgement == "too near to data: copies?"
    assert quality.privacy_loss.value > 0.15
    assert quality.privacy_loss.judgement == "nearer to data than to held-out rows"
    honest = hm.sample_quality(reals(rng, 300), data, held_out=held_out)
    assert honest.privacy_loss.judgement == FINE


def test_a_lost_mode_is_detected():
    rng = np.random.default_rng(3)
    modes = rng.normal(size=(2, 5)) * 4
    data = modes[rng.integers(0, 2, 600)] + rng.normal(size=(600, 5))
    quality = hm.sample_quality(modes[0] + rng.normal(size=(300, 5)), data)
    assert quality.aa_truth.value > 0.6
    assert quality.aa_truth.judgement == "data nearer to data than to samples"
    for score in (quality.means, quality.spectrum, quality.energy):
        assert score.judgement == "worse than other rows of data"


@pytest.mark.parametrize("columns", [1, 2, 6])
@pytest.mark.parametrize("k", [2, 5, 12])
def test_ties_bias_neither_half(columns, k):
    """With many equal rows both halves of the score are 0.5 on average: one t test each."""
    rng = np.random.default_rng(4)
    halves = []
    for _ in range(2_000):
        rows = (rng.random((2 * k, columns)) < 0.3).astype(float)
        squares = cdist(rows, rows, "sqeuclidean")
        halves.append(_halves(squares, np.arange(k), np.arange(k, 2 * k)))
    halves = np.array(halves)
    deviation = (halves.mean(0) - 0.5) / (halves.std(0) / np.sqrt(len(halves)) + 1e-12)
    assert np.abs(deviation).max() < stats.norm.isf(1e-4 / (2 * 2 * 9))


def test_halves_are_the_shares_of_nearest_rows():
    rng = np.random.default_rng(5)
    rows = rng.integers(0, 3, (14, 2))
    squares = cdist(rows, rows, "sqeuclidean")
    expected = []
    for own, other in ((range(7), range(7, 14)), (range(7, 14), range(7))):
        shares = []
        for place, row in enumerate(own):
            ours = [squares[row, j] for i, j in enumerate(own) if i != place]
            theirs = [squares[row, j] for i, j in enumerate(other) if i != place]
            least = min(ours + theirs)
            shares.append(ours.count(least) / (ours + theirs).count(least))
        expected.append(np.mean(shares))
    np.testing.assert_allclose(_halves(squares, np.arange(7), np.arange(7, 14)), expected)


def test_energy_distance_is_the_u_statistic():
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(18, 3))
    s = rows[:6]
    a = rows[6:12]
    b = rows[12:]
    weights = np.kron([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 0]], np.ones(6)) / 6

    def distance(x, y):
        within = [cdist(own, own).sum() / 30 for own in (x, y)]
        return 2 * cdist(x, y).mean() - sum(within)

    distances = _energies(cdist(rows, rows, "sqeuclidean"), weights, 6)
    np.testing.assert_allclose(distances.samples, [distance(s, a)])
    np.testing.assert_allclose(distances.fresh, [distance(b, a)])


def test_moments_are_compared_over_splits():
    """With two rows of data, A is one of them, and the mean error is known."""
    samples = np.array([[5.0, 1.0]])
    data = np.array([[0.0, 0.0], [3.0, 4.0]])
    quality = hm.sample_quality(samples, data, splits=500)
    assert quality.means.perfect == pytest.approx(np.sqrt(12.5))
    errors = [np.sqrt(13.0), np.sqrt(6.5)]
    assert min(errors) < quality.means.value < max(errors)
    assert quality.covariances.value == 0.0
    assert quality.triples is None


def test_sizes_and_limits():
    rng = np.random.default_rng(8)
    data = bits(rng, 101)
    assert hm.sample_quality(data, data).means.rows == 50
    assert hm.sample_quality(data[:30], data).means.rows == 30
    limited = hm.sample_quality(data, data, held_out=data[:9], rows=25, splits=3)
    assert limited.aats.rows == 25
    assert limited.privacy_loss.rows == 9
    assert limited.splits == 3


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_are_scored_but_not_judged(n):
    rng = np.random.default_rng(9)
    quality = hm.sample_quality(reals(rng, n), reals(rng, n + 1), held_out=reals(rng, 1))
    assert all(np.isfinite(score[1:]).all() for score in quality.scores)
    assert {score.judgement for score in quality.scores} == {"too few rows to say"}
    assert n < FEWEST_ROWS


def test_a_single_column_and_constant_columns():
    rng = np.random.default_rng(10)
    lone = hm.sample_quality(bits(rng, 100)[:, :1], bits(rng, 200)[:, :1])
    assert lone.covariances is None
    assert lone.triples is None
    assert all(score.judgement == FINE for score in lone.scores)
    tenths = hm.sample_quality(np.full((50, 3), 0.1), np.full((100, 3), 0.1))
    assert all(score.z == 0.0 for score in tenths.scores)
    assert tenths.aats.value == 0.5
    other = hm.sample_quality(np.full((50, 3), 0.2), np.full((100, 3), 0.1))
    assert other.means.z == np.inf
    assert other.covariances.value == other.covariances.z == other.spectrum.value == 0.0
    assert other.aats.value == 1.0
    with_noise = hm.sample_quality(rng.normal(size=(50, 3)), np.zeros((100, 3)))
    assert with_noise.spectrum.value == pytest.approx(1.0)


def test_same_seed_same_table():
    rng = np.random.default_rng(11)
    samples = bits(rng, 40)
    data = bits(rng, 100)
    first, again, other = (hm.sample_quality(samples, data, seed=seed) for seed in (0, 0, 1))
    assert first == again
    assert first != other


def test_the_table_names_every_score():
    rng = np.random.default_rng(12)
    quality = hm.sample_quality(bits(rng, 40), bits(rng, 100), held_out=bits(rng, 40))
    head, _, *lines = str(quality).split("\n")
    assert head.startswith("40 samples against 40 rows of data")
    assert [line[:24].strip() for line in lines] == [score.name for score in quality.scores]
    assert all(line.endswith(FINE) for line in lines)
    assert max(map(len, lines)) <= 120


BITS = bits(np.random.default_rng(13), 10)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"samples": BITS[:, :3]}, "samples: expected 12 columns, as in the other rows; "),
        ({"samples": BITS * np.nan}, "samples: expected finite numbers; "),
        ({"data": np.where(BITS, np.inf, 0.0)}, "data: expected finite numbers"),
        ({"data": BITS[0]}, "data: expected a matrix"),
        ({"data": BITS[:1]}, "data: expected at least two rows"),
        ({"data": [[1, 2], [3]]}, "data: expected rows of equal length"),
        ({"held_out": BITS[:, :2]}, "held_out: expected 12 columns"),
        ({"held_out": BITS[:0]}, "held_out: expected a matrix"),
        ({"states": 2, "samples": BITS + 1}, "samples: expected codes from 0 to 1; got 2"),
        ({"states": [2, 2]}, "states: expected one number, or one for each of the 12"),
        ({"rows": 0}, "rows: expected a whole number of at least 1"),
        ({"splits": 1}, "splits: expected at least 2"),
        ({"seed": -1}, "seed: expected a whole number of at least 0"),
    ],
)
def test_mistakes_are_named(change, words):
    with pytest.raises(hm.InputError, match=words):
        hm.sample_quality(**({"samples": BITS, "data": BITS} | change))
