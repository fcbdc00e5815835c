"""Measure how fast a model's Gibbs chains mix, and whether training was at equilibrium."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...diagnostics import base as diagnostics
from ...diagnostics.equilibrium_report import EquilibriumReport, equilibrium
from ...diagnostics.relaxation import LEVEL, mixing
from ..failures import NotMeasuredError
from ..folder import RunFolder
from ..leftovers import is_run
from ..origin import config_of
from ..prepare import prepared_with
from ..rows import own_rows
from .base import AbstractBlock, Line, ReportProgress
from .target import Target

SECONDS = 20.0
SWEEPS = 100_000


def _autocorrelations(plot: Any, target: Target) -> Any:
    if target.mixing is None:
        raise NotMeasuredError("the mixing of chains is not known")
    observables = target.mixing.observables
    if not observables:
        raise NotMeasuredError("no observable changed")
    curves = [observable.autocorrelation for observable in observables.values()]
    return plot.autocorrelations(curves, names=list(observables), sweeps=target.mixing.lags)


@dataclass(frozen=True)
class Mixing(AbstractBlock):
    """The relaxation time of Gibbs chains of the model, in sweeps.

    Attributes:
        mixing: the measured relaxation times and the comparison of chains.
    """

    name = "mixing"
    title = "relaxation time"
    stage = "mixing"
    seconds = SECONDS
    is_slow = True
    pictures = (("autocorrelations", _autocorrelations),)

    mixing: diagnostics.Mixing

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> Mixing:
        """Measure how fast chains mix; half of them start at rows of data, if there are any."""
        name = "train" if "train" in target.parts else target.name
        target.mixing = mixing(
            target.rbm,
            key=target.key_of(1),
            starts=None if name is None else target.parts[name],
            sweeps=SWEEPS,
            seconds=SECONDS,
            progress=progress,
        )
        return cls(target.mixing)

    def to_json(self) -> dict[str, Any]:
        return _mixing_json(self.mixing)

    def lines(self) -> list[Line]:
        mixing = self.mixing
        time = f"{diagnostics.count(mixing.relaxation)} sweeps"
        run = f"{mixing.chains} chains × {mixing.sweeps:,} sweeps"
        # If the slowest mode decays by a factor λ per sweep, the relaxation time is −2 / log λ,
        # after which e⁻² of this mode is left.
        explanation = f"after which 14 % of the slowest mode is left ({run})"
        if not mixing.resolved:
            limit = f"{SECONDS:g} s" if mixing.sweeps < SWEEPS else "these sweeps"
            time = f"at least {time}"
            explanation += f"; not resolved within {limit}"
        rhat = f"{mixing.rhat:.3f}" if mixing.observables else "not known"
        test = f"chains from two kinds of start: p = {mixing.two_sided:.2g}; DIFFER below {LEVEL:g}"
        return [
            ("relaxation time", time, explanation),
            ("  R-hat", rhat, f"below 1.01 is good; slowest: {mixing.slowest}"),
            ("  two starts", "agree" if mixing.met else "DIFFER", test),
        ]


@dataclass(frozen=True)
class Equilibrium(AbstractBlock):
    """Whether a run was trained at equilibrium, judged from its persistent chains and model.

    Attributes:
        report: the result of the check.
    """

    name = "equilibrium"
    title = "trained at equilibrium"
    stage = "equilibrium"
    seconds = SECONDS
    is_slow = True

    report: EquilibriumReport

    @classmethod
    def measure(cls, target: Target, progress: ReportProgress) -> Equilibrium:
        """Check whether the final chains of the run are at equilibrium.

        Raises:
            NotMeasuredError: the model is a file, not the folder of a run.
            InputError: the run's rows or checkpoint cannot be read.
        """
        if not is_run(target.options.run):
            reason = "a model alone does not show how it was trained; name a run folder"
            raise NotMeasuredError(reason)
        folder = RunFolder(target.options.run)
        config = config_of(folder, target.options.source)
        rows = target.data
        if rows is None or not target.own:
            rows = own_rows(folder)
        prepared = prepared_with(config, rows)
        state = folder.checkpoints.state(prepared.start, prepared.fingerprint, config.source)
        report = equilibrium(
            state.rbm,
            prepared.plan.method.gradient,
            key=target.key_of(2),
            data=prepared.train,
            state=state.gradient,
            sweeps=SWEEPS,
            seconds=SECONDS,
            progress=progress,
        )
        return cls(report)

    def to_json(self) -> dict[str, Any]:
        mixing = self.report.mixing
        record = None if mixing is None else _mixing_json(mixing)
        return self.report._asdict() | {"mixing": record}

    def lines(self) -> list[Line]:
        words = {True: "yes", False: "no", None: "not known"}
        word = words[self.report.at_equilibrium]
        if self.report.k is None:
            word = "no chains"
        elif self.report.at_equilibrium is False and self.report.chains_agree:
            word = "chains kept up"
        return [("trained at equilibrium", word, self.report.message)]


def _mixing_json(mixing: diagnostics.Mixing) -> dict[str, Any]:
    """Return a measurement of mixing as JSON types, without the autocorrelation curves."""
    return {
        "relaxation": mixing.relaxation,
        "resolved": mixing.resolved,
        "rhat": mixing.rhat,
        "slowest": mixing.slowest,
        "met": mixing.met,
        "two_sided": mixing.two_sided,
        "sweeps": mixing.sweeps,
        "chains": mixing.chains,
        "message": mixing.message,
        "tau": {name: observable.tau for name, observable in mixing.observables.items()},
        "seconds_allowed": SECONDS,
    }
