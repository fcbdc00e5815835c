"""Baselines: simpler models of the same rows, with which a run's model is compared."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._base.statistics import effective_size, weights_of
from .._base.threefry import key_of
from ..analysis import tree_log_p
from ..data import Dataset
from ..errors import InputError
from ..gradients import ConditionalLikelihood
from ..layers import AbstractLayer, Bernoulli
from ..layers.capabilities import (
    apart,
    has_classes,
    has_independent_units,
    is_conditional,
    takes_given,
    takes_lengths,
    unbounded_units,
)
from ..likelihood.scoring import free_energies, log_likelihood
from ..rbm import RBM
from ..training import Huber, Recipe, fit
from ..training.arguments import USUAL_BATCH
from ..transforms.initialization import fitted_units
from ..weights import MaskedWeights
from .options import EVALUATION_SEED, ROWS_TO_START_FROM
from .summaries import BaselineSummary

MOST_WORK_OF_TREE = 2**33  # rows × columns² for counting pairs, which takes about a second
FEWEST_ROWS_OF_TREE = 1_000  # a tree learned from a smaller subsample would be a poor baseline
UPDATES_OF_REGRESSION = 2_000  # enough, since the likelihood is a concave function of A
SURE = 2.0  # a difference of up to this many standard errors may be chance
BEST_TREE = "best tree"


def baselines(rbm: RBM, train: Dataset, rows: Dataset, value: float) -> list[BaselineSummary]:
    """Return the exact log-likelihoods of rows under simpler models, in nats per row.

    Args:
        rbm: the model.
        train: the rows that the model learned from, to which the simpler models are fitted.
        rows: the rows that are scored.
        value: the log-likelihood of these rows under the model.
    """
    log_p = None  # log p of each row under the model, up to a constant
    if not rows.missing and not takes_lengths(rbm.visible):
        key = key_of(EVALUATION_SEED)
        log_p = -free_energies(rbm, rows.rows(key=key), key=key)
    summaries = []
    for simpler in _simpler_models(rbm.visible, train, rows):
        stderr = None
        if log_p is not None and simpler.log_p is not None:
            stderr = stderr_of(log_p - simpler.log_p, rows.weights)
        gain = value - simpler.value
        about = {"name": simpler.name, "words": simpler.words, "value": simpler.value}
        summaries.append(BaselineSummary(**about, gain=gain, stderr=stderr))
    return summaries


def verdict(summaries: list[BaselineSummary]) -> str:
    """Return a warning if the model is not clearly better than all simpler models; else ""."""
    if not summaries:
        return ""
    best = max(summaries, key=lambda summary: summary.value)
    if best.gain > SURE * (best.stderr or 0.0):
        return ""
    advice = "more rows or a longer run may help"
    if best.name == BEST_TREE:
        advice += "; for columns of 0 and 1, training can start from that tree (--visible tree)"
    return (
        f"the model is NOT surely better than {best.words}: the difference is {best.difference}"
        f" nats per row; {advice}"
    )


class _Simpler(NamedTuple):
    """A simpler model and the log-likelihoods that it assigns to the rows.

    Attributes:
        name: its name in a table.
        words: its name in a sentence.
        value: the mean log-likelihood of the rows, in nats.
        log_p: the log-likelihood of each row, up to a constant; None if some cells are missing.
    """

    name: str
    words: str
    value: float
    log_p: np.ndarray | None


def _simpler_models(visible: AbstractLayer, train: Dataset, rows: Dataset) -> Iterator[_Simpler]:
    """Yield simpler models: independent units, the visible layer alone, and the Chow-Liu tree."""
    yield _of_units("independent units", "independent units", apart(visible), train, rows)
    if is_conditional(visible):
        yield _of_regression(visible, train, rows)
    if not has_independent_units(visible) and not takes_given(visible):
        words = "its own visible units without hidden ones"
        if has_classes(visible):
            words = "the mixture of its classes without hidden units"
        yield _of_units("no hidden units", words, visible, train, rows)
    tree = _best_tree(visible, train, rows)
    if tree is not None:
        yield tree


def _of_units(
    name: str, words: str, layer: AbstractLayer, train: Dataset, rows: Dataset
) -> _Simpler:
    """Score the rows under a model without couplings, fitted to the training rows."""
    key = key_of(EVALUATION_SEED)
    units = fitted_units(layer, train.some(ROWS_TO_START_FROM), key=key)
    return _scored(name, words, RBM(units, Bernoulli(1), np.zeros((units.size, 1))), rows)


def _scored(name: str, words: str, model: RBM, rows: Dataset) -> _Simpler:
    """Score the rows under a model, whose log Z must be cheap."""
    key = key_of(EVALUATION_SEED)
    value = log_likelihood(model, rows, key=key).value
    log_p = None
    if not rows.missing and not takes_lengths(model.visible):
        log_p = -free_energies(model, rows.rows(key=key), key=key)
    return _Simpler(name, words, value, log_p)


def _of_regression(visible: AbstractLayer, train: Dataset, rows: Dataset) -> _Simpler:
    """Score the rows under a regression of the targets on the given units, without hidden units."""
    key = key_of(EVALUATION_SEED)
    units = fitted_units(visible, train.some(ROWS_TO_START_FROM), key=key)
    # One hidden unit that no weight joins to the others; its sum makes the gradient exact.
    nothing = MaskedWeights(np.zeros((visible.size, 1)), np.zeros((visible.size, 1), bool))
    start = RBM(units, Bernoulli(1), nothing)
    rate = ConditionalLikelihood().about.rate(start)
    recipe = Recipe(rate=rate, penalties=(Huber(),))
    epochs = math.ceil(UPDATES_OF_REGRESSION * USUAL_BATCH / len(train))
    model = fit(start, train, key=key, epochs=epochs, optimizer=recipe).rbm
    return _scored("no hidden units", "a regression without hidden units", model, rows)


def _best_tree(visible: AbstractLayer, train: Dataset, rows: Dataset) -> _Simpler | None:
    """Return the Chow-Liu tree of the columns, or None if no tree can be computed for them."""
    affordable = MOST_WORK_OF_TREE // visible.size**2
    if takes_given(visible) or visible.n_units == 1 or affordable < FEWEST_ROWS_OF_TREE:
        return None
    key = key_of(EVALUATION_SEED)
    sample = train.some(affordable)
    are_numbers = unbounded_units(visible)
    given = (sample.rows(key=key), rows.rows(key=key), sample.weights)
    try:
        log_p = tree_log_p(*given, numbers=are_numbers)
    except InputError:  # too many different values, such as grey levels
        return None
    value = float(np.average(log_p, weights=rows.weights))
    if rows.log_density is not None:
        value += float(np.average(rows.log_density, weights=rows.weights))
    return _Simpler(BEST_TREE, "the best tree of columns (Chow-Liu)", value, log_p)


def stderr_of(differences: np.ndarray, weights: Any = None) -> float | None:
    """Return the standard error of the mean of per-row differences, or None if it is unknown."""
    shares = weights_of(len(differences), weights)
    shares = shares / shares.sum()
    size = float(effective_size(shares))
    if size <= 1.0:
        return None
    variance = float(shares @ (differences - shares @ differences) ** 2)
    return math.sqrt(variance / (size - 1.0))
