"""log Z by annealed importance sampling in both directions: a lower and an upper estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..._base.checks import check_positive, positive_integer
from ..._base.threefry import fold_in, split
from ...data import Dataset
from ...errors import InputError
from ...path import AbstractPath
from ...rbm import RBM
from ...transforms.precision import check_precision, rounded_if_faster
from ..missing.marginal import states_of_rows
from .annealing_search import Search
from .base import AbstractLogZ, LogZ, exact_result
from .lengthening import is_independent_when_empty, log_z_of_lengths
from .schedule import base_from_data, usual_bases

MOST_STARTS = 4_096  # largest number of rows at which reverse runs start


@dataclass(frozen=True)
class Annealed(AbstractLogZ):
    """log Z by annealed importance sampling in both directions.

    Forward runs start from exact draws of a base model. Their estimate is on average below log Z,
    so a log-likelihood from this estimate alone is on average too high. Reverse runs start from
    draws of the model itself. Their estimate is on average above log Z if these draws are exact. In
    practice, the draws are the final states of the forward chains, resampled by weight, after
    `burn_in` more sweeps. The value of log Z is Bennett's acceptance ratio estimate from both
    directions, which is not a bound.

    A pilot run tries each base, spaces the models along the path by the work dissipated there, and
    selects the base that dissipates least; if chains from random states reach states that no base
    reaches, another base is fitted to these states. The numbers of steps and chains then grow until
    the forward and reverse estimates agree within `tolerance` and the half-width of the interval is
    below `tolerance`, or until the time limit is reached. The 95 % interval comes from a jackknife
    that leaves out one independent group of chains at a time. The upper end of the interval is
    raised for mass that chains hardly reach, as revealed by `starts` and the final states of other
    bases. If the result has not converged, the interval is wider: its ends are valid for any
    distribution of the annealing weights (`AnnealingRuns.wide_interval`), and it encloses the
    results of other bases and of the given starts.

    A path may end at a nearby model; the last step to the target model is then weighted too. Chains
    may thus be annealed to the RBM with weights rounded to bfloat16, if that is faster, and the
    result is still for the target model.

    A mode that no chain from any base finds cannot be detected: all estimates then agree on the log
    Z of the modes found. `starts` from another source, such as the data, would reveal such a mode.
    Without `starts`, a result that nothing else could have contradicted is reported as "unchecked".

    Attributes:
        chains: number of chains in each direction.
        steps: number of steps of each annealing run; as many as needed if None.
        paths: paths to try, from independent models to the target model or a nearby one;
            `usual_bases` if none is given.
        starts: rows, or visible states, at which additional reverse runs start, as a check.
        burn_in: sweeps of the resampled chains before the reverse runs; a quarter of the steps if
            None.
        tolerance: nats, the largest accepted difference between the forward and reverse estimates,
            and the largest accepted half-width of the interval.
        seconds: time limit after which no new round starts.
        precision: the precision of products with the weights during annealing: "float32", or
            "bfloat16" if it represents all states exactly; if None, bfloat16 is used if it is
            measured to be faster. The same key gives identical results only at the same precision.

    Raises:
        InputError: a number is out of range, or a path does not start with zero weights.

    Example:
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.log(3) * np.eye(4, 3))
        >>> method = hm.Annealed(chains=64, steps=32)
        >>> found = hm.log_z(rbm, method=method, key=jax.random.key(0))
        >>> found.converged, bool(abs(found.value - np.log(432)) < 0.1)
        (True, True)

    Source: Neal 2001; Bennett 1976; Salakhutdinov & Murray 2008; Burda et al. 2015.
    """

    chains: int = 512
    steps: int | None = None
    paths: Sequence[AbstractPath] = ()
    starts: Any = None
    burn_in: int | None = None
    tolerance: float = 0.1
    seconds: float = 120.0
    precision: str | None = None

    def __post_init__(self):
        for name, least in (("chains", 2), ("steps", 1), ("burn_in", 1)):
            number = getattr(self, name)
            if number is not None and positive_integer(number, name) < least:
                raise InputError(
                    f"{name}: expected a whole number of at least {least}; got {number}."
                )
        check_precision(self.precision)
        check_positive(tolerance=self.tolerance, seconds=self.seconds)
        for path in self.paths:
            if not path.begins_uncoupled:
                raise InputError(
                    "path: expected a path that starts at a model with zero weights, such as"
                    " Heating;"
                    " start a History with such a model."
                )

    def with_rows(self, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> Annealed:
        """Add a base with the moments of the rows, and reverse runs that start from the rows.

        Missing values, and the states of latent units, are first drawn from the model.
        """
        if self.paths:
            return self
        key_data, key_own, key_rows = split(key, 3)
        near = self._near(rbm)
        bases = usual_bases(near, key=key_own)
        rows = dataset.some(MOST_STARTS).rows(key=key_rows)
        states = states_of_rows(rbm, rows, key=fold_in(key_rows, 1))
        bases.insert(0, base_from_data(near, states, key=key_data))
        if self.starts is not None:
            return replace(self, paths=bases)
        return replace(self, paths=bases, starts=states)

    def _near(self, rbm: RBM) -> RBM:
        """Return the target of annealing: this model, possibly with rounded weights."""
        return rounded_if_faster(rbm, self.chains, self.precision)

    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        """Return log Z.

        Raises:
            InputError: the key is missing, a path starts with nonzero weights, or `starts` are not
                states of the model.
            NotFiniteError: annealing weights are not finite, because parameters are far too large.
        """
        key_base, key_search = split(key)
        starts = None
        if self.starts is not None:
            starts = self.starts
            if np.shape(starts)[-1:] == (rbm.visible.n_observed,):
                starts = rbm.visible.encode(rbm.visible.validate(starts, "starts"))
        search = Search(
            rbm,
            starts,
            progress,
            chains=self.chains,
            steps=self.steps,
            burn_in=self.burn_in,
            tolerance=self.tolerance,
            seconds=self.seconds,
            key=key_search,
        )
        paths = self.paths or usual_bases(self._near(rbm), key=key_base)
        return search.rounds(*search.pilot(paths))

    def compute_by_length(
        self,
        rbm: RBM,
        lengths: Float[np.ndarray, " lengths"],
        key: Any,
        progress: Callable[[float], Any],
    ) -> list[LogZ]:
        """Return log Z for each length from one run, which uses neither `starts` nor `burn_in`.

        Lengths are treated one by one if paths are given, or if empty rows carry information about
        the hidden units.
        """
        if self.paths or not is_independent_when_empty(rbm):
            return super().compute_by_length(rbm, lengths, key, progress)
        is_empty = lengths == 0
        of_empty = exact_result(float(rbm.hidden.cgf(rbm.hidden.zero_inputs)), "exact, empty rows")
        results = [of_empty] * int(is_empty.sum())
        if is_empty.all():
            return results
        return results + log_z_of_lengths(
            rbm,
            lengths[~is_empty],
            chains=self.chains,
            steps=self.steps,
            tolerance=self.tolerance,
            seconds=self.seconds,
            key=key,
            progress=progress,
        )
