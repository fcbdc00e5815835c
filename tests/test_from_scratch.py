"""The example in plain NumPy learns as well as the library with the same settings."""

import functools
import importlib.util
import math
import re
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest
from scipy.stats import ttest_ind

import harmonium as hm

SCRIPT = Path(__file__).parents[1] / "examples" / "from_scratch.py"
LEVEL = 1e-4  # two-sided, of Welch's t
SEEDS = range(6)
EPOCHS = 10
BATCH = 20
HIDDEN = 8
RATE = 0.05


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("from_scratch", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@functools.cache
def from_scratch(module, method):
    """Return the exact log-likelihood after training, for each seed."""
    plan = {"k": 1, "epochs": EPOCHS, "batch": BATCH, "rate": RATE}
    data = module.digits()
    return [module.train(data, HIDDEN, method=method, seed=s, **plan)[-1][-1] for s in SEEDS]


def by_the_library(data, method, rate):
    """Return the same for the library: no centring, no averaging, a constant rate."""
    updates = EPOCHS * math.ceil(len(data) / BATCH)
    optimizer = hm.Recipe(rate=rate, centring=None, averaging=None, hold=1.0)(updates)
    chains = hm.Gibbs(1)
    gradient = hm.Contrastive(chains) if method == "cd" else hm.Persistent(chains, chains=BATCH)

    def learn(seed):
        start, run = jax.random.split(jax.random.key(seed))
        rbm = hm.initialize(hm.Bernoulli(data.shape[1]), hm.Bernoulli(HIDDEN), data, key=start)
        how = {"gradient": gradient, "optimizer": optimizer, "epochs": EPOCHS, "batch_size": BATCH}
        return hm.log_likelihood(hm.fit(rbm, data, key=run, **how).rbm, data).value

    return [learn(seed) for seed in SEEDS]


@pytest.mark.parametrize("method", ["cd", "pcd"])
def test_the_library_with_the_same_settings_learns_as_well(example, method):
    # 40 seeds each: cd −22.18 and −22.22, pcd −22.21 and −22.25, all ± 0.02 nats; t = 1.3 and 1.2.
    library = by_the_library(example.digits(), method, RATE)
    assert ttest_ind(from_scratch(example, method), library, equal_var=False).pvalue > LEVEL


@pytest.mark.parametrize("method", ["cd", "pcd"])
def test_the_comparison_detects_half_the_rate(example, method):
    # t = 22 for both methods at half the rate, and about 6 (p = 2e-4) at 0.8 of it.
    slower = by_the_library(example.digits(), method, RATE / 2)
    assert ttest_ind(from_scratch(example, method), slower, equal_var=False).pvalue < LEVEL


def test_its_likelihood_is_that_of_the_library(example):
    rng = np.random.default_rng(0)
    W = rng.normal(size=(64, HIDDEN))
    a = rng.normal(size=64)
    b = rng.normal(size=HIDDEN)
    data = example.digits()
    exact = hm.log_likelihood(hm.RBM.from_arrays(W, a, b), data).value
    assert example.log_likelihood(data, W, a, b) == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("method", ["cd", "pcd"])
def test_the_script_prints_a_rising_curve(method):
    options = {"method": method, "k": 2, "hidden": 10, "epochs": 6, "rate": 0.2, "seed": 3}
    words = [f"--{name}={value}" for name, value in options.items()]
    command = [sys.executable, "-W", "error", str(SCRIPT), *words]
    result = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    heading, *lines = result.stdout.splitlines()
    assert heading.startswith("epoch")
    assert [int(line.split()[0]) for line in lines] == list(range(7))
    curve = np.array([float(line.split()[1]) for line in lines])
    assert curve[0] == pytest.approx(-24.43, abs=0.05)  # the independent model of the pixels
    assert curve[-1] > curve[0] + 2
    assert (np.diff(curve) > 0).sum() >= 5


def test_the_script_is_short_and_plain():
    source = SCRIPT.read_text("utf-8")
    assert len(source.splitlines()) <= 80
    imported = set(re.findall(r"^(?:import|from) (\w+)", source, flags=re.M))
    assert imported == {"argparse", "numpy", "sklearn"}
