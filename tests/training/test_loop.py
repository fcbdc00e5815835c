import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from scipy.stats import chi2

import harmonium as hm
from harmonium.data.shuffling import batches_in_order, keyed_order, random_order
from harmonium.training import monitors
from harmonium.training.arguments import plan_run
from harmonium.training.recorder import epochs_a_record, recorded_epochs
from harmonium.training.schedules import rate_of
from harmonium.training.tracking import scored
from registry import exact_states, random_rbm

KEY = jax.random.key(7)
QUICK = {"batch_size": 8, "epochs": 6, "gradient": hm.Persistent(hm.Gibbs(1), chains=5)}


def rows(n=30, columns=6, seed=0):
    return (np.random.default_rng(seed).random((n, columns)) < 0.4).astype(np.uint8)


def balanced(rbm):
    """Let the biases compensate the weights, so that all units of the model vary."""
    v = rbm.visible.mean(rbm.visible.zero_inputs)
    h = rbm.hidden.mean(rbm.hidden.zero_inputs)
    shifted = rbm.visible.shift(-rbm.weights @ h), rbm.hidden.shift(-v @ rbm.weights)
    return hm.RBM(*shifted, rbm.weights)


def start(x):
    return hm.initialize(hm.Bernoulli(x.shape[1]), hm.Bernoulli(3), x, key=KEY)


@pytest.mark.parametrize("stop_at", [1, 4, 7, 20])
def test_a_resumed_run_equals_an_uninterrupted_one_bit_for_bit(stop_at):
    """Interrupted anywhere, also within an epoch, with a short last batch and grey levels."""
    x = np.random.default_rng(1).random((30, 6))
    data = hm.Dataset(x, stochastic=True)
    rbm = start(x)
    whole = hm.fit(rbm, data, key=KEY, **QUICK)
    part = hm.fit(rbm, data, key=KEY, callbacks=[lambda r: r.updates >= stop_at], **QUICK)
    assert stop_at <= int(part.state.updates) < 24
    assert part.message.startswith("stopped by a callback")
    rest = hm.fit(rbm, data, key=KEY, state=part.state, **QUICK)
    assert eqx.tree_equal(rest.state, whole.state)
    assert eqx.tree_equal(rest.rbm, whole.rbm)
    assert int(whole.state.updates) == 24


def test_a_finished_run_has_nothing_left_to_do():
    x = rows()
    done = hm.fit(start(x), x, key=KEY, **QUICK)
    again = hm.fit(start(x), x, key=KEY, state=done.state, **QUICK)
    assert eqx.tree_equal(again.rbm, done.rbm)


def test_packed_bits_bytes_and_floats_train_alike():
    x = rows()
    forms = [x, x.astype(bool), x.astype(float), hm.Dataset(x)]
    fits = [hm.fit(start(x), form, key=KEY, **QUICK).rbm for form in forms]
    assert hm.Dataset(x).stored.values.shape == (30, 1)
    assert all(eqx.tree_equal(fits[0], other) for other in fits[1:])


def test_weights_count_as_repetitions():
    """A full batch with weights 1, 2, 3 has the gradient of rows repeated 1, 2, 3 times."""
    x = rows(9)
    weights = np.tile([1, 2, 3], 3)
    options = {"gradient": hm.Exact(), "epochs": 20, "batch_size": 100}
    weighted = hm.fit(start(x), x, key=KEY, weights=weights, **options)
    repeated = hm.fit(start(x), np.repeat(x, weights, axis=0), key=KEY, **options)
    for a, b in zip(jax.tree.leaves(weighted.rbm), jax.tree.leaves(repeated.rbm), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


def test_rows_of_weight_zero_do_nothing():
    x = rows()
    weights = np.where(np.arange(30) == 3, 0.0, 1.0)
    other = x.copy()
    other[3] = 1 - other[3]
    rbm = start(x)
    fits = [hm.fit(rbm, y, key=KEY, weights=weights, **QUICK).rbm for y in (x, other)]
    assert eqx.tree_equal(*fits)


def test_every_epoch_visits_every_row_once():
    for n, room in ((1, 1), (2, 2), (17, 18), (17, 40), (1000, 1024)):
        draw = jax.jit(lambda key, room=room, n=n: random_order(room, n, key=key)[:n])
        orders = [np.asarray(draw(jax.random.key(i))) for i in range(2)]
        for order in orders:
            np.testing.assert_array_equal(np.sort(order), np.arange(n))
        assert n < 10 or (orders[0] != orders[1]).any()


def test_all_orders_are_equally_likely():
    """χ² over the 24 orders of 4 rows padded to 6, 23 degrees of freedom, level 1e−4."""
    keys = jax.random.split(jax.random.key(0), 48_000)
    orders = np.asarray(jax.vmap(lambda key: random_order(6, 4, key=key))(keys))[:, :4]
    counts = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(counts) == 24
    assert ((counts - 2_000) ** 2 / 2_000).sum() < 58.6


def test_a_keyed_order_visits_every_row_once():
    for n, room in ((1, 1), (2, 2), (17, 18), (1000, 1000), (1000, 1024), (1025, 1025)):
        draw = jax.jit(lambda key, r=room, n=n: keyed_order(jnp.arange(n), r, n, key=key))
        orders = [np.asarray(draw(jax.random.key(i))) for i in range(2)]
        for order in orders:
            np.testing.assert_array_equal(np.sort(order), np.arange(n))
        assert n < 10 or (orders[0] != orders[1]).any()


@pytest.mark.parametrize("n", [1_000, 1_024, 1_025])
def test_a_keyed_order_puts_rows_and_pairs_of_rows_at_all_places(n):
    """χ² of the rows at two places of the order, in 8 × 8 boxes, over keys; family-wise 1e−3.

    The places are neighbours, half the range apart, or a power of two apart. Each test has 63
    degrees of freedom (the boxes' probabilities are those of an ordered pair of distinct rows);
    there are 24 tests in all.
    """
    pairs = np.array([[0, 1], [5, 6], [0, n // 2], [3, 3 + 256], [n - 2, n - 1], [7, 7 + 512]])
    pairs = np.concatenate([pairs, pairs[:2, ::-1]])
    keys = jax.random.split(jax.random.key(n), 20_000)
    row_pairs = jax.vmap(lambda key: keyed_order(jnp.asarray(pairs), n, n, key=key))(keys)
    boxes = np.asarray(row_pairs) * 8 // n
    sizes = np.bincount(np.arange(n) * 8 // n, minlength=8).astype(float)
    chances = (np.outer(sizes, sizes) - np.diag(sizes)) / (n * (n - 1))
    for of_pair in np.moveaxis(boxes, 1, 0):
        counts = np.bincount(of_pair @ [8, 1], minlength=64).reshape(8, 8)
        expected = len(keys) * chances
        statistic = ((counts - expected) ** 2 / expected).sum()
        assert statistic < chi2.isf(1e-3 / 24, 63)


def test_a_great_many_rows_are_shuffled_without_a_sort():
    """Rows are not all sorted: with more rows than are sorted, batches still hold each row once."""
    n = 2**20 + 5
    size = 2**17
    rows_of = jax.jit(batches_in_order(n, n, size, key=KEY))
    seen = np.concatenate([np.asarray(rows_of(jnp.asarray(t))) for t in range(-(-n // size))])
    assert (np.bincount(seen[:n], minlength=n) == 1).all()


def test_the_default_recipe_has_the_rate_that_is_usual_for_the_model():
    x = rows(40, columns=256)
    rbm = start(x)
    given = {"key": KEY, "epochs": 2, "batch_size": 20}
    default = hm.fit(rbm, x, **given).rbm
    (together,) = hm.fit_ensemble([rbm], x, keys=KEY[None], epochs=2, batch_size=20)
    for recipe, is_default in ((hm.Recipe(rate=0.4), True), (hm.Recipe(), False)):
        with_recipe = hm.fit(rbm, x, **given, optimizer=recipe).rbm
        assert eqx.tree_equal(default, with_recipe) == is_default
        assert np.allclose(together.rbm.weights, with_recipe.weights, atol=1e-5) == is_default


def test_records_are_as_rare_as_their_cost_demands_but_ten_or_one_an_epoch():
    """All 40 rows are measured: one record in 16 epochs, unless that makes too few records."""
    x = rows(40, columns=6)
    rbm = start(x)
    for epochs, every in ((7, 1), (40, 4), (160, 16), (400, 16)):
        history = hm.fit(rbm, x, key=KEY, epochs=epochs, batch_size=40).history
        recorded = [record["epoch"] for record in history]
        assert recorded == recorded_epochs(epochs, every, 10)
        assert recorded[-1] == epochs
        assert max(np.diff(recorded), default=0) == (every if epochs > 7 else 1)


def test_records_are_about_a_hundred_at_most():
    for epochs in range(1, 1_000):
        every = epochs_a_record(epochs, 60_000, 100)
        assert math.ceil(epochs / every) <= 100
        assert len(recorded_epochs(epochs, every, 1)) <= 125


def test_records_are_closer_at_the_beginning():
    """A small table is learnt by heart within a few hundred updates of ten thousand."""
    epochs = recorded_epochs(10_000, 100, 10)
    assert epochs[:8] == [10, 12, 15, 18, 22, 27, 33, 41]
    assert set(np.diff(epochs)[-50:]) == {100} or epochs[-1] == 10_000
    assert max(np.diff(epochs)) == 100


def test_padding_rows_are_never_used():
    """Data of similar sizes share a compiled loop through padding rows, which are never used."""
    x = hm.bars_and_stripes(4)[:17]
    rows = hm.Dataset(x)
    assert len(rows.padded()) == 18
    fits = [
        hm.fit(start(x), data, key=KEY, weights=w, batch_size=5, epochs=3, gradient=hm.Exact()).rbm
        for data, w in ((x, None), (np.concatenate([x, x[:1]]), np.r_[np.ones(17), 0.0] * 18 / 17))
    ]
    assert not eqx.tree_equal(*fits)  # a padding row is not a row of weight zero
    exact = [hm.log_likelihood(fit, x).value for fit in fits]
    assert exact[0] == pytest.approx(exact[1], abs=0.5)


def test_grey_levels_are_drawn_anew_at_each_visit():
    data = hm.Dataset(np.full((2, 500), 64, np.uint8), scale=255, stochastic=True)
    draws = [data.take(jnp.arange(2), key=jax.random.key(i)) for i in range(2)]
    assert set(np.unique(np.asarray(draws[0], int))) == {0, 1}
    assert (draws[0] != draws[1]).any()
    assert abs(np.mean(draws) - 64 / 255) < 4 * np.sqrt(0.25 * 0.75 / 2000)
    with pytest.raises(hm.InputError, match="pass key="):
        data.rows()


def test_a_diverging_run_keeps_the_last_finite_model():
    x = np.random.default_rng(0).normal(size=(40, 3))
    rbm = hm.initialize(hm.Gaussian(3), hm.Gaussian(2), x, key=KEY)
    recipe = hm.Recipe(rate=1e20, centring=None)
    with pytest.warns(hm.DivergenceWarning, match="Lower the learning rate"):
        fit = hm.fit(rbm, x, key=KEY, optimizer=recipe, epochs=5, batch_size=10)
    assert fit.diverged
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(fit.rbm))


def test_monitors_and_callbacks():
    x = rows()
    held_out = rows(10, seed=1)
    seen = []
    fit = hm.fit(start(x), x, key=KEY, validation=held_out, callbacks=[seen.append], **QUICK)
    assert [record["update"] for record in fit.history] == [4, 8, 12, 16, 20, 24]
    assert {"epoch", "free_energy", "free_energy_gap", "samples_per_second"} <= set(fit.history[0])
    assert seen[-1].updates == seen[-1].total == 24
    assert seen[-1].seconds_left == 0.0
    gap = hm.free_energies(fit.rbm, held_out).mean() - hm.free_energies(fit.rbm, x).mean()
    np.testing.assert_allclose(fit.history[-1]["free_energy_gap"], gap, rtol=1e-3, atol=1e-4)


def test_a_record_holds_the_statistics_of_the_rows():
    """Weighted rows count as 1 / Σw² rows; the last two measurements are of held-out rows."""
    x = rows()
    held_out = rows(10, seed=1)
    weights = np.tile([1.0, 2.0, 3.0], 10)
    fit = hm.fit(start(x), x, key=KEY, weights=weights, validation=held_out, **QUICK)
    record = fit.history[-1]
    p = weights / weights.sum()
    energies = hm.free_energies(fit.rbm, x)
    mean = p @ energies
    variance = p @ (energies - mean) ** 2 / (1 / (p @ p) - 1)
    variance += hm.free_energies(fit.rbm, held_out).var(ddof=1) / len(held_out)
    expected = {
        "free_energy": mean,
        "free_energy_gap": hm.free_energies(fit.rbm, held_out).mean() - mean,
        "free_energy_gap_stderr": np.sqrt(variance),
        "reconstruction": hm.reconstruction_errors(fit.rbm, held_out).mean(),
        "pseudo_log_likelihood": hm.pseudo_log_likelihoods(fit.rbm, held_out).mean(),
    }
    assert {name: record[name] for name in expected} == pytest.approx(expected, rel=1e-3, abs=1e-4)


def test_continuous_rows_have_no_pseudo_likelihood_and_one_row_no_spread():
    x = np.random.default_rng(0).normal(size=(30, 3))
    rbm = hm.initialize(hm.Gaussian(3), hm.Bernoulli(2), x, key=KEY)
    record = hm.fit(rbm, x, key=KEY, validation=x[:1], **QUICK).history[-1]
    assert {"free_energy_gap", "reconstruction"} <= record.keys()
    assert not {"free_energy_gap_stderr", "pseudo_log_likelihood"} & record.keys()


def test_pseudo_likelihoods_take_few_rows_and_a_small_share_of_the_time(monkeypatch):
    x = rows()
    monkeypatch.setattr(monitors, "PSEUDO_WORK", 4 * 6 * 3)
    monitor = monitors.Monitors(start(x), hm.Dataset(x), None)
    rbm = start(x)
    statistics = monitor.measured(rbm)

    def names(seconds: float, *, last: bool) -> set[str]:
        return set(monitor.described(rbm, statistics, seconds, last=last))

    assert len(monitor.few) == 4
    assert names(1.0, last=False) == names(1.0, last=False)
    monitor.spent = 1.0
    assert "pseudo_log_likelihood" not in names(49.0, last=False)
    assert "pseudo_log_likelihood" in names(51.0, last=False)  # which takes time itself
    assert "pseudo_log_likelihood" in names(49.0, last=True)


def test_rows_that_weigh_nothing_are_not_measured(monkeypatch):
    """As in a bootstrap, where a third of the rows are never drawn."""
    x = rows()
    weights = np.zeros(30)
    weights[[4, 7, 19]] = [1.0, 2.0, 1.0]
    monkeypatch.setattr(monitors, "PSEUDO_WORK", 1)
    monkeypatch.setattr(monitors, "WORK", 1)
    monkeypatch.setattr(monitors, "FEWEST_ROWS", 5)
    measured = hm.fit(start(x), x, key=KEY, weights=weights, **QUICK).history[-1]
    assert measured["pseudo_log_likelihood"] < 0
    assert measured["free_energy"] != 0
    assert sorted(hm.Dataset(x, weights).some(5).weights) == [7.5, 7.5, 15.0]


def test_a_record_of_a_large_model_is_of_fewer_rows(monkeypatch):
    data = hm.Dataset(np.repeat(rows(), 20, axis=0))
    assert monitors.Monitors(start(rows()), data, data).watching == 1_200
    monkeypatch.setattr(monitors, "WORK", 200 * 6 * 3)
    assert monitors.Monitors(start(rows()), data, data).watching == 400
    monkeypatch.setattr(monitors, "WORK", 1)
    assert monitors.Monitors(start(rows()), data, None).watching == monitors.FEWEST_ROWS


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": rows() + 1}, r"data: a Bernoulli unit takes values in \[0, 1\]; got 2 in row"),
        ({"data": rows(columns=5)}, r"expected shape \(rows, 6\), with at least one row"),
        ({"data": hm.Dataset(rows() + 1)}, r"values in \[0, 1\]; got 2"),
        ({"data": np.full((3, 6), np.inf)}, "finite numbers; got inf in row 0, column 0"),
        ({"data": np.array([["a"] * 6])}, "expected numbers"),
        ({"weights": np.ones(4)}, "expected 30 finite non-negative numbers"),
        ({"weights": -np.ones(30)}, "non-negative"),
        ({"weights": np.zeros(30)}, "positive sum"),
        ({"epochs": 0}, "epochs: expected a whole number of at least 1; got 0"),
        ({"batch_size": -1}, "batch_size"),
        ({"validation": rows(columns=5)}, "validation: expected"),
    ],
)
def test_mistakes_are_named(change, message):
    arguments = {"data": rows(), "epochs": 2} | change
    with pytest.raises(hm.InputError, match=message):
        hm.fit(start(rows()), arguments.pop("data"), key=KEY, **arguments)


@pytest.mark.parametrize(
    ("visible", "seed"),
    [
        (hm.Ising(6), 1),
        (hm.Potts(3, states=3), 2),
        (hm.Mixed(hm.Bernoulli(3), hm.Gaussian(2)), 4),
    ],
    ids=str,
)
def test_the_defaults_learn_any_kind_of_rows(visible, seed, monkeypatch):
    """From a model's own samples, the likelihood of others comes close to that model's."""
    # So small a model would have 40,000 updates, but a tenth is enough.
    for name in ("FEWEST_UPDATES", "MOST_UPDATES"):
        monkeypatch.setattr(f"harmonium.training.arguments.{name}", 4_000)
    truth = balanced(random_rbm(visible, hm.Bernoulli(3), seed, coupling=1.0))
    drawn = visible.decode(exact_states(truth, 7_000, jax.random.key(seed)))
    x = drawn[:2_000]
    others = drawn[2_000:]
    rbm = hm.initialize(visible, hm.Bernoulli(3), x, key=KEY)
    fit = hm.fit(rbm, x, key=KEY)
    before, after, best = (hm.log_likelihood(m, others).value for m in (rbm, fit.rbm, truth))
    assert not fit.diverged
    assert after > best - 0.1 * (best - before) - 0.01, (before, after, best)


def test_a_transformation_without_extra_arguments_compiles_once():
    transformation = optax.scale(-0.1)
    first, second = (plan_run(start(rows()), rows(), optimizer=transformation) for _ in "ab")
    assert first.method.update is second.method.update


class TooFast(hm.Persistent):
    """PCD whose usual rate makes columns of any numbers diverge."""

    def usual_rate(self, rbm):
        return 16.0


def test_a_run_that_diverges_at_its_usual_rate_starts_again_at_a_lower_one():
    x = np.random.default_rng(0).normal(size=(60, 8)) @ np.random.default_rng(1).normal(size=(8, 8))
    rbm = hm.initialize(hm.Gaussian(8), hm.Bernoulli(4), x / x.std(0), key=KEY)
    given = {"key": KEY, "gradient": TooFast(hm.Gibbs(1), 20), "epochs": 30, "batch_size": 20}
    reports = []
    fit = hm.fit(rbm, x / x.std(0), **given, callbacks=[reports.append])
    assert not fit.diverged
    assert "the run diverged at higher rates, the first of which was 16" in fit.notes[-1]
    rate = float(fit.notes[-1].split()[3].rstrip(":"))
    assert rate in (4.0, 1.0, 0.25, 0.062, 0.016)
    assert [record["update"] for record in fit.history] == sorted(
        {report.updates for report in reports if report.metrics}
    )
    slow = type(
        "Slow",
        (TooFast,),
        {"usual_rate": lambda self, rbm: 16.0 / 4 ** round(np.log(16 / rate) / np.log(4))},
    )
    same = hm.fit(rbm, x / x.std(0), **given | {"gradient": slow(hm.Gibbs(1), 20)})
    assert eqx.tree_equal(fit.rbm, same.rbm)
    again = hm.fit(rbm, x / x.std(0), **given | {"epochs": 60}, state=fit.state)
    assert "the run diverged at higher rates" in again.notes[-1]
    with pytest.warns(hm.DivergenceWarning):
        at_given_rate = hm.fit(rbm, x / x.std(0), **given, optimizer=hm.Recipe(rate=16.0))
    assert at_given_rate.diverged


FOLLOWED = {"validation": rows(seed=1), "gradient": hm.Persistent(hm.Gibbs(1), 20), "key": KEY}


@pytest.fixture
def few_updates(monkeypatch):
    """Make default runs short."""
    for name in ("FEWEST_UPDATES", "MOST_UPDATES"):
        monkeypatch.setattr(f"harmonium.training.arguments.{name}", 200)


def at_usual_rate():
    recipe = hm.Recipe(rate=0.1, penalties=(hm.Huber(),))
    return hm.fit(start(rows()), rows(), **FOLLOWED, epochs=200, optimizer=recipe, keep="best")


def test_a_run_whose_held_out_rows_are_followed_has_four_times_the_usual_rate(few_updates):
    fit = hm.fit(start(rows()), rows(), **FOLLOWED)
    assert rate_of(fit.state.optimizer) == pytest.approx(0.4)
    assert fit.notes[-1].startswith("the rate is 0.4: 4 times the usual one")
    stopped = hm.fit(start(rows()), rows(), **FOLLOWED, callbacks=[lambda r: r.updates >= 50])
    rest = hm.fit(start(rows()), rows(), **FOLLOWED, state=stopped.state)
    assert eqx.tree_equal(rest.rbm, fit.rbm)
    for options in ({"validation": None}, {"keep": "last"}):  # nothing says if it is too high
        fit = hm.fit(start(rows()), rows(), **FOLLOWED | options)
        assert rate_of(fit.state.optimizer) == pytest.approx(0.1)


def test_a_run_that_loses_log_z_at_the_higher_rate_begins_again(few_updates, monkeypatch):
    lost = []

    def scored_once(state, energy, updates, half_width=0.0):
        """Lose log Z at the first record after update 100."""
        state, metrics = scored(state, energy, updates, half_width)
        if updates >= 100 and not lost:
            lost.append(updates)
            return state, {}
        return state, metrics

    monkeypatch.setattr("harmonium.training.judge.scored", scored_once)
    fit = hm.fit(start(rows()), rows(), **FOLLOWED)
    assert lost
    assert fit.notes[-1].startswith(
        "the rate is 0.1: at higher rates, the first of which was 0.4, the run diverged, or"
    )
    usual = at_usual_rate()
    assert eqx.tree_equal(fit.rbm, usual.rbm)
    assert [r["log_likelihood"] for r in fit.history] == [
        r["log_likelihood"] for r in usual.history
    ]


def test_a_warning_of_divergence_points_to_the_users_call():
    """Python shows a warning once for each place, and filters go by the place."""
    rows = np.random.default_rng(0).integers(0, 2, (40, 6))
    rbm = hm.initialize(hm.Bernoulli(6), hm.Bernoulli(3), rows, key=jax.random.key(0))
    with pytest.warns(hm.DivergenceWarning) as caught:
        hm.fit(rbm, rows, key=jax.random.key(0), optimizer=optax.sgd(1e30), epochs=5)
    assert caught[0].filename == __file__
