"""Answers about a table's columns, against sums over all states and numerical integrals."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from scipy import stats

import harmonium as hm
from harmonium.layers.capabilities import curvature
from harmonium.tables import Columns, Frame, RawColumn, columns_of
from registry import ALL, LAYERS, LEVEL, SEEDS, identify, random_rbm

COLOURS = ("blue", "green", "red")
ANSWERS = ("no", "yes")
GRID, STEP = np.linspace(-8.0, 8.0, 129, retstep=True)
CHAINS = 400
QUESTIONS = (
    ("colour", {}),
    ("yes, colour", {"x": 0.5}),
    ("yes", {"x": -0.7, "y": 0.4, "colour": "green"}),
    ("colour", {"yes": "yes", "y": 1.2}),
    ("x", {"colour": "red"}),
    ("y, yes", {"x": (-0.5, 0.8)}),
    ("colour", {"y": (0.2, None), "yes": "no"}),
)


def table():
    """Return the columns of a table of two categories and two numbers, of any size."""
    rng = np.random.default_rng(0)
    raw = (
        RawColumn("colour", np.array(COLOURS, object)[rng.integers(0, 3, 200)]),
        RawColumn("yes", np.array(ANSWERS, object)[rng.integers(0, 2, 200)]),
        RawColumn("x", rng.normal(size=200)),
        RawColumn("y", rng.normal(size=200)),
    )
    columns = columns_of(Frame(raw)).columns
    wide = (replace(column, low=-60.0, high=60.0) for column in columns[2:])
    return Columns((*columns[:2], *wide))


def model_of(columns, hidden, seed):
    """Return a model whose numbers are correlated, and mostly near 0."""
    rbm = random_rbm(columns.layer, hidden, seed, coupling=0.4)
    numbers = hm.MultivariateGaussian(2, [0.3, -0.2], [[1.5, -0.6], [-0.6, 1.2]])
    rbm = hm.RBM(hm.Mixed(*rbm.visible.parts[:-1], numbers), rbm.hidden, rbm.weights)
    while not hm.likelihood.finite_z(rbm):
        rbm = hm.RBM(rbm.visible, rbm.hidden, 0.5 * rbm.weights)
    return rbm


def code_of(columns, name, cell):
    """Return the code of a cell."""
    column = next(c for c in columns.modelled if c.name == name)
    return column.codes(column.parsed(str(cell)), name)[0]


def enumerated(rbm, columns, known):
    """Return the codes of a grid of rows by column, and their probabilities given what is known."""
    names = [column.name for column in columns.modelled]
    axes = {"colour": np.arange(3.0), "yes": np.arange(2.0), "x": GRID, "y": GRID}
    for name, cell in known.items():
        if not isinstance(cell, tuple):
            axes[name] = np.array([code_of(columns, name, cell)])
    grid = np.stack(np.meshgrid(*(axes[name] for name in names), indexing="ij"), axis=-1)
    codes = grid.reshape(-1, len(names))
    log_p = -hm.free_energies(rbm, codes.astype(np.float32)).astype(float)
    p = np.exp(log_p - log_p.max())
    cells = dict(zip(names, codes.T, strict=True))
    for name, cell in known.items():
        if isinstance(cell, tuple):  # each point stands for the range around it
            low = -np.inf if cell[0] is None else code_of(columns, name, cell[0])
            high = np.inf if cell[1] is None else code_of(columns, name, cell[1])
            start = np.clip(cells[name] - STEP / 2, low, high)
            end = np.clip(cells[name] + STEP / 2, low, high)
            p *= (end - start) / STEP
    return cells, p / p.sum()


def spelled(known):
    """Return known cells as a question names them."""
    cells = []
    for name, cell in known.items():
        if isinstance(cell, tuple):
            cell = "..".join("" if end is None else str(end) for end in cell)
        cells.append(f"{name}={cell}")
    return ", ".join(cells)


def scores(answer, columns, cells, p):
    """Return the differences from the enumerated distribution in standard errors."""
    if answer.quantiles is not None:  # the probability below each quantile
        quantiles = np.array([code_of(columns, answer.name, q) for q in answer.quantiles])
        levels = np.array([float(name[:-1]) / 100 for name in answer.values])
        below = np.clip((quantiles[:, None] - cells[answer.name]) / STEP + 0.5, 0, 1)
        # A quantile is one of the draws, so its level is known no better than 1/CHAINS.
        errors = np.maximum(np.abs(below @ p - levels) - 1.0 / CHAINS, 0.0)
        return errors / np.sqrt(levels * (1 - levels) / CHAINS)
    real = np.array([p[cells[answer.name] == state].sum() for state in range(len(answer.shares))])
    if not any(answer.reach):
        np.testing.assert_allclose(answer.shares, real, atol=1e-4)
        return np.zeros(len(real))
    return (np.array(answer.shares) - real) / (np.array(answer.reach) / 2)


# With normal columns beside it, a unit whose energy grows more slowly than x² has no finite Z.
CURVED = [layer for layer in LAYERS if bool((curvature(layer) > 0).all())]


@pytest.mark.parametrize(("n", "hidden"), list(enumerate(CURVED)), ids=identify)
@pytest.mark.parametrize("seed", SEEDS)
def test_answers_are_the_enumerated_ones(n, hidden, seed):
    """In the cover, each hidden layer is asked a third of the questions, in turn."""
    columns = table()
    rbm = model_of(columns, hidden, seed)
    deviations = []
    for i, (names, known) in enumerate(QUESTIONS):
        if not ALL and i % 3 != n % 3:
            continue
        question = f"{names} | {spelled(known)}" if known else names
        key = jax.random.key(100 * seed + i)
        cells, p = enumerated(rbm, columns, known)
        answers = hm.ask(rbm, columns, question, key=key, chains=CHAINS, sweeps=60)
        deviations += [scores(answer, columns, cells, p) for answer in answers]
    z = np.concatenate(deviations)
    assert np.abs(z).max() < stats.norm.isf(LEVEL / 2 / (len(z) * len(LAYERS) * len(SEEDS)))
