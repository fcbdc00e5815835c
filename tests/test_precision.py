import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.gradients import mean_free_energy
from harmonium.likelihood.partition_function.annealed import Annealed
from harmonium.likelihood.partition_function.enumerated import log_z
from harmonium.training.arguments import plan_run
from harmonium.transforms import precision as rounding
from registry import ALL, LEVEL, identify, methods_for_all_units, random_rbm

EPSILON = 2.0**-8  # largest relative error of rounding to eight bits, and as much for sums
# One of each kind: which numbers it multiplies does not depend on how many chains or sweeps it has.
OF_ALL_UNITS = methods_for_all_units()
OF_KINDS = list({type(m): m for m in OF_ALL_UNITS}.values())
METHODS = [method for method in OF_KINDS if method.about.multiplies_states]
BARS = hm.open_source("bars").train
FEW_ROWS = hm.samplers.Cloud.uniform(jnp.asarray(BARS[:11], jnp.float32))


def with_short_weights(rbm):
    """Return the model with the weights rounded to bfloat16."""
    short = rbm.weights.astype(jnp.bfloat16).astype(jnp.float32)
    return eqx.tree_at(lambda m: m.weights, rbm, short)


def wide(seed=0, visible=16, hidden=12):
    return random_rbm(hm.Bernoulli(visible), hm.Bernoulli(hidden), seed)


def test_products_are_those_of_the_rounded_weights_to_float32():
    rbm = wide()
    v = rbm.visible.states(jnp.arange(100))
    h = rbm.hidden.states(jnp.arange(100))
    coarse = hm.transforms.rounded(rbm)
    meant = with_short_weights(rbm)
    np.testing.assert_allclose(coarse.inputs_to_h(v), meant.inputs_to_h(v), atol=1e-5)
    np.testing.assert_allclose(coarse.inputs_to_v(h), meant.inputs_to_v(h), atol=1e-5)
    np.testing.assert_allclose(coarse.T.free_energy(h), meant.T.free_energy(h), atol=2e-5)
    assert abs(coarse.inputs_to_h(v) - rbm.inputs_to_h(v)).max() > 1e-3  # it is a different model


def products(jaxpr):
    """Return all dot products of a program, inner programs included."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            yield equation
        programs = lambda x: hasattr(x, "eqns") or hasattr(x, "jaxpr")  # noqa: E731
        for inner in jax.tree.leaves(list(equation.params.values()), is_leaf=programs):
            if programs(inner):
                yield from products(getattr(inner, "jaxpr", inner))


@pytest.mark.parametrize("method", OF_ALL_UNITS if ALL else OF_KINDS, ids=identify)
def test_no_device_may_round_the_weights_of_a_float32_run(method):
    """GPUs and TPUs multiply float32 with ten or seven bits unless more precision is requested."""
    rbm = wide(3)
    key = jax.random.key(0)

    def program(rbm, key):
        state = method.init(rbm, FEW_ROWS, key=key)
        return method.estimate(rbm, FEW_ROWS, state, key=key)[0]

    arrays, rest = eqx.partition((rbm, key), eqx.is_array)
    traced = jax.make_jaxpr(lambda arrays: program(*eqx.combine(arrays, rest)))(arrays)
    shapes = {rbm.weights.shape, rbm.weights.shape[::-1]}
    highest = (jax.lax.Precision.HIGHEST,) * 2
    with_weights = [
        equation
        for equation in products(traced.jaxpr)
        if any(operand.aval.shape in shapes for operand in (*equation.invars, *equation.outvars))
    ]
    assert all(equation.params["precision"] == highest for equation in with_weights)
    assert with_weights


@pytest.mark.parametrize(
    ("rows", "turned"),
    [
        (rows, turned)
        for i, rows in enumerate((1, 2, 7, 24, 48))
        for turned in (False, True)
        if ALL or rows == 1 or turned == (i % 2 == 0)
    ],
)
def test_the_gradient_is_that_of_the_rounded_model_within_the_rounding_of_means(rows, turned):
    rbm = wide().T if turned else wide()
    states = rbm.visible.states(jax.random.randint(jax.random.key(1), (rows,), 0, 4096))
    data = hm.samplers.Cloud.uniform(states)

    @eqx.filter_jit
    @eqx.filter_grad
    def gradient(rbm):
        return data.weights @ rbm.free_energy(data.states)

    computed = gradient(hm.transforms.rounded(rbm)).weights.weights
    expected = gradient(with_short_weights(rbm)).weights
    largest = np.abs(data.weights @ states)[:, None]  # the mean of a unit is at most 1
    assert (abs(computed - expected) <= EPSILON * largest + 1e-6).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 14, 30, 100, 500, 512])
def test_units_that_are_constant_keep_their_mean_but_for_one_rounding_of_few_rows(rows):
    """They would have the same error in all rows of a phase, but another one in each phase."""
    mean = np.linspace(0.5, 1.0, 200, endpoint=False, dtype=np.float32)
    rbm = hm.RBM.from_arrays(np.zeros((1, 200)), [0.0], np.log(mean) - np.log1p(-mean))
    always_on = hm.samplers.Cloud.uniform(jnp.ones((rows, 1)))
    gradient = eqx.filter_jit(eqx.filter_grad(mean_free_energy))
    rounded = gradient(hm.transforms.rounded(rbm), always_on).weights.weights
    error = rounded - gradient(rbm, always_on).weights
    # Of the golden section's multiples, no share is off by more than three of them.
    assert (abs(error) <= 3.0 * EPSILON / rows + 1e-6).all()


def test_rounding_does_not_move_the_gradient_over_all_orders_of_the_rows():
    rbm = hm.RBM.from_arrays(np.zeros((16, 3)), np.zeros(16), [30.0, 0.3, -0.7])
    states = jnp.asarray(BARS[:30], jnp.float32)
    gradient = eqx.filter_jit(eqx.filter_grad(mean_free_energy))
    exact = gradient(rbm, hm.samplers.Cloud.uniform(states)).weights
    orders = np.random.default_rng(0).permuted(np.tile(np.arange(30), (400, 1)), axis=1)
    rounded = [
        gradient(hm.transforms.rounded(rbm), hm.samplers.Cloud.uniform(states[order]))
        for order in orders
    ]
    errors = np.stack([np.asarray(grads.weights.weights) - exact for grads in rounded])
    assert (errors.std(0) <= 0.5 * EPSILON / np.sqrt(30)).all()
    assert (abs(errors.mean(0)) <= 3.0 * EPSILON / 30).all()


@pytest.mark.parametrize("method", METHODS, ids=identify)
def test_methods_that_claim_to_multiply_only_states_do(method):
    """A `Rounded` model gives the results of a float32 model with weights rounded to bfloat16."""
    rbm = wide(3)

    @eqx.filter_jit
    def estimated(rbm, key):
        state = method.init(rbm, FEW_ROWS, key=key)
        grads, _, info = method.estimate(rbm, FEW_ROWS, state, key=key)
        return jax.tree.leaves(grads), info.gap

    models = hm.transforms.rounded(rbm), with_short_weights(rbm)
    (grads, gap), (expected_grads, expected_gap) = (
        estimated(model, jax.random.key(0)) for model in models
    )
    for coarse, expected in zip(grads, expected_grads, strict=True):
        np.testing.assert_allclose(coarse, expected, atol=2 * EPSILON)
    np.testing.assert_allclose(gap, expected_gap, atol=1e-4)


def test_runs_reach_the_likelihood_of_float32_runs():
    """Exact log-likelihoods of eight runs each, by Welch's test."""

    @eqx.filter_jit
    def score(rbm):
        return -rbm.free_energy(jnp.asarray(BARS, jnp.float32)).mean() - log_z(rbm)

    scores = {"float32": [], "bfloat16": []}
    given = {"gradient": hm.Persistent(hm.Gibbs(2), 64), "epochs": 500}
    for seed in range(8):
        key = jax.random.key(seed)
        rbm = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(8), BARS, key=key)
        for precision, of_precision in scores.items():
            fit = hm.fit(rbm, BARS, key=key, precision=precision, **given)
            of_precision.append(float(score(fit.rbm)))
    assert stats.ttest_ind(*scores.values(), equal_var=False).pvalue > LEVEL
    assert np.mean(scores["bfloat16"]) > -10.6  # uniform rows have −16 log 2 = −11.09


def test_steps_smaller_than_the_rounding_are_not_lost():
    key = jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(8), BARS, key=key)
    rbm = eqx.tree_at(lambda m: m.weights, rbm, 1.0 + rbm.weights)
    recipe = hm.Recipe(rate=1e-4, averaging=None)
    fitted = hm.fit(rbm, BARS, key=key, epochs=5, optimizer=recipe, precision="bfloat16").rbm
    assert 0 < abs(fitted.weights - rbm.weights).max() < 2.0**-9


def test_a_resumed_run_in_bfloat16_equals_an_uninterrupted_one():
    key = jax.random.key(0)
    given = {"precision": "bfloat16", "optimizer": hm.Recipe(hold=1.0)}
    rbm = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(8), BARS, key=key)
    whole = hm.fit(rbm, BARS, key=key, epochs=6, **given)
    half = hm.fit(rbm, BARS, key=key, epochs=3, **given)
    rest = hm.fit(rbm, BARS, key=key, epochs=6, state=half.state, **given)
    assert (rest.state.rbm.weights == whole.state.rbm.weights).all()
    assert not (half.state.rbm.weights == rbm.weights).all()
    assert any("bfloat16" in note for note in whole.notes)
    assert hm.fit(rbm, BARS, key=key, epochs=3, precision="float32").notes == ()


def bfloat16_is_faster(monkeypatch, is_faster):
    """Put a measurement in the place of this device's."""
    timing = rounding.Timing(*((2.0, 1.0) if is_faster else (1.0, 2.0)))
    monkeypatch.setattr("harmonium.transforms.precision.precision_timing", lambda rbm, rows: timing)


def chosen(
    monkeypatch,
    *,
    is_faster=True,
    size=1,
    fewest=1,
    rows=BARS,
    layer=None,
    precision=None,
    **rest,
):
    """Return whether a run would compute its products in bfloat16."""
    bfloat16_is_faster(monkeypatch, is_faster)
    monkeypatch.setattr("harmonium.transforms.precision.WORTHWHILE", size)
    monkeypatch.setattr("harmonium.transforms.precision.FEWEST_ROWS", fewest)
    layer = hm.Bernoulli(16) if layer is None else layer
    rbm = hm.initialize(layer, hm.Bernoulli(8), rows, key=jax.random.key(0))
    return plan_run(rbm, rows, precision=precision, **rest).method.rounds


def test_bfloat16_is_chosen_where_it_is_exact_faster_and_worth_it(monkeypatch):
    assert chosen(monkeypatch)
    assert not chosen(monkeypatch, is_faster=False)
    assert not chosen(monkeypatch, size=10**9)
    assert not chosen(monkeypatch, fewest=len(BARS) + 1)
    assert not chosen(monkeypatch, precision="float32")
    assert chosen(monkeypatch, is_faster=False, size=10**9, precision="bfloat16")
    spins = 2 * BARS.astype(int) - 1
    assert chosen(monkeypatch, rows=spins, layer=hm.Ising(16))
    mixed = hm.Mixed(hm.Bernoulli(8), hm.Potts(8, states=2))
    assert chosen(monkeypatch, rows=BARS, layer=mixed)
    grey = BARS * 0.3
    drawn = hm.Dataset(BARS * 51, scale=255.0, stochastic=True)
    refused = {"rows": grey}, {"rows": grey, "layer": hm.Gaussian(16)}, {"gradient": "tap"}
    assert not any(chosen(monkeypatch, **case) for case in refused)
    rbm = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(8), BARS, key=jax.random.key(0))
    assert plan_run(rbm, drawn).method.rounds


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"precision": "half"}, "precision: expected None or one of"),
        ({"rows": BARS * 0.3}, "the rows contain fractions"),
        ({"rows": BARS * 0.3, "layer": hm.Gaussian(16)}, r"Gaussian\(16\) may have other values"),
        ({"gradient": "pseudo-likelihood"}, "multiplies weights by other numbers too"),
    ],
)
def test_refusals_of_bfloat16_state_the_reason(monkeypatch, given, words):
    with pytest.raises(hm.InputError, match=words):
        chosen(monkeypatch, **({"precision": "bfloat16"} | given))


def test_the_faster_precision_is_measured_once_and_kept(monkeypatch, tmp_path):
    """In the process, and on disk beside the compilation cache; a damaged file is measured anew."""
    rbm = hm.RBM(hm.Bernoulli(8), hm.Ising(4), np.zeros((8, 4), np.float32))
    calls = []
    file = tmp_path / "cache" / rounding.FILE
    measured = rounding._measured

    def timed(rbm, rows):
        calls.append(rows)
        return measured(rbm, rows)

    def timing(rows=100):
        rounding._TIMINGS.clear()
        return hm.transforms.precision_timing(rbm, rows)

    monkeypatch.setattr(rounding, "_TIMINGS", {})
    monkeypatch.setattr(rounding, "_measured", timed)
    monkeypatch.setattr(rounding, "_file", lambda: file)
    first = timing()
    assert min(first) > 0
    assert hm.transforms.precision_timing(rbm, 100) is hm.transforms.precision_timing(rbm, 100)
    assert timing() == first
    assert calls == [100]
    assert timing(200) != first
    assert calls == [100, 200]
    for damage in ("", "[1]", '{"a": 1', "\0"):
        file.write_text(damage)
        timing()
    assert calls == [100, 200, *[100] * 4]
    monkeypatch.setattr(rounding, "_file", lambda: tmp_path)  # cannot be written
    assert min(timing()) > 0


def test_the_choice_is_the_measured_one(monkeypatch):
    timing = rounding.Timing(1.0, 0.9)
    monkeypatch.setattr("harmonium.transforms.precision._TIMINGS", {})
    monkeypatch.setattr("harmonium.transforms.precision._stored", lambda case: timing)
    rbm = hm.RBM(hm.Bernoulli(64), hm.Bernoulli(64), np.zeros((64, 64), np.float32))
    assert rounding.is_worth_rounding(rbm, 512)
    timing = rounding.Timing(1.0, 0.99)  # less than the noise of a measurement
    rounding._TIMINGS.clear()
    assert not rounding.is_worth_rounding(rbm, 512)
    timing = rounding.Timing(1.0, 1.7)
    rounding._TIMINGS.clear()
    assert not rounding.is_worth_rounding(rbm, 512)


def test_log_z_is_that_of_the_model_though_annealing_ends_at_the_rounded_one(monkeypatch):
    bfloat16_is_faster(monkeypatch, True)
    monkeypatch.setattr("harmonium.transforms.precision.WORTHWHILE", 1)
    key = jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(8), BARS, key=key)
    rbm = hm.fit(rbm, BARS, key=key, epochs=300, precision="float32").rbm
    exact = hm.log_likelihood(rbm, BARS)
    score = hm.log_likelihood(rbm, BARS, key=key, method="annealed")
    assert score.converged
    assert score.low <= exact.value <= score.high
    plain = Annealed(paths=[hm.path.Heating.from_neutral(rbm)]).estimate(rbm, key=key)
    short = Annealed(
        paths=[hm.path.Heating.from_neutral(rounding.rounded_if_faster(rbm, 512))]
    ).estimate(rbm, key=key)
    assert short.value != plain.value
    assert short.low <= exact.log_z.value <= short.high


def test_a_rounded_model_is_scored_and_trained():
    key = jax.random.key(0)
    rbm = wide()
    answer = hm.log_z(hm.transforms.rounded(rbm), method="annealed", key=key)
    exact = hm.log_z(with_short_weights(rbm)).value
    assert answer.low <= exact <= answer.high
    small = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(8), BARS, key=key)
    fitted = hm.fit(hm.transforms.rounded(small), BARS, key=key, epochs=1).rbm
    assert isinstance(fitted.weights, rounding.Rounded)
    assert (fitted.weights.weights != small.weights).any()


def test_the_rounded_model_is_taken_where_it_is_exact_and_quicker(monkeypatch):
    bfloat16_is_faster(monkeypatch, True)
    key = jax.random.key(0)
    large = hm.initialize(hm.Bernoulli(64), hm.Bernoulli(32), key=key)
    other = hm.initialize(hm.Bernoulli(64), hm.Gaussian(32), key=key)
    assert type(rounding.rounded_if_faster(large, 512).weights) is rounding.Rounded
    assert rounding.rounded_if_faster(large, 32) is large
    assert rounding.rounded_if_faster(other, 512) is other
    bfloat16_is_faster(monkeypatch, False)
    assert rounding.rounded_if_faster(large, 512) is large


def test_nothing_is_measured_where_bfloat16_is_no_choice(monkeypatch):
    monkeypatch.setattr("harmonium.transforms.precision.precision_timing", lambda *_: 1 / 0)
    monkeypatch.setattr("harmonium.transforms.precision.WORTHWHILE", 1)
    monkeypatch.setattr("harmonium.transforms.precision.FEWEST_ROWS", 1)
    for gradient, rows in (("tap", BARS), ("pcd", BARS * 0.3)):
        rbm = hm.initialize(hm.Bernoulli(16), hm.Bernoulli(8), rows, key=jax.random.key(0))
        assert not plan_run(rbm, rows, gradient=gradient).method.rounds


def test_the_precision_of_annealing_can_be_chosen(monkeypatch):
    monkeypatch.setattr("harmonium.transforms.precision.precision_timing", lambda *_: 1 / 0)
    rbm = hm.initialize(hm.Bernoulli(64), hm.Bernoulli(64), key=jax.random.key(0), scale=0.3)
    settings = {"chains": 64, "steps": 64, "seconds": 1.0}
    answers = {
        name: hm.log_z(rbm, key=jax.random.key(1), method="annealed", precision=name, **settings)
        for name in rounding.PRECISIONS
    }
    assert answers["float32"].value != answers["bfloat16"].value
    assert max(x.low for x in answers.values()) <= min(x.high for x in answers.values())
    with pytest.raises(hm.InputError, match="precision: expected None or one of"):
        hm.Annealed(precision="half")
