import pickle
import re

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neural_network import BernoulliRBM as Theirs
from sklearn.pipeline import make_pipeline

import harmonium as hm
from harmonium.sklearn import RBM, BernoulliRBM

# With scikit-learn's ten chains, thousands of updates on bars and stripes do lose the rows.
pytestmark = pytest.mark.filterwarnings("ignore::harmonium.PoorModelWarning")
DIGITS = load_digits().data[:1000] / 16
BINARY = (DIGITS > 0.5) * 1.0
BARS = hm.bars_and_stripes(4).astype(float)


@pytest.fixture(scope="module")
def fitted():
    return BernoulliRBM(8, n_iter=3_000, random_state=0).fit(BARS)


def test_it_has_all_that_scikit_learns_has():
    theirs, ours = (cls(8, n_iter=1, random_state=0).fit(BARS) for cls in (Theirs, BernoulliRBM))
    assert set(theirs.get_params()) <= set(ours.get_params())
    for name, value in theirs.get_params().items():
        assert ours.get_params()[name] == value
    for name in ("components_", "intercept_hidden_", "intercept_visible_", "h_samples_"):
        assert getattr(ours, name).shape == getattr(theirs, name).shape
        assert getattr(ours, name).dtype == getattr(theirs, name).dtype
    public = {name for name in dir(theirs) if not name.startswith("_")}
    assert public <= set(dir(ours))
    assert re.search("fit.*partial_fit|components_", BernoulliRBM.__doc__)


def test_it_takes_the_parameters_that_scikit_learns_learned(fitted):
    theirs = Theirs(8, n_iter=2, random_state=0).fit(BARS)
    ours = BernoulliRBM.from_harmonium(hm.io.from_sklearn(theirs))
    np.testing.assert_allclose(ours.transform(BARS), theirs.transform(BARS), atol=1e-6)
    np.testing.assert_allclose(ours.free_energy(BARS), theirs._free_energy(BARS), rtol=1e-6)
    back = BernoulliRBM.from_harmonium(fitted.rbm_)
    np.testing.assert_array_equal(back.components_, fitted.components_.astype(np.float32))
    spins = hm.initialize(hm.Ising(3), hm.Ising(2), key=jax.random.key(0))
    with pytest.raises(hm.InputError, match="Bernoulli"):
        BernoulliRBM.from_harmonium(spins)


def test_one_pass_over_a_large_portion_learns():
    """scikit-learn divides the sum over ten chains by a thousand rows: every unit ends at one."""
    theirs = Theirs(16, random_state=0)
    ours = BernoulliRBM(16, random_state=0)
    for _ in range(100):
        theirs.partial_fit(BINARY)
    for _ in range(5):
        assert ours.partial_fit(BINARY) is ours
    assert theirs.transform(BINARY).min() > 0.99
    features = ours.transform(BINARY)
    assert (features.std(0) > 0.1).all()
    independent = ours.score_samples(BINARY).mean() - Theirs.score_samples(theirs, BINARY).mean()
    assert independent > 10


@pytest.mark.parametrize(("batch_size", "rate"), [(1, 0.03), (7, 0.1), (100, 0.1)])
def test_any_batch_size_climbs(batch_size, rate):
    """Both phases have the same weight: the exact score is far above that of independent units.

    Eight seeds gave −7.5 to −4.6; batches of one row at a rate of 0.1 are too noisy, down to −10.8.
    """
    model = BernoulliRBM(8, batch_size=batch_size, learning_rate=rate, random_state=0, n_chains=50)
    portion = np.tile(BARS, (1 + 20 * batch_size, 1))
    for _ in range(10):  # about 6,000 updates
        model.partial_fit(portion)
    assert -8.5 < model.score(BARS) < -3.3  # independent units -11.1, a perfect model -3.38


def test_portions_of_any_size_go_on_from_one_another():
    model = BernoulliRBM(8, random_state=0)
    chains = None
    for first, last in ((0, 3), (3, 400), (400, 401), (401, 1000)):
        model.partial_fit(BINARY[first:last])
        assert model.h_samples_.shape == (10, 8)
        assert chains is None or (chains != model.h_samples_).any()
        chains = model.h_samples_
    assert int(model._state.updates) == 1 + 40 + 1 + 60


def test_fit_then_partial_fit_goes_on():
    model = BernoulliRBM(8, n_iter=20, random_state=0).fit(BINARY)
    before = model.score_samples(BINARY).mean()
    for _ in range(5):
        model.partial_fit(BINARY)
    assert model.score_samples(BINARY).mean() > before - 0.5
    foreign = BernoulliRBM.from_harmonium(model.rbm_, random_state=0).partial_fit(BINARY)
    assert foreign.score_samples(BINARY).mean() > before - 0.5


def test_scores_are_exact_and_name_their_method(fitted):
    likelihood = fitted.log_likelihood(BARS)
    assert likelihood.method == "exact, 256 states"
    assert fitted.score(BARS) == likelihood.value == hm.log_likelihood(fitted.rbm_, BARS).value
    scores, again = (fitted.score_samples(BARS) for _ in range(2))
    np.testing.assert_array_equal(scores, again)
    theirs = Theirs()
    vars(theirs).update({k: v for k, v in vars(fitted).items() if k in fitted_names(theirs)})
    theirs.random_state = np.random.RandomState(0)
    drawn = np.mean([theirs.score_samples(BARS) for _ in range(2_000)], axis=0)
    spread = np.std([theirs.score_samples(BARS) for _ in range(200)], axis=0) / np.sqrt(2_000)
    assert (abs(drawn - scores) / (spread + 1e-3)).max() < 5.1  # 32 rows at a level of 1e-5


def fitted_names(_):
    return {"components_", "intercept_hidden_", "intercept_visible_", "n_features_in_"}


def test_samples_have_the_models_distribution():
    """χ² of the number of ones against enumeration, level 1e−4, on a model that mixes."""
    fitted = BernoulliRBM(8, n_iter=300, random_state=0).fit(BARS)
    rows = fitted.sample(4_000, k=200).astype(int)
    states = fitted.rbm_.visible.states(jnp.arange(2**16))
    energies = np.asarray(fitted.rbm_.free_energy(states), float)
    p = np.exp(-energies - hm.log_z(fitted.rbm_).value)
    ones = np.asarray(states).sum(1).astype(int)
    expected = np.bincount(ones, p, minlength=17) * len(rows)
    counts = np.bincount(rows.sum(1), minlength=17)
    keep = expected > 20
    keep[np.argmin(np.where(keep, expected, np.inf))] = False  # the rare counts form one class
    counts, expected = (np.append(a[keep], a[~keep].sum()) for a in (1.0 * counts, expected))
    assert stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > 1e-4


def test_transformed_rows_and_back(fitted):
    h = fitted.transform(BARS)
    v = fitted.inverse_transform(h)
    np.testing.assert_allclose(v, fitted.rbm_.mean_v_from_h(jnp.asarray(h, jnp.float32)), atol=1e-5)
    np.testing.assert_array_equal(fitted.reconstruct(BARS), v)
    assert abs(v - BARS).mean() < 0.1
    states = fitted.gibbs(BARS)
    assert states.dtype == bool
    assert states.shape == BARS.shape
    assert fitted.gibbs(BARS, k=50).shape == BARS.shape
    with pytest.raises(hm.InputError, match=r"shape \(rows, 8\)"):
        fitted.inverse_transform(BARS)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_results_have_the_precision_of_the_rows(fitted, dtype):
    rows = BARS.astype(dtype)
    for result in (fitted.transform(rows), fitted.free_energy(rows), fitted.score_samples(rows)):
        assert result.dtype == dtype
    double = -rows @ fitted.intercept_visible_ - np.logaddexp(
        0, rows @ fitted.components_.T + fitted.intercept_hidden_
    ).sum(1)
    tolerance = 1e-12 if dtype == np.float64 else 1e-5
    np.testing.assert_allclose(fitted.free_energy(rows), double, rtol=tolerance)


@pytest.mark.parametrize("method", ["transform", "free_energy", "score_samples", "gibbs"])
def test_sparse_rows_have_the_same_results(method):
    model = BernoulliRBM(8, n_iter=2, random_state=0)
    dense = model.fit(BINARY)
    sparse = clone(model).fit(scipy.sparse.csr_array(BINARY))
    np.testing.assert_array_equal(dense.components_, sparse.components_)
    answers = [
        getattr(dense, method)(BINARY),
        getattr(sparse, method)(scipy.sparse.csr_matrix(BINARY)),
    ]
    np.testing.assert_allclose(answers[0], answers[1], atol=1e-10)


def test_a_large_sparse_matrix_is_never_made_dense():
    places = np.random.default_rng(0).integers((2_000, 20_000), size=(400, 2)).T
    rows = scipy.sparse.csr_array((np.ones(400), places), (2_000, 20_000))  # 320 MB if dense
    model = BernoulliRBM(2, n_iter=1, batch_size=100, random_state=0).fit(rows)
    assert model.transform(rows[:100]).shape == (100, 2)


def test_a_seed_makes_every_method_deterministic():
    models = [BernoulliRBM(8, n_iter=2, random_state=3).fit(DIGITS) for _ in range(2)]
    for call in ("transform", "gibbs", "score_samples"):
        np.testing.assert_array_equal(*(getattr(m, call)(DIGITS) for m in models))
    np.testing.assert_array_equal(*(m.sample(5) for m in models))
    other = BernoulliRBM(8, n_iter=2, random_state=4).fit(DIGITS)
    assert (other.components_ != models[0].components_).any()
    state = np.random.RandomState(0)
    two = [BernoulliRBM(8, n_iter=2, random_state=state).fit(DIGITS) for _ in range(2)]
    assert (two[0].components_ != two[1].components_).any()


def test_it_works_in_pipelines_searches_and_pickles():
    y = load_digits().target[:1000]
    pipeline = make_pipeline(BernoulliRBM(8, random_state=0), LogisticRegression(max_iter=1000))
    search = GridSearchCV(pipeline, {"bernoullirbm__n_iter": [0, 20]}, cv=2).fit(BINARY, y)
    assert search.best_params_ == {"bernoullirbm__n_iter": 20}
    model = BernoulliRBM(8, n_iter=2, random_state=0).fit(BINARY)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(BINARY), model.transform(BINARY))
    np.testing.assert_array_equal(
        again.partial_fit(BINARY).components_, model.partial_fit(BINARY).components_
    )
    scored = GridSearchCV(BernoulliRBM(8, random_state=0), {"n_iter": [1, 1_000]}, cv=2)
    assert scored.fit(np.tile(BARS, (2, 1))).best_params_ == {"n_iter": 1_000}


def test_tables_go_in_and_come_out():
    table = pd.DataFrame(BARS, columns=[f"pixel {i}" for i in range(16)])
    model = BernoulliRBM(8, n_iter=1, random_state=0).set_output(transform="pandas").fit(table)
    assert list(model.feature_names_in_) == list(table.columns)
    out = model.transform(table)
    assert list(out.columns) == [f"bernoullirbm{unit}" for unit in range(8)]


@pytest.mark.parametrize("method", ["cd", "exact", hm.Persistent(hm.Gibbs(2), chains=20)], ids=str)
def test_other_methods_learn(method):
    learning = {"method": method, "k": 2, "n_iter": 1_000, "optimizer": hm.Recipe(rate=0.1)}
    model = BernoulliRBM(8, random_state=0, **learning).fit(BARS)
    assert model.score(BARS) > -6.0  # independent units: -11.09
    assert hasattr(model, "h_samples_") == (not isinstance(method, str))


def test_any_finite_number_is_used_linearly():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(50, 6)) * 3
    with pytest.warns(UserWarning, match="used linearly"):
        model = BernoulliRBM(3, n_iter=5, random_state=0).fit(rows)
    assert np.isfinite(model.components_).all()
    np.testing.assert_allclose(
        model.free_energy(rows),
        -rows @ model.intercept_visible_
        - np.logaddexp(0, rows @ model.components_.T + model.intercept_hidden_).sum(1),
        rtol=1e-10,
    )
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.where(rows > 3, np.nan, rows))


@pytest.mark.parametrize(
    ("rows", "advice"),
    [
        (255 * DIGITS[:40], r"got 0 to 255, .*; divide by 255, or scale"),
        (np.round(90 * DIGITS[:40]), r"got 0 to 90, .*; divide by 255"),
        (16 * DIGITS[:40], r"got 0 to 16, .*; divide by 16"),
        (2 * DIGITS[:40] - 1, r"got -1 to 1, .*; scale the columns with sklearn.*MinMaxScaler, or"),
        (scipy.sparse.csr_matrix(255 * DIGITS[:40]), "divide by 255"),
    ],
)
def test_values_outside_0_and_1_are_taken_with_a_warning_by_fit_and_by_scores(rows, advice):
    model = BernoulliRBM(3, n_iter=1, random_state=0)
    for use in (model.fit, model.score, model.score_samples):
        with pytest.warns(UserWarning, match=advice) as caught:
            result = use(rows)
        assert len(caught) == 1
        assert caught[0].filename == __file__
    assert np.isfinite(result).all()
    model.transform(rows)  # which no warning follows: it is called again and again


def test_a_stream_is_warned_of_its_first_portion_alone():
    model = BernoulliRBM(3, random_state=0)
    with pytest.warns(UserWarning, match="got 0 to 255"):
        model.partial_fit(255 * DIGITS[:40])
    model.partial_fit(255 * DIGITS[:40])


def test_rounding_of_a_scaler_is_no_reason_to_warn():
    BernoulliRBM(3, n_iter=1, random_state=0).fit(np.nextafter(BINARY[:40], 2)).score(BINARY[:40])


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"method": "gibbs"}, "method: expected pcd, cd, exact"),
        ({"learning_rate": -1.0}, "rate: expected a positive number"),
        ({"learning_rate": "fast"}, "learning_rate: expected a number"),
        ({"n_iter": -1}, "n_iter: expected a whole number"),
        ({"n_components": 0}, "n_components: expected a whole number"),
        ({"batch_size": 0}, "expected a whole number"),
        ({"k": 0}, "expected a whole number"),
    ],
)
def test_mistakes_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        BernoulliRBM(**{"n_components": 2, "random_state": 0} | wrong).fit(BARS)


def test_progress_is_reported(capsys):
    BernoulliRBM(8, n_iter=3, verbose=1, random_state=0).fit(BARS)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert re.match(
        r"\[BernoulliRBM\] Iteration 3, pseudo-likelihood = -\d+\.\d\d, time", lines[-1]
    )


def test_a_falling_rate_does_not_fall_in_a_stream():
    model = BernoulliRBM(8, optimizer=hm.Recipe(rate=0.1), random_state=0).fit(BINARY)
    for _ in range(3):
        before = np.asarray(model._state.rbm.weights)
        model.partial_fit(BINARY)
        assert abs(np.asarray(model._state.rbm.weights) - before).max() > 1e-3


def test_changed_parameters_count_from_the_next_portion_on():
    model = BernoulliRBM(8, random_state=0).partial_fit(BINARY)
    before = model.components_.copy()
    model.set_params(learning_rate=1e-9).partial_fit(BINARY)
    np.testing.assert_allclose(model.components_, before, atol=1e-6)
    model.set_params(n_chains=30, learning_rate=0.1).partial_fit(BINARY)
    assert model.h_samples_.shape == (30, 8)
    model.set_params(method="cd").partial_fit(BINARY)
    model.set_params(method="pcd", optimizer=hm.Recipe(rate=0.1)).partial_fit(BINARY)
    model.components_[:] = 0.0
    model.set_params(optimizer=None, learning_rate=1e-9).partial_fit(BINARY)
    assert abs(model.components_).max() < 1e-3


@pytest.mark.parametrize("make", [BernoulliRBM, lambda *a, **k: RBM(*a, visible="bernoulli", **k)])
def test_portions_that_are_alike_are_learned_from_as_others_are(make):
    """What is checked once for all of them changes no bit: a copy from a pickle checks anew."""
    quick = make(8, random_state=0)
    checked = make(8, random_state=0)
    sizes = (10, 10, 10, 25, 25, 25, 10, 10)
    for i, (size, first) in enumerate(zip(sizes, np.cumsum(sizes), strict=True)):
        rows = (BINARY, DIGITS)[i % 2][first : first + size]
        rows = rows.astype((np.float32, float)[i % 3 % 2])
        likes = quick._portions_like(rows, None) if i else None
        assert (likes is not None) == (i in (1, 2, 4, 5, 7))
        quick.partial_fit(rows)
        checked = pickle.loads(pickle.dumps(checked)).partial_fit(rows)
        for ours, theirs in zip(
            *(jax.tree.leaves(x._state) for x in (quick, checked)), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(quick.transform(rows), checked.transform(rows))
    quick.fit(BINARY[:50])
    assert quick._portions_like(rows, None) is None


def test_a_portion_like_the_last_one_is_checked_for_what_may_differ():
    model = RBM(4, visible="bernoulli", random_state=0)
    for _ in range(2):
        model.partial_fit(BINARY[:20])
    before = model.transform(BINARY)
    with pytest.raises(hm.InputError, match="got 2"):
        model.partial_fit(BINARY[:20] * 2)
    with pytest.raises(hm.InputError, match="state"):
        model.partial_fit(np.where(BINARY[:20] > 0, np.nan, 0.0))
    with pytest.raises(hm.InputError, match="batch_size"):
        model.set_params(batch_size=0).partial_fit(BINARY[:20])
    np.testing.assert_array_equal(model.transform(BINARY), before)


def test_a_portion_like_the_last_one_on_which_it_diverges_is_forgotten():
    model = BernoulliRBM(8, learning_rate=0.1, random_state=0)
    for _ in range(2):
        model.partial_fit(BINARY[:10])
    before = model.components_.copy()
    with pytest.warns(hm.DivergenceWarning, match="lower learning_rate") as caught:
        model.partial_fit(BINARY[:10] * 1e30)
    assert caught[-1].filename == __file__
    np.testing.assert_array_equal(model.components_, before)
    model.partial_fit(BINARY[:10])
    assert np.isfinite(model.components_).all()


def test_what_is_printed_changes_no_bit(capsys):
    """Without `verbose` nothing is measured on the way."""
    silent, talking = (
        BernoulliRBM(8, n_iter=4, verbose=verbose, random_state=0).fit(BINARY) for verbose in (0, 1)
    )
    assert "Iteration 4" in capsys.readouterr().out
    np.testing.assert_array_equal(silent.components_, talking.components_)


def test_draws_are_never_drawn_twice():
    """`fit`, `partial_fit` and other methods draw from different keys of the same seed."""
    from harmonium.sklearn import base

    model = BernoulliRBM(4, random_state=0)
    keys = [base.key_from(0, purpose) for purpose in range(4)] + list(model._new_keys())
    stream = jax.random.wrap_key_data(model._stream_key)
    keys += [stream, *(jax.random.fold_in(stream, i) for i in range(5))]
    assert len({tuple(np.asarray(jax.random.key_data(key))) for key in keys}) == len(keys)


def test_a_first_portion_that_diverges_leaves_a_model():
    model = BernoulliRBM(8, learning_rate=1e20, random_state=0)
    with pytest.warns(UserWarning, match="divide by 1e"), pytest.warns(RuntimeWarning, match="div"):
        model.partial_fit(BINARY * 1e25 + 1)
    assert np.isfinite(model.components_).all()


def test_a_refused_fit_leaves_the_estimator_as_it_was(fitted):
    model = pickle.loads(pickle.dumps(fitted))
    with pytest.raises(hm.InputError, match="batch_size"):
        model.set_params(batch_size=-1).fit(BARS[:, :4])
    np.testing.assert_array_equal(model.transform(BARS), fitted.transform(BARS))


def test_the_weights_of_the_first_portion_set_the_start():
    weights = np.r_[np.ones(10), np.zeros(990)]
    starts = [
        getattr(BernoulliRBM(8, learning_rate=1e-9, random_state=0, n_iter=1), method)(
            BINARY, sample_weight=weights
        ).intercept_visible_
        for method in ("fit", "partial_fit")
    ]
    np.testing.assert_allclose(starts[0], starts[1], atol=1e-5)
