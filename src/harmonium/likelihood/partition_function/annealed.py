"""log Z by annealed importance sampling in both directions: a lower and an upper estimate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, PRNGKeyArray

from ..._base.checks import check_positive, positive_integer
from ..._base.threefry import split
from ...data import Dataset
from ...errors import InputError
from ...path import AbstractPath
from ...rbm import RBM
from ...transforms.precision import check_precision, rounded_if_faster
from .annealing_search import Search
from .base import AbstractLogZ, LogZ, exact_result
from .lengthening import is_independent_when_empty, log_z_of_lengths
from .schedule import base_from_data, usual_bases

MOST_STARTS = 4_096  # rows from which reverse runs start


@dataclass(frozen=True)
class Annealed(AbstractLogZ):
    """log Z by annealed importance sampling in both directions.

    Forward runs start from exact draws of a base model. Their estimate is on average below log Z,
    so a log-likelihood from it alone is too high. Reverse runs start from draws of the model
    itself. Their estimate is on average above log Z, as far as those draws are exact: they are the
    final states of the round's forward chains, resampled by their weights, after `burn_in` more
    sweeps. The value is Bennett's acceptance ratio between both, an estimate and no bound.

    A pilot run tries each base, spaces the models along the path by the work that the chains lose
    there, and takes the base that loses least; where no base reaches states that chains from random
    states come to, another base is fitted to these. Then steps and chains grow until the forward
    and reverse estimates agree within `tolerance` and the interval's half width is below it too, or
    the time is up. The 95 % interval is a jackknife that leaves out one independent group of chains
    at a time. Its upper end is raised by what `starts` and the final states of other bases show of
    mass that chains hardly reach. Where the answer has not converged, the interval is wider: its
    ends hold for annealing weights of any distribution (`AnnealingRuns.wide_interval`), and enclose
    what other bases and the given starts say.

    A path may end at another model close to this one; the step from there to this model is
    weighted too. So chains may be annealed to the RBM with weights rounded to bfloat16, where that
    is faster, and the answer is still that of this model.

    A mode that no chain of any base ever finds cannot be detected: all estimates then agree on
    log Z of the modes that were found. `starts` from another source, such as the data, would
    reveal it. Without them, an answer that nothing else could have contradicted is `unchecked`.

    Attributes:
        chains: chains in each direction.
        steps: steps of each annealing run; as many as are needed if None.
        paths: paths to try, from independent models to this one or to a model close to it;
            `usual_bases` if none is given.
        starts: visible states from which additional reverse runs start, as a check, shape (n,
            visible).
        burn_in: sweeps of the resampled chains before the reverse runs; a quarter of the steps if
            None.
        tolerance: nats, the largest accepted difference of the forward and reverse estimates, and
            the largest half width of the interval.
        seconds: time after which no new round begins.
        precision: of products with the weights during annealing: "float32", or "bfloat16" where all
            states are exact in it; if None, bfloat16 where it is measured to be faster. A key gives
            the same digits only at the same precision.

    Raises:
        InputError: a number is out of its range, or a path does not begin without weights.

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
                    "path: expected one that begins at a model without weights, as Heating does;"
                    " begin a History with one."
                )

    def with_rows(self, rbm: RBM, dataset: Dataset, *, key: PRNGKeyArray) -> Annealed:
        """Add the independent model with the rows' moments as a base, and reverse runs from rows.

        For incomplete rows, neither is done.
        """
        if self.paths:
            return self
        key_data, key_own, key_rows = split(key, 3)
        near = self._near(rbm)
        bases = usual_bases(near, key=key_own)
        if dataset.missing:
            return replace(self, paths=bases)
        rows = dataset.some(MOST_STARTS).rows(key=key_rows)
        bases.insert(0, base_from_data(near, rbm.visible.encode(rows), key=key_data))
        if self.starts is not None:
            return replace(self, paths=bases)
        return replace(self, paths=bases, starts=rows)

    def _near(self, rbm: RBM) -> RBM:
        """Return the model that chains are annealed to: this one, or with rounded weights."""
        return rounded_if_faster(rbm, self.chains, self.precision)

    def compute(self, rbm: RBM, key: Any, progress: Callable[[float], Any]) -> LogZ:
        """Return log Z.

        Raises:
            InputError: no key, a path that begins with weights, or starts that do not fit.
            NotFiniteError: annealing weights are not finite, because parameters are far too large.
        """
        key_base, key_search = split(key)
        starts = None
        if self.starts is not None:
            starts = rbm.visible.encode(rbm.visible.validate(self.starts, "starts"))
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
        """Return log Z of each length from one run, which uses neither `starts` nor `burn_in`.

        One length after the other where paths are given, or where empty rows say something of the
        hidden units.
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
