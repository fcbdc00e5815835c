"""Sample quality: scores of samples, compared with the scores of other rows of data."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._base.checks import checked_beside, checked_rows, positive_integer
from ..errors import InputError
from .base import Quality, Score
from .moments import (
    Variables,
    check_codes,
    cumulants,
    groups,
    principal_axes,
    squared_distances,
    variables_of,
)

MOST_GROUPS = 2_000  # pairs or triples of columns
MOST_AXES = 20  # along which variances are compared


class _Splits(NamedTuple):
    """A score of samples, of resampled samples and of other data: one value for each split."""

    samples: np.ndarray
    redrawn: np.ndarray
    fresh: np.ndarray


class _Sets(NamedTuple):
    """A pool of rows, and the indices of the rows that are compared in each split.

    Attributes:
        values: the values of the variables minus their values in one row, shape (pool, variables).
        metric: the weight of each variable in squared distances, shape (variables,).
        samples: indices of the samples, in a new order for each split, shape (splits, k).
        data: indices of rows of data, shape (splits, k).
        fresh: indices of other rows of data, shape (splits, k).
        held_out: indices of held-out rows, shape (splits, fewer).
    """

    values: np.ndarray
    metric: np.ndarray
    samples: np.ndarray
    data: np.ndarray
    fresh: np.ndarray
    held_out: np.ndarray


def sample_quality(
    samples: Any,
    data: Any,
    *,
    states: Any = None,
    held_out: Any = None,
    rows: int = 1_000,
    splits: int = 40,
    seed: int = 0,
) -> Quality:
    """Score samples against data, and compare the scores with those of a perfect sampler.

    The data are split at random, many times, into disjoint parts A and B of k rows each. A score
    compares k samples with A, and `Score.perfect` compares B with A. Here k is the smallest of the
    number of samples, half the number of data rows, and `rows`. Samples are treated as independent,
    so samples from slowly mixing chains score worse than independent samples from the same model.
    All rows have equal weights. `Score.z` measures how far a score is from that of a perfect
    sampler, `Score.judgement` states the result in words, and `print` shows all scores in a table.

    Let S be the k samples, ⟨·⟩ a mean over rows, and x_i the columns (for codes, one 0/1 column per
    state):

    - means: root mean square of ⟨x_i⟩_S − ⟨x_i⟩_A. Covariances and triples: root mean square
      differences of ⟨δx_i δx_j⟩ and ⟨δx_i δx_j δx_k⟩ with δx = x − ⟨x⟩, over all pairs and triples
      of different columns, or 2,000 drawn at random.
    - spectrum: root mean square of (λ_S − λ_A) / (λ_S + λ_A), with the variances λ along the 20
      leading principal axes of all compared rows, samples included, so that neither set is
      favoured. (This definition is specific to harmonium; along the axes of the data alone,
      variance in other directions would be missed.)
    - AA truth: the fraction of rows of A whose nearest neighbour is in A rather than in S. AA syn:
      the fraction of rows of S whose nearest neighbour is in S. AATS: their mean. If several rows
      are equally near, as is common for discrete rows, the fraction of them in the row's own set
      counts. The row itself and one row of the other set, its partner, are excluded, so that a
      perfect sampler scores 0.5 on average.
    - energy: 2⟨d(s, a)⟩ − ⟨d(s, s′)⟩ − ⟨d(a, a′)⟩, where d is the distance between rows s, s′ of S
      and a, a′ of A. The means are over pairs of different rows, so the estimate is unbiased.
    - privacy loss: AATS with held-out rows in place of A, minus AATS. Copies are detected only
      among the compared rows, which may be a small part of the data.

    The squared distance d² is the number of columns of codes that differ, plus the squared
    Euclidean distance in the other columns. Numeric columns in different units should therefore be
    scaled first.

    Args:
        samples: rows in the user's coding, shape (n, columns).
        data: rows in the user's coding, shape (m, columns).
        states: number of states of each column, or one number for all columns; a column with q > 1
            states contains codes from 0 to q − 1. 1 or None stands for numeric columns.
        held_out: rows not used in training, shape (h, columns), for the privacy loss.
        rows: the largest number of rows in each compared set. With more rows, smaller errors are
            detected, but time and memory grow with the square of this number.
        splits: number of random splits.
        seed: random seed for the choice of rows and splits.

    Raises:
        InputError: rows and states do not match, a number is invalid, or there are fewer than two
            rows of data.

    Example:
        >>> data = np.random.default_rng(0).integers(0, 2, (400, 4))
        >>> hm.sample_quality(data[:100], data[100:]).means.judgement
        'as other rows of data'
        >>> hm.sample_quality(np.ones((100, 4)), data).means.judgement  # one row only
        'worse than other rows of data'

    Source: Yale et al. 2020 (AATS, privacy loss); Székely & Rizzo 2013 (energy distance); Decelle,
    Furtlehner & Seoane 2021 (several such scores of RBMs).
    """
    data = checked_rows(data, "data")
    parts = {"samples": checked_beside(samples, "samples", data), "data": data}
    parts["held_out"] = data[:0]
    if held_out is not None:
        parts["held_out"] = checked_beside(held_out, "held_out", data)
    variables = variables_of(states, data.shape[1])
    for name, part in parts.items():
        check_codes(part, name, variables)
    if len(data) < 2:
        raise InputError("data: expected at least two rows, to be split in two; got 1.")
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed: expected a whole number of at least 0; got {seed!r}.")
    rows = positive_integer(rows, "rows")
    if positive_integer(splits, "splits") < 2:
        raise InputError("splits: expected at least 2, to measure the spread of scores; got 1.")
    rng = np.random.default_rng(seed)
    sets = _draw(list(parts.values()), variables, rows, splits, rng=rng)
    return _quality(sets, variables, rng=rng)


def _draw(
    parts: list[np.ndarray],
    variables: Variables,
    most: int,
    splits: int,
    *,
    rng: np.random.Generator,
) -> _Sets:
    """Draw the rows to compare, and assign them to the sets of each split."""
    samples, data, held_out = parts
    k = min(len(samples), len(data) // 2, most)
    sizes = [k, min(len(data), 2 * most), min(len(held_out), k)]
    pool = [
        part[rng.choice(len(part), size, replace=False)]
        for part, size in zip(parts, sizes, strict=True)
    ]
    samples, data, held_out = (
        np.stack([start + rng.permutation(size) for _ in range(splits)])
        for start, size in zip(np.cumsum([0, *sizes[:-1]]), sizes, strict=True)
    )
    values = variables.of(np.concatenate(pool))
    return _Sets(
        values=values - values[k],  # integers remain integers, and constant columns become 0
        metric=variables.metric,
        samples=samples,
        data=data[:, :k],
        fresh=data[:, k : 2 * k],
        held_out=held_out,
    )


def _quality(sets: _Sets, variables: Variables, *, rng: np.random.Generator) -> Quality:
    """Compute all scores, for samples and for fresh rows of data."""
    k = sets.data.shape[1]
    h = sets.held_out.shape[1]
    weights = _weights(sets, rng)
    squares = squared_distances(sets.values, sets.metric)
    compared = sets.values[: weights.shape[1]]
    of_samples = _accuracies(squares, sets.data, sets.samples)
    of_fresh = _accuracies(squares, sets.data, sets.fresh)

    def moments(name: str, order: int) -> Score | None:
        which = groups(variables, order, MOST_GROUPS)
        if not len(which):
            return None
        return _score(name, _errors(compared, weights, which), k)

    def accuracy(name: str, halves: slice) -> Score:
        samples = of_samples[:, halves].mean(axis=1)
        return _score(name, _Splits(samples, samples, of_fresh[:, halves].mean(axis=1)), k)

    privacy_loss = None
    if h > 0:
        privacy_loss = _score("privacy loss", _privacy_losses(squares, sets), h)
    means = moments("means", 1)
    assert means is not None  # there is a column
    return Quality(
        means=means,
        covariances=moments("covariances", 2),
        triples=moments("three-point correlations", 3),
        spectrum=_score("spectrum", _spectra(compared, weights), k),
        aats=accuracy("AATS", slice(None)),
        aa_truth=accuracy("AA truth", slice(0, 1)),
        aa_syn=accuracy("AA syn", slice(1, 2)),
        energy=_score("energy distance", _energies(squares, weights, k), k),
        privacy_loss=privacy_loss,
        splits=len(sets.data),
    )


def _score(name: str, splits: _Splits, rows: int) -> Score:
    return Score(
        name,
        value=splits.samples.mean().item(),
        error=splits.redrawn.std(ddof=1).item(),
        perfect=splits.fresh.mean().item(),
        spread=splits.fresh.std(ddof=1).item(),
        rows=rows,
    )


def _weights(sets: _Sets, rng: np.random.Generator) -> np.ndarray:
    """Return the row weights of S, and those of A, of B and of a resampled S for every split.

    The result has shape (1 + 3 splits, rows): first S, then A of each split, then B, then the
    resampled S.
    """
    splits, k = sets.data.shape
    members = np.concatenate([sets.samples[:1], sets.data, sets.fresh])
    weights = np.zeros((1 + 3 * splits, int(members.max()) + 1))
    np.put_along_axis(weights[: 1 + 2 * splits], members, 1.0 / k, axis=1)
    weights[1 + 2 * splits :, :k] = rng.multinomial(k, np.full(k, 1.0 / k), size=splits) / k
    return weights


def _apart(array: np.ndarray) -> tuple[_Splits, np.ndarray]:
    """Split an array ordered as in `_weights`; return the parts for S and B, and the part for A."""
    splits = len(array) // 3
    samples, data, fresh, redrawn = np.split(array, [1, 1 + splits, 1 + 2 * splits])
    return _Splits(samples, redrawn, fresh), data


def _root_mean_square(differences: np.ndarray) -> np.ndarray:
    return np.sqrt(np.square(differences).sum(axis=1) / max(1, differences.shape[1]))


def _errors(values: np.ndarray, weights: np.ndarray, which: np.ndarray) -> _Splits:
    """Return the root mean square errors of the cumulants of groups of variables."""
    sets, data = _apart(cumulants(values, weights, which))
    return _Splits(*(_root_mean_square(moments - data) for moments in sets))


def _spectra(values: np.ndarray, weights: np.ndarray) -> _Splits:
    """Return the relative differences of variances along the leading axes of all compared rows."""
    axes, _ = principal_axes(values, MOST_AXES)
    projected = (values - values.mean(axis=0)) @ axes
    squares = np.arange(axes.shape[1])[:, None].repeat(2, axis=1)
    sets, data = _apart(cumulants(projected, weights, squares))
    totals = [variances + data for variances in sets]
    return _Splits(
        *(
            _root_mean_square((variances - data) / np.where(total > 0.0, total, 1.0))
            for variances, total in zip(sets, totals, strict=True)
        )
    )


def _accuracies(squares: np.ndarray, truths: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Return AA truth and AA syn of each split, shape (splits, 2)."""
    squares = squares.astype(np.float32)  # only the order of distances matters
    return np.stack([_halves(squares, *pair) for pair in zip(truths, others, strict=True)])


def _halves(squares: np.ndarray, truth: np.ndarray, syn: np.ndarray) -> np.ndarray:
    """Return, for each set, the mean fraction of a row's nearest rows that are in its own set.

    The diagonals of the distance matrices, which are the distances of a row from itself and from
    its partner in the other set, are excluded.
    """
    across = squares[np.ix_(truth, syn)]
    np.fill_diagonal(across, np.inf)
    fractions = []
    for rows, to_other in ((truth, across), (syn, across.T)):
        to_own = squares[np.ix_(rows, rows)]
        np.fill_diagonal(to_own, np.inf)
        nearest = np.minimum(to_own.min(axis=1), to_other.min(axis=1))[:, None]
        own = (to_own == nearest).sum(axis=1)
        other = (to_other == nearest).sum(axis=1)
        fractions.append((own / (own + other)).mean())
    return np.array(fractions)


def _privacy_losses(squares: np.ndarray, sets: _Sets) -> _Splits:
    """Return AATS against held-out rows minus AATS against equally many rows of data."""
    h = sets.held_out.shape[1]

    def loss(rows: np.ndarray) -> np.ndarray:
        to_data = _accuracies(squares, sets.data[:, :h], rows[:, :h])
        return (_accuracies(squares, sets.held_out, rows[:, :h]) - to_data).mean(axis=1)

    samples = loss(sets.samples)
    return _Splits(samples, samples, loss(sets.fresh))


def _energies(squares: np.ndarray, weights: np.ndarray, k: int) -> _Splits:
    """Return the energy distances, from means over pairs of different rows (U-statistics)."""
    n = weights.shape[1]
    mean_distances = weights @ np.sqrt(squares[:n, :n])  # of each row to the rows of each weighting
    within, within_data = _apart((weights * mean_distances).sum(axis=1) * k / max(1, k - 1))
    sets, _ = _apart(weights)
    _, to_data = _apart(mean_distances)
    return _Splits(
        *(
            2.0 * (of_set * to_data).sum(axis=1) - inner - within_data
            for of_set, inner in zip(sets, within, strict=True)
        )
    )
