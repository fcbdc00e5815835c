"""Simpler models of the same rows: exact, and said plainly where a model is no better."""

import jax
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import harmonium as hm
from harmonium.data import Dataset
from harmonium.runs.baselines import baselines, verdict
from harmonium.runs.summaries import BaselineSummary, Summary

KEY = jax.random.key(0)
RNG = np.random.default_rng(0)


def chain(n, columns=6):
    """Return rows of 0 and 1, each column as the one before in most rows."""
    flips = RNG.random((n, columns)) < 0.2
    flips[:, 0] = RNG.random(n) < 0.5
    return np.cumsum(flips, axis=1) % 2


TRAIN = chain(300)
TEST = chain(200)


def by_name(rbm, train, rows, value=0.0):
    summaries = baselines(rbm, Dataset(train), Dataset(rows), value)
    return {summary.name: summary for summary in summaries}


def test_binary_rows_are_compared_with_their_columns_and_their_best_tree():
    rbm = hm.RBM.from_arrays(RNG.normal(size=(6, 3)), np.zeros(6), np.zeros(3))
    value = hm.log_likelihood(rbm, TEST).value
    simpler = by_name(rbm, TRAIN, TEST, value)
    assert list(simpler) == ["independent units", "best tree"]
    p = (TRAIN.sum(0) + 0.5) / 301.0
    log_p = (TEST * np.log(p) + (1 - TEST) * np.log(1 - p)).sum(1)
    units = simpler["independent units"]
    assert units.value == pytest.approx(log_p.mean(), abs=1e-4)
    assert units.gain == pytest.approx(value - units.value, abs=1e-6)
    differences = -hm.free_energies(rbm, TEST) - log_p
    assert units.stderr == pytest.approx(differences.std(ddof=1) / np.sqrt(200), rel=1e-3)
    tree = simpler["best tree"]
    assert tree.value == pytest.approx(hm.analysis.tree_log_likelihood(TRAIN, TEST), abs=1e-6)
    assert tree.value > units.value + 0.5


def test_numbers_are_compared_with_one_normal_density():
    mixing = RNG.normal(size=(3, 3))
    train, rows = RNG.normal(size=(2, 500, 3)) @ mixing
    rbm = hm.initialize(hm.MultivariateGaussian(3), hm.Bernoulli(4), train, key=KEY)
    simpler = by_name(rbm, train, rows)
    assert list(simpler) == ["independent units", "no hidden units", "best tree"]
    normal = stats.multivariate_normal(train.mean(0), np.cov(train.T, ddof=0))
    assert simpler["no hidden units"].value == pytest.approx(normal.logpdf(rows).mean(), abs=0.02)
    alone = stats.norm.logpdf(rows, train.mean(0), train.std(0)).sum(1).mean()
    assert simpler["independent units"].value == pytest.approx(alone, abs=0.02)
    tree = simpler["best tree"].value
    assert alone < tree < simpler["no hidden units"].value + 0.02


def test_rows_with_missing_cells_have_no_standard_error():
    gaps = np.where(RNG.random(TEST.shape) < 0.2, np.nan, TEST)
    rbm = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(3), TRAIN, key=KEY)
    simpler = by_name(rbm, TRAIN, gaps)
    assert simpler["best tree"].value > simpler["independent units"].value
    assert all(summary.stderr is None for summary in simpler.values())


def test_weighted_rows_are_as_many_rows():
    weights = RNG.integers(1, 4, len(TEST)).astype(float)
    rbm = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(3), TRAIN, key=KEY)
    weighted = baselines(rbm, Dataset(TRAIN), Dataset(TEST, weights=weights), 0.0)
    repeated = np.repeat(TEST, weights.astype(int), axis=0)
    for mine, its in zip(weighted, by_name(rbm, TRAIN, repeated).values(), strict=True):
        assert mine.value == pytest.approx(its.value, abs=1e-5)
        assert mine.stderr > its.stderr  # which counts copies as rows of their own


def summary_with(gain, stderr):
    about = {"name": "best tree", "words": "the best tree of columns (Chow-Liu)"}
    return BaselineSummary(**about, value=-5.0, gain=gain, stderr=stderr)


@pytest.mark.parametrize(
    ("gain", "stderr", "is_better"),
    [(0.5, 0.1, True), (0.1, 0.1, False), (-0.1, 0.01, False), (0.1, None, True)],
)
def test_a_model_has_to_be_better_by_two_standard_errors(gain, stderr, is_better):
    poorer = BaselineSummary(
        name="independent units", words="independent units", value=-9.0, gain=4.0 + gain
    )
    said = verdict([poorer, summary_with(gain, stderr)])
    assert (said == "") == is_better
    if not is_better:
        assert "NOT surely better than the best tree of columns" in said
        assert f"{gain:+.3f}" in said


def test_nothing_is_said_where_nothing_is_known():
    assert verdict([]) == ""


def test_summaries_of_earlier_versions_are_read(tmp_path):
    score = '{"value": -9.0, "low": -9.1, "high": -8.9, "method": "exact", "converged": true,'
    score += ' "rows": "test", "n_rows": 50, "without_hidden_units": -11.0}'
    path = tmp_path / "summary.json"
    path.write_text(f'{{"log_likelihood": {score}}}')
    summary = Summary.read(path)
    assert summary.log_likelihood.value == -9.0
    assert summary.log_likelihood.baselines == []


def test_conditional_models_are_compared_with_a_regression():
    rows = np.column_stack([TRAIN[:, 0], TRAIN])
    layer = hm.Conditional(hm.Bernoulli(7), given=[0, 1])
    rbm = hm.RBM(layer, hm.Bernoulli(3), np.zeros((7, 3)))
    simpler = by_name(rbm, rows, rows)
    assert list(simpler) == ["independent units", "no hidden units"]
    # The targets follow their left neighbour, of which only the first is given.
    model = LogisticRegression(C=np.inf).fit(rows[:, 1:2], rows[:, 2])
    gain = model.predict_log_proba(rows[:, 1:2])[np.arange(len(rows)), rows[:, 2]].mean()
    p = rows[:, 2].mean()
    gain -= p * np.log(p) + (1 - p) * np.log(1 - p)
    regression = simpler["no hidden units"].value - simpler["independent units"].value
    assert 0.8 * gain < regression < 1.5 * gain
    assert simpler["no hidden units"].words == "a regression without hidden units"
