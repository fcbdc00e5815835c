"""The example in plain TensorFlow learns as well as the one in plain NumPy."""

import functools
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind

EXAMPLES = Path(__file__).parents[3] / "examples"
SCRIPT = EXAMPLES / "from_scratch_tensorflow.py"
LEVEL = 1e-4  # two-sided, of Welch's t
SEEDS = range(6)
RATE = 0.05
HIDDEN = 8
PLAN = {"k": 1, "epochs": 10, "batch": 20}


def load(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def plain():
    return load("from_scratch")


@pytest.fixture(scope="module")
def example():
    return load("from_scratch_tensorflow")


@functools.cache
def likelihoods(module, judge, method, rate):
    """Return exact log-likelihoods after training, one a seed, by the judge's float64 sum."""
    log_likelihoods = []
    for seed in SEEDS:
        options = {"method": method, "rate": rate, "seed": seed, "score": lambda *_: None}
        *model, _ = module.train(module.digits(), HIDDEN, **PLAN, **options)
        log_likelihoods.append(judge.log_likelihood(judge.digits(), *map(np.asarray, model)))
    return log_likelihoods


def p_value(plain, example, method, rate):
    ours = likelihoods(example, plain, method, rate)
    return ttest_ind(likelihoods(plain, plain, method, RATE), ours, equal_var=False).pvalue


@pytest.mark.parametrize("method", ["cd", "pcd"])
def test_it_learns_as_well_as_the_one_in_numpy(plain, example, method):
    # 40 seeds each: cd −22.18 and −22.19, pcd −22.21 and −22.24, all ± 0.02 nats; t = 0.3 and 1.0.
    assert p_value(plain, example, method, RATE) > LEVEL


@pytest.mark.parametrize("method", ["cd", "pcd"])
def test_the_comparison_detects_half_the_rate(plain, example, method):
    assert p_value(plain, example, method, RATE / 2) < LEVEL


def some_model(visible, hidden):
    rng = np.random.default_rng(0)
    shapes = (visible, hidden), (visible,), (hidden,)
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def test_its_gradient_is_that_of_the_formula(plain, example):
    """The tape's derivative of the free-energy gap equals the averages written out."""
    tf = pytest.importorskip("tensorflow")
    W, a, b = some_model(12, 5)
    rng = np.random.default_rng(1)
    v, v_model = (rng.integers(0, 2, (n, 12)).astype(np.float32) for n in (17, 30))
    model = [tf.Variable(values) for values in (W, a, b)]
    gradients = example.gradient_of_gap(tf.constant(v), tf.constant(v_model), model)
    mean_h = plain.sigmoid(v @ W + b)
    mean_h_model = plain.sigmoid(v_model @ W + b)
    uphill = [
        v.T @ mean_h / len(v) - v_model.T @ mean_h_model / len(v_model),
        v.mean(axis=0) - v_model.mean(axis=0),
        mean_h.mean(axis=0) - mean_h_model.mean(axis=0),
    ]
    for gradient, expected in zip(gradients, uphill, strict=True):
        np.testing.assert_allclose(-gradient.numpy(), expected, rtol=0, atol=1e-5)


def test_its_likelihood_is_the_one_in_numpy(plain, example):
    model = some_model(64, HIDDEN)
    exact = plain.log_likelihood(plain.digits(), *(x.astype(float) for x in model))
    assert example.log_likelihood(example.digits(), *model) == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("method", ["cd", "pcd"])
def test_a_seed_gives_the_same_run_and_another_seed_another(example, method):
    def weights(seed):
        options = {"method": method, "rate": RATE, "seed": seed, **PLAN, "epochs": 2}
        return np.asarray(example.train(example.digits(), HIDDEN, **options)[0])

    np.testing.assert_array_equal(weights(0), weights(0))
    assert abs(weights(0) - weights(1)).max() > 0.01


def test_more_chains_than_rows_in_a_batch(example):
    options = {"method": "pcd", "rate": 4 * RATE, "seed": 0, **PLAN, "epochs": 6}
    curve = example.train(example.digits(), HIDDEN, chains=50, **options)[-1]
    assert curve[-1] > curve[0] + 2


@pytest.mark.parametrize(("method", "times"), [("cd", 1), ("pcd", 2)])
def test_the_script_prints_a_rising_curve_and_the_same_one_again(method, times):
    options = {"method": method, "k": 2, "hidden": 10, "epochs": 6, "rate": 0.2, "seed": 3}
    words = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, str(SCRIPT), *words]
    runs = [
        subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
        for _ in range(times)
    ]
    heading, *lines = runs[0].splitlines()
    assert heading.startswith("epoch")
    assert [int(line.split()[0]) for line in lines] == list(range(7))
    curve = np.array([float(line.split()[1]) for line in lines])
    assert curve[0] == pytest.approx(-24.43, abs=0.05)  # the independent model of the pixels
    assert curve[-1] > curve[0] + 2
    assert (np.diff(curve) > 0).sum() >= 4  # PCD at this rate sometimes falls back, as NumPy's does
    assert set(runs) == {runs[0]}


def test_the_script_is_short_and_plain():
    source = SCRIPT.read_text("utf-8")
    assert len(source.splitlines()) < 100
    imported = set(re.findall(r"^(?:import|from) (\w+)", source, flags=re.M))
    assert imported == {"argparse", "tensorflow", "sklearn"}
    assert "keras" not in source
