"""Calls of samplers of other packages: a problem goes out, states and their β come back.

All of it is NumPy, since it runs while a compiled program waits. Problems are in spins −1 and +1.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from ..errors import InputError, count_of, input_error
from ..io.convert.annealers import Quadratic, bqm_of, labels_of

# largest factor of β in an update; bounds of β
STEP = 8.0
LEAST = 1e-2
MOST = 1e2
MEMORY = 0.9  # what an update counts in the next one
ROUNDING = 1e-6  # coefficients this much beyond a range are not called clipped

Range = tuple[float, float]


class States(NamedTuple):
    """States that a sampler returned.

    Attributes:
        visible: whether each visible unit is at its higher value, shape (n, visible).
        hidden: the same of the hidden units, shape (n, hidden).
        counts: how often each row was drawn, shape (n,).
    """

    visible: np.ndarray
    hidden: np.ndarray
    counts: np.ndarray


class OtherSampler:
    """A sampler of another package with its options; compiled programs know it by identity.

    Attributes:
        sampler: has `sample(bqm, **parameters)`, which returns a dimod `SampleSet`.
        name: what error messages call it.
        reads: number of draws to ask for, where it takes one.
        parameters: further arguments of its `sample`.
        ranges: ranges of fields and couplings of spins, or None.
    """

    def __init__(self, sampler: Any, reads: int, ranges: Any, parameters: Any):
        """Check the options, and read the ranges from the sampler's properties if not given."""
        if isinstance(sampler, type) or not callable(getattr(sampler, "sample", None)):
            expected = "an object with a method sample(bqm), such as dimod.ExactSolver()"
            advice = "pass a dimod sampler, or write one"
            raise input_error("External sampler", expected, repr(sampler), advice)
        self.sampler = sampler
        self.name = type(sampler).__name__
        self.reads = reads
        self.source = f"External with {self.name}"
        self.parameters = _checked_parameters(parameters)
        ranges = _ranges_of(sampler) if ranges is None else ranges
        self.ranges = None if ranges is None else _checked_ranges(ranges, self.source)

    def __repr__(self) -> str:
        """Return the name of the sampler."""
        return self.name

    def room(self, visible: int) -> int:
        """Return how many distinct states of so many visible units can come back."""
        return min(self.reads, 2 ** min(visible, 62))

    def sample(self, model: Quadratic, seed: int) -> States:
        """Return states of a model of spins.

        Raises:
            InputError: the sampler raised, or returned what no sample set of this model can be.
        """
        bqm = bqm_of(model, "SPIN", self.source)
        own = {"num_reads": self.reads, "seed": seed}
        options = {name: value for name, value in own.items() if _takes(self.sampler, name)}
        try:
            found = self.sampler.sample(bqm, **options | self.parameters)
            record = found.record
            names = list(found.variables)
            rows = np.asarray(record.sample)
            counts = np.asarray(record.num_occurrences)
            energies = np.asarray(record.energy, float)
        except Exception as error:
            advice = "correct the sampler or its parameters"
            raise input_error(self.source, "a dimod SampleSet", _told(error), advice) from None
        return self._checked(model, names, rows, counts, energies)

    def _checked(
        self, model: Quadratic, names: list, rows: Any, counts: Any, energies: Any
    ) -> States:
        labels = labels_of(*model.weights.shape)
        advice = "correct the sampler"
        if not len(rows) or counts.sum() <= 0:
            advice = "ask it for some, by reads= or parameters="
            raise input_error(self.source, "at least one row of states", "none", advice)
        if set(names) != set(labels):
            expected = f"the {len(labels)} variables of the model, ('v', 0) to {labels[-1]}"
            other = [*(set(labels) - set(names)), *(set(names) - set(labels))][0]
            found = f"{len(names)}; {other!r} is in only one of the two"
            raise input_error(self.source, expected, found, advice)
        wrong = int((~np.isfinite(energies)).sum())
        if wrong:
            found = f"{wrong:,} of {count_of(len(energies), 'row')} without"
            raise input_error(self.source, "samples with finite energies", found, advice)
        place = {name: column for column, name in enumerate(names)}
        high = rows[:, [place[label] for label in labels]] > 0  # in SPIN and in BINARY
        visible, hidden = np.split(high, [len(model.visible_bias)], axis=1)
        return States(visible, hidden, counts.astype(float))


def fitted(
    model: Quadratic, scale: float, ranges: tuple[Range, Range] | None, clips: bool
) -> tuple[Quadratic, float, int]:
    """Return the model as it is sent, the factor of its energies, and how many were clipped.

    Args:
        model: the energy in spins.
        scale: the factor of the energies that is wished for.
        ranges: of fields and of couplings, in dimod's sign.
        clips: whether coefficients beyond a range are clipped; if not, the factor is smaller.
    """
    if ranges is None:
        return _scaled(model, scale), scale, 0
    fields = -np.concatenate([model.visible_bias, model.hidden_bias])
    if not clips:
        pairs = zip((fields, -model.weights), ranges, strict=True)
        scale = min(scale, *(_largest_scale(values, bounds) for values, bounds in pairs))
    sent = _scaled(model, scale)
    h, j = ranges
    kept = sent._replace(
        weights=-np.clip(-sent.weights, *j),
        visible_bias=-np.clip(-sent.visible_bias, *h),
        hidden_bias=-np.clip(-sent.hidden_bias, *h),
    )
    pairs = zip(sent[:3], kept[:3], strict=True)
    clipped = sum(int((abs(a - b) > ROUNDING * abs(a)).sum()) for a, b in pairs)
    return kept, scale, clipped


def inverse_temperature(
    states: States, model: Quadratic, before: float, information: float
) -> tuple[float, float]:
    r"""Return β of states of a model, by maximum pseudo-likelihood, and its information.

        Σ_n c_n Σ_i log σ(β z_ni) − ½ I (β − β₀)²,    z_ni = 2 s_ni (field_i + Σ_j J_ij s_nj)

    is concave in β. β₀ and I are what earlier updates know of it.

    Args:
        states: the states.
        model: the energies that the sampler was given.
        before: β₀.
        information: I.
    """
    v = 2.0 * states.visible - 1.0
    h = 2.0 * states.hidden - 1.0
    z = 2.0 * np.hstack(
        [
            v * (model.visible_bias + h @ model.weights.T),
            h * (model.hidden_bias + v @ model.weights),
        ]
    )
    low = max(before / STEP, LEAST)
    high = min(before * STEP, MOST)
    beta = before
    curvature = information
    for _ in range(60):  # Newton's steps, halved where they leave the bracket
        against = expit(-beta * z)
        slope = states.counts @ (z * against).sum(1) - information * (beta - before)
        curvature = states.counts @ (z**2 * against * (1.0 - against)).sum(1) + information
        low, high = (beta, high) if slope > 0 else (low, beta)
        new = beta + slope / max(curvature, np.finfo(float).tiny)
        new = new if low < new < high else np.sqrt(low * high)
        if abs(new - beta) < 1e-9 * beta:
            break
        beta = new
    return float(beta), float(curvature)


def distinct(states: States, room: int, source: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct visible states, and how often each was drawn, filled up with zeros.

    Raises:
        InputError: there are more of them than there is room.
    """
    rows, inverse = np.unique(states.visible, axis=0, return_inverse=True)
    if len(rows) > room:
        expected = f"at most reads={room:,} distinct visible states"
        raise input_error(source, expected, f"{len(rows):,}", f"set reads={len(rows):,} or more")
    counts = np.bincount(inverse.ravel(), weights=states.counts, minlength=room)
    return np.pad(rows, [(0, room - len(rows)), (0, 0)]), counts


def lists_every_state(states: States) -> bool:
    """Return whether these are all states of the model, once each, so not draws."""
    n = states.visible.shape[1] + states.hidden.shape[1]
    if len(states.counts) != 2**n or (states.counts != 1).any():
        return False
    return len(np.unique(np.hstack([states.visible, states.hidden]), axis=0)) == 2**n


def _scaled(model: Quadratic, scale: float) -> Quadratic:
    weights, a, b, offset = model
    return Quadratic(scale * weights, scale * a, scale * b, scale * offset)


def _largest_scale(values: np.ndarray, bounds: Range) -> float:
    """Return the largest factor with which all values are within the bounds."""
    low, high = bounds
    above = max(values.max(), 0.0)
    below = min(values.min(), 0.0)
    return min(high / above if above else np.inf, low / below if below else np.inf)


def _takes(sampler: Any, name: str) -> bool:
    """Return whether a sampler says that its `sample` takes this argument."""
    told = getattr(sampler, "parameters", None)
    if isinstance(told, Mapping | Iterable) and name in told:
        return True
    try:
        return name in inspect.signature(sampler.sample).parameters
    except (TypeError, ValueError):  # no signature can be read
        return False


def _ranges_of(sampler: Any) -> Any:
    """Return h_range and j_range of a sampler or, if it wraps another one, of that."""
    told = getattr(sampler, "properties", None)
    while isinstance(told, Mapping):
        if "h_range" in told and "j_range" in told:
            return told["h_range"], told["j_range"]
        told = told.get("child_properties")
    return None


def _checked_ranges(ranges: Any, source: str) -> tuple[Range, Range]:
    try:
        (h_low, h_high), (j_low, j_high) = ranges
        found = (float(h_low), float(h_high)), (float(j_low), float(j_high))
    except (TypeError, ValueError):
        found = None
    if found is None or not all(low < 0 < high for low, high in found):
        expected = "two ranges around 0, of fields and of couplings, as ((-2, 2), (-1, 1))"
        raise input_error(f"{source} ranges", expected, repr(ranges), "pass such a pair")
    return found


def _checked_parameters(parameters: Any) -> dict[str, Any]:
    parameters = {} if parameters is None else parameters
    if not isinstance(parameters, Mapping):
        expected = "a dictionary of arguments of the sampler"
        raise InputError(f"External parameters: expected {expected}; got {parameters!r}.")
    if "num_reads" in parameters:
        advice = f"pass reads={parameters['num_reads']!r} instead"
        raise input_error("External parameters", "no 'num_reads'", "it", advice)
    return dict(parameters)


def _told(error: Exception) -> str:
    """Return an error of the sampler in words, and the line of code that raised it."""
    *_, last = traceback.extract_tb(error.__traceback__)
    text = str(error)
    text = f"{text[:200]}..." if len(text) > 203 else text
    where = f"{last.filename.rpartition('/')[2]}, line {last.lineno}"
    return f"{type(error).__name__} ({where}): {text}".rstrip(": .")
