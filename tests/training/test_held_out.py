"""What held-out rows decide: the model that is kept, and the strength of the penalty."""

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm
from harmonium.training.judge import Judge
from harmonium.training.monitors import Monitors, RowStatistics, adjusted_gap
from harmonium.training.optimizers import averaged_model
from harmonium.training.penalties import (
    evidence_strength,
    next_strength,
    prior_strength,
    size_of_weights,
)
from harmonium.training.tracking import EXACT_WORK, Tracker, fresh_log_z, scored
from registry import exact_states, random_rbm

KEY = jax.random.key(11)
RNG = np.random.default_rng(5)
NOISE = (RNG.random((40, 10)) < 0.5).astype(np.uint8)  # to learn any of it is overfitting
OTHERS = (RNG.random((40, 10)) < 0.5).astype(np.uint8)
STRONG = hm.Recipe(rate=0.5)
FOLLOWING = hm.Recipe(rate=0.5, penalties=(hm.Huber(),))
SHORT = {"key": KEY, "gradient": hm.Persistent(hm.Gibbs(1), 50), "batch_size": 20}


def start(x=NOISE, hidden=6, visible=hm.Bernoulli):
    return hm.initialize(visible(x.shape[1]), hm.Bernoulli(hidden), x, key=KEY)


def overfitted(**options):
    given = SHORT | {"validation": OTHERS, "epochs": 400, "optimizer": STRONG, "keep": "best"}
    return hm.fit(start(), NOISE, **(given | options))


def test_the_log_likelihood_of_each_record_is_that_of_its_model():
    """Ten visible units: log Z is exact, so every record equals the enumerated likelihood."""
    seen = []
    fit = overfitted(callbacks=[seen.append], epochs=60, keep="last")
    measured = [report for report in seen if report.metrics]
    for report in measured[:-1]:
        exact = hm.log_likelihood(report.rbm, OTHERS).value
        assert report.metrics["log_likelihood"] == pytest.approx(exact, abs=1e-4)
        assert report.metrics["log_likelihood_low"] == report.metrics["log_likelihood_high"]
    assert len(fit.history) == len(measured) > 5


def test_the_model_with_the_highest_log_likelihood_is_kept():
    fit = overfitted()
    values = {record["update"]: record["log_likelihood"] for record in fit.history}
    best = max(values, key=values.get)
    assert best < 200 < 800 == fit.history[-1]["update"]
    assert values[best] > values[800] + 0.5
    value = hm.log_likelihood(fit.rbm, OTHERS).value
    assert value == pytest.approx(values[best], abs=1e-4)
    assert f"the model is the one after update {best:,}, where held-out rows had" in fit.message
    stopped = overfitted(keep="last", callbacks=[lambda report: report.updates == best])
    assert eqx.tree_equal(fit.rbm, stopped.rbm)


def test_the_last_model_is_kept_where_that_is_asked_for():
    last = overfitted(keep="last")
    assert eqx.tree_equal(last.rbm, averaged_model(last.state.optimizer, last.state.rbm))
    assert "held-out" not in last.message
    for options in ({"epochs": 2}, {"optimizer": STRONG, "epochs": 2}):
        fit = hm.fit(start(), NOISE, validation=OTHERS, **SHORT, **options)
        assert eqx.tree_equal(fit.rbm, averaged_model(fit.state.optimizer, fit.state.rbm))


def pulled(**options):
    """Fit with a penalty that follows the gap."""
    return overfitted(**{"epochs": 100, "optimizer": FOLLOWING} | options)


@functools.cache
def whole_run(work):
    """Return the fit without a break, once for each setting of EXACT_WORK."""
    return pulled()


@pytest.mark.parametrize("stop_at", [4, 30, 150])
@pytest.mark.parametrize("work", [EXACT_WORK, 0], ids=["exact", "particles"])
def test_a_resumed_run_keeps_what_it_knew(stop_at, work, monkeypatch):
    """Also where log Z is followed by particles, and where the penalty follows the gap."""
    monkeypatch.setattr("harmonium.training.tracking.EXACT_WORK", work)
    whole = whole_run(work)
    part = pulled(callbacks=[lambda report: report.updates >= stop_at])
    assert stop_at <= int(part.state.updates) < 200
    rest = pulled(state=part.state)
    assert eqx.tree_equal(rest.state, whole.state)
    assert eqx.tree_equal(rest.rbm, whole.rbm)


def test_a_state_of_another_kind_of_run_is_begun_anew():
    without = hm.fit(start(), NOISE, **SHORT, epochs=5, optimizer=STRONG)
    assert without.state.held_out is None
    fit = overfitted(state=without.state, epochs=30)
    assert np.isfinite(fit.history[-1]["log_likelihood"])
    back = hm.fit(start(), NOISE, **SHORT, epochs=40, optimizer=STRONG, state=fit.state)
    assert back.state.held_out is None


def tracked(visible, hidden, seed, records=12, coupling=1.5):
    """Return the error of log Z at the end of a path of models, in standard errors."""
    end = random_rbm(visible, hidden, seed, coupling=coupling)
    tracker = Tracker(end, 100, None, key=jax.random.key(seed))
    tracker.is_exact = False
    state = tracker.begin()
    for i in range(1, records + 1):
        rbm = hm.RBM(end.visible, end.hidden, end.weights * (i / records))
        state = tracker.track(state, rbm, 100 * i)
    estimate = state.estimate
    exact = hm.log_z(end).value
    assert not estimate.doubt
    return (estimate.value - exact) / math.sqrt((estimate.half_width / 2.0) ** 2 + 1e-8)


@pytest.mark.parametrize(
    "layers",
    [
        (hm.Bernoulli(8), hm.Bernoulli(6)),
        (hm.Ising(8), hm.Ising(5)),
        (hm.Potts(4, states=3), hm.Bernoulli(6)),
        (hm.Gaussian(4), hm.Bernoulli(6)),
    ],
    ids=str,
)
def test_log_z_is_followed_along_the_models(layers):
    """The last errors over ten keys are within chance: χ² at a level of 1e−4."""
    coupling = 0.5 if "Gaussian" in str(layers) else 1.5
    errors = [tracked(*layers, seed, coupling=coupling) for seed in range(10)]
    assert np.square(errors).sum() < 35.6 * 2.0  # twice χ²₁₀: variances are estimated, too


def test_log_z_is_lost_at_a_leap_between_models_and_found_again():
    rbm = random_rbm(hm.Bernoulli(60), hm.Bernoulli(12), 3, coupling=6.0)
    tracker = Tracker(rbm, 10, None, key=KEY)
    tracker.is_exact = False
    state = tracker.track(tracker.begin(), rbm, 1)
    assert state.estimate.doubt
    mild = hm.RBM(rbm.visible, rbm.hidden, 0.05 * rbm.weights)
    for i in range(2, 12):
        state = tracker.track(state, mild, 1_000 * i)
    assert not state.estimate.doubt
    assert abs(state.estimate.value - hm.log_z(mild).value) < 2.5 * state.estimate.half_width + 0.2
    assert state.note.startswith("at ")


def test_rows_with_missing_values_choose_a_model_too():
    x = OTHERS.astype(float)
    x[3, 2] = np.nan
    fit = hm.fit(start(), NOISE, **SHORT, validation=x, keep="best", epochs=20)
    value = hm.log_likelihood(fit.rbm, x, key=jax.random.key(0)).value
    recorded = [record["log_likelihood"] for record in fit.history if "log_likelihood" in record]
    assert value == pytest.approx(max(recorded), abs=0.05)
    assert "held-out" in fit.message


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"keep": "best"}, "keep: expected validation rows to find the best model; got none"),
        ({"keep": "first"}, "keep: expected 'best', 'last' or None; got 'first'"),
        ({"keep": 3, "validation": OTHERS}, "keep: expected 'best', 'last' or None; got 3"),
    ],
)
def test_mistakes_are_named(given, message):
    with pytest.raises(hm.InputError, match=message):
        hm.fit(start(), NOISE, **SHORT, epochs=1, **given)


def test_a_run_of_given_length_or_recipe_has_no_automatic_penalty(monkeypatch):
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 200)
    monkeypatch.setattr("harmonium.training.arguments.MANY_EPOCHS", 20)
    default = hm.fit(start(), NOISE, **SHORT)
    assert default.history[-1]["penalty"] == pytest.approx(1 / 40)
    per_epoch = default.history[-1]["update"] // default.history[-1]["epoch"]
    for options in ({"epochs": 3}, {"optimizer": hm.Recipe(), "epochs": 3}):
        fit = hm.fit(start(), NOISE, **SHORT, **options)
        assert "penalty" not in fit.history[-1]
        assert fit.history[-1]["update"] == 3 * per_epoch


# --- the penalty's strength --------------------------------------------------------------


def test_codings_of_the_same_units_have_the_same_prior():
    """W of ±1 units is a quarter of that of 0/1 units: its penalty has four times the strength."""
    zero_one = prior_strength(random_rbm(hm.Bernoulli(5), hm.Bernoulli(3), 0), 100)
    spins = prior_strength(random_rbm(hm.Ising(5), hm.Ising(3), 0), 100)
    assert zero_one == pytest.approx(0.01)
    assert spins == pytest.approx(0.04)


def test_the_strength_follows_the_gap_and_chance_does_not_raise_it():
    assert evidence_strength(3.0, 1.0, 400.0) == pytest.approx(0.005)
    assert evidence_strength(0.5, 1.0, 400.0) == 0.0
    assert evidence_strength(1.0, 0.0, 0.0) == 0.0
    assert next_strength(0.01, 0.01, 0.0, 1.0, 50.0) == pytest.approx(0.01)
    assert next_strength(0.01, 0.01, 9.0, 1.0, 50.0) == pytest.approx(0.04)
    assert next_strength(0.02, 0.01, math.nan, 1.0, 50.0) == 0.02
    assert next_strength(0.01, 0.01, 1e9, 0.0, 1.0) == pytest.approx(0.1)


def test_the_adjusted_gap_is_unbiased_and_varies_less():
    """Rows of one distribution: the gap's mean is 0, within chance, and its error is its spread."""
    rbm = random_rbm(hm.Bernoulli(8), hm.Bernoulli(4), 2, coupling=0.5)
    raw = []
    adjusted = []
    errors = []
    count = 40
    drawn = rbm.visible.decode(exact_states(rbm, count * 120, jax.random.key(0)))
    for x in drawn.reshape(count, 120, 8):
        monitors = Monitors(rbm, hm.Dataset(x[:90]), hm.Dataset(x[90:]))
        statistics = monitors.measured(rbm)
        gap, stderr = adjusted_gap(*statistics)
        raw.append(statistics[1].energy - statistics[0].energy)
        adjusted.append(gap)
        errors.append(stderr)
    spread = np.std(adjusted, ddof=1)
    assert abs(np.mean(adjusted)) < 3.9 * spread / math.sqrt(count)
    assert spread < np.std(raw)
    assert 0.6 < np.mean(errors) / spread < 1.5


def test_one_held_out_row_has_no_error():
    statistics = RowStatistics(1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0)
    gap, stderr = adjusted_gap(statistics._replace(effective_size=9.0), statistics)
    assert math.isnan(stderr)
    assert gap == 0.0
    fit = hm.fit(start(), NOISE, **SHORT, validation=OTHERS[:1], epochs=20, optimizer=FOLLOWING)
    assert fit.history[-1]["penalty"] == pytest.approx(1 / 40)


@pytest.mark.parametrize("seed", range(3))
def test_a_few_rows_do_not_call_for_a_penalty_by_chance(seed):
    """Rows of the model itself: a gap beyond its error is rare, for two rows and for copies too."""
    rbm = random_rbm(hm.Bernoulli(8), hm.Bernoulli(4), seed, coupling=1.0)
    drawn = rbm.visible.decode(exact_states(rbm, 60 * 45, jax.random.key(seed)))
    beyond = {"two rows": 0, "copies of one row": 0}
    for x in drawn.reshape(60, 45, 8):
        for name, held_out in zip(beyond, (x[40:42], x[[40] * 5]), strict=True):
            statistics = Monitors(rbm, hm.Dataset(x[:40]), hm.Dataset(held_out)).measured(rbm)
            gap, stderr = adjusted_gap(*statistics)
            beyond[name] += gap > stderr
    assert beyond["two rows"] < 15  # 60 trials; a sixth of them, if errors were known
    assert beyond["copies of one row"] < 30


def noisy_copies(rows):
    """Return rows of 100 columns: each is one of three bits, flipped with probability 0.35."""
    bits = RNG.random((rows, 3)) < 0.5
    return (bits[:, np.arange(100) % 3] ^ (RNG.random((rows, 100)) < 0.35)).astype(np.uint8)


# The run overfits on purpose, so its last model is worth less than independent units.
@pytest.mark.filterwarnings("ignore::harmonium.PoorModelWarning")
def test_the_penalty_grows_where_a_run_overfits(monkeypatch):
    x = noisy_copies(150)
    others = noisy_copies(150)
    given = SHORT | {"validation": others, "epochs": 150, "keep": "last"}
    plain = hm.fit(start(x, 12), x, **given, optimizer=STRONG)
    following = hm.fit(start(x, 12), x, **given, optimizer=FOLLOWING)
    with monkeypatch.context() as patch:  # the strength stays at 1/150
        patch.setattr("harmonium.training.judge.next_strength", lambda strength, *_: strength)
        fixed = hm.fit(start(x, 12), x, **given, optimizer=FOLLOWING)
    assert fixed.history[-1]["penalty"] == pytest.approx(1 / 150)
    assert following.history[0]["penalty"] == pytest.approx(1 / 150)
    assert following.history[-1]["penalty"] > 1.5 / 150
    worst, middle, best = (run.history[-1]["log_likelihood"] for run in (plain, fixed, following))
    assert best > middle + 1.0 > worst + 2.0
    assert any("by the free-energy gap" in note for note in following.notes)
    weighted = hm.Dataset(NOISE, np.ones(40))  # such rows are not cross-validated
    alone = hm.fit(start(), weighted, **SHORT, epochs=20, optimizer=FOLLOWING)
    assert alone.history[-1]["penalty"] == pytest.approx(1 / 40)
    assert any("with held-out rows" in note for note in alone.notes)


@pytest.mark.parametrize("seed", range(3))
def test_a_gap_by_chance_does_not_hold_small_weights_at_zero(seed):
    """Held-out rows that differ from the others from the start: the model still learns."""
    draws = np.random.default_rng(seed)
    which = np.arange(30) % 3

    def rows(count, on):
        bits = draws.random((count, 3)) < on
        return (bits[:, which] ^ (draws.random((count, 30)) < 0.2)).astype(np.uint8)

    x = rows(300, 0.5)
    others = rows(30, 0.7)
    recipe = hm.Recipe(rate=0.1, penalties=(hm.Huber(),))
    given = SHORT | {"validation": others, "epochs": 300, "keep": "last", "optimizer": recipe}
    fit = hm.fit(start(x, 8), x, **given)
    assert max(record["penalty"] for record in fit.history) < 10 / 300
    learned, first = (record["log_likelihood"] for record in (fit.history[-1], fit.history[0]))
    assert learned > first + 1.0


def test_weights_below_the_width_of_the_penalty_count_as_the_width():
    rbm = random_rbm(hm.Bernoulli(4), hm.Bernoulli(3), 0)
    small = eqx.tree_at(lambda m: m.weights, rbm, 1e-6 * rbm.weights)
    assert float(size_of_weights(small)) == pytest.approx(12 * 0.05)
    large = eqx.tree_at(lambda m: m.weights, rbm, jnp.ones((4, 3)))
    assert float(size_of_weights(large)) == pytest.approx(12 * 0.95)


def test_weights_can_grow_from_zero_against_the_penalty():
    """L1 holds weights at 0 that a Huber penalty of the same strength lets grow."""
    first = RNG.random((1_000, 1)) < 0.5
    x = (first ^ (RNG.random((1_000, 6)) < 0.25)).astype(np.uint8)
    sizes = []
    for penalty in (hm.L1(0.002), hm.Huber(0.002)):
        recipe = hm.Recipe(rate=0.1, penalties=(penalty,))
        given = {"gradient": hm.Exact(), "optimizer": recipe}
        fit = hm.fit(start(x, 1), x, key=KEY, epochs=400, **given)
        sizes.append(float(jnp.linalg.norm(fit.rbm.weights)))
    assert sizes[0] < 0.05 < 1.0 < sizes[1]


def test_a_stream_has_no_automatic_penalty():
    fit = hm.partial_fit(start(), NOISE, key=KEY)
    assert not any("penalty" in note for note in fit.notes)
    with pytest.raises(hm.InputError, match="penalties: expected a number as the strength"):
        hm.partial_fit(start(), NOISE, key=KEY, optimizer=hm.Recipe(penalties=(hm.Huber(),)))


@pytest.mark.parametrize("missing", [0.05, 0.5])  # summed out, or annealed
def test_the_recorded_interval_of_rows_with_gaps_holds_their_log_likelihood(missing):
    """The final model's exact score lies in the last record's interval, over three seeds."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rows = (rng.random((60, 12)) < rng.random(12)).astype(float)
        rows[rng.random(rows.shape) < missing] = np.nan
        rows[:, 0] = rng.integers(0, 2, 60)  # something is seen in each row
        given = SHORT | {"validation": rows[30:], "epochs": 20, "keep": "last"}
        fit = hm.fit(
            hm.initialize(hm.Bernoulli(12), hm.Bernoulli(14), rows[:30], key=KEY),
            **({"data": rows[:30]} | given),
        )
        last = fit.history[-1]
        exact = hm.log_likelihood(fit.rbm, rows[30:])
        assert exact.converged
        low = last["log_likelihood_low"]
        high = last["log_likelihood_high"]
        assert low - 1e-4 <= exact.value <= high + 1e-4, seed
        assert (high - low > 1e-4) is (missing > 0.1)


def test_the_interval_of_a_fresh_estimate_holds_log_z():
    """The interval holds enumerated log Z, also if the particles know nothing of the model."""
    for seed in range(6):
        rbm = random_rbm(hm.Bernoulli(9), hm.Bernoulli(7), seed, coupling=2.0)
        fresh = fresh_log_z(rbm, rbm.uncoupled, 1_000, key=KEY)
        exact = hm.log_z(rbm).value
        assert fresh.low <= exact <= fresh.high
        assert fresh.high - fresh.low < 5.0
        assert abs(fresh.log_z - exact) < 3.0 * fresh.half_width + 0.02


def test_a_best_model_that_is_not_confirmed_is_not_kept(monkeypatch):
    """A log-likelihood that was followed wrongly: the record that seemed best is found out."""

    def mistaken(state, free_energy, updates, half_width):
        state, metrics = scored(state, free_energy, updates, half_width)
        if metrics and updates == 10:
            state = state._replace(value=state.value + 1e3)
        return state, metrics

    monkeypatch.setattr("harmonium.training.tracking.EXACT_WORK", 0)
    monkeypatch.setattr("harmonium.training.judge.scored", mistaken)
    bits = RNG.random((80, 2)) < 0.5
    x = (bits[:, np.arange(10) % 2] ^ (RNG.random((80, 10)) < 0.05)).astype(np.uint8)
    recipe = hm.Recipe(rate=0.2)
    given = SHORT | {"validation": x[40:], "epochs": 500, "optimizer": recipe, "keep": "best"}
    fit = hm.fit(start(x[:40]), x[:40], **given)
    assert "did not confirm" in fit.message
    assert int(fit.state.held_out.update) == 10
    last = averaged_model(fit.state.optimizer, fit.state.rbm)
    assert eqx.tree_equal(fit.rbm, last)
    assert hm.log_likelihood(last, x).value > -5.0  # independent units have −6.9


def test_training_rows_that_lose_what_they_had_gained_are_told_from_overfitting():
    copies = np.repeat(RNG.random((80, 2)) < 0.5, 5, axis=1).astype(np.uint8)
    slow = hm.Recipe(rate=0.1)
    learned = hm.fit(start(copies), copies, **SHORT, epochs=400, optimizer=slow).rbm
    cases = [
        (copies, learned, start(copies), True),  # the data are lost
        (copies, start(copies), learned, False),
        (NOISE, start(), overfitted(keep="last").rbm, False),  # held-out rows lose, training gain
    ]
    for x, first, then, expected in cases:
        held_out = OTHERS if x is NOISE else x[40:]
        judge = Judge(start(x), hm.Dataset(x[:40]), hm.Dataset(held_out), 0.0)
        judge.begin(Tracker(start(x), 10, None, key=KEY))
        assert not judge.has_fallen(*judge.measure(first, 10, None))
        assert judge.has_fallen(*judge.measure(then, 20, None)) == expected


def test_a_run_that_loses_the_data_begins_again_at_a_lower_rate(monkeypatch):
    records = iter([False] * 5 + [True] + [False] * 1_000)
    monkeypatch.setattr(Judge, "has_fallen", lambda *_: next(records))
    monkeypatch.setattr("harmonium.training.arguments.FEWEST_UPDATES", 100)
    given = {key: value for key, value in SHORT.items() if key != "gradient"}
    fit = hm.fit(start(), NOISE, **given, validation=OTHERS)
    assert fit.history[0]["update"] < fit.history[-1]["update"]
    assert any("the rate is 0.1: at higher rates" in note for note in fit.notes)
