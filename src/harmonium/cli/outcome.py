"""How a run of `harmonium train` or `resume` ended, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from typing import Any

from .base import (
    DONE,
    INTERRUPTED,
    NOT_REACHED,
    complain,
    log_z_line,
    nats,
    print_json,
    typed,
)

_STATUSES = {"interrupted": INTERRUPTED, "diverged": NOT_REACHED}


def tell(summary: dict[str, Any], as_json: bool, show: Any, options: Sequence[str] = ()) -> int:
    """Print the summary of a run, as JSON or as text, and return the exit status.

    Args:
        summary: of the run.
        as_json: whether standard output is to be JSON.
        show: the display.
        options: of the command that goes on with the run.
    """
    from .._base.processes import is_first

    status = summary["status"]
    run = summary["run"]
    if not is_first():
        return _STATUSES.get(status, DONE)
    if as_json:
        print_json(summary)
    if status == "interrupted":
        complain(
            f"{summary['message']}; saved in {run}. Go on with: {typed('resume', run, *options)}"
        )
    elif status == "diverged":
        complain(f"{summary['message']} The model is in {summary['model']}.")
    elif not as_json:
        show.say(score_line(summary["log_likelihood"]))
        show.say(baseline_line(summary["log_likelihood"]))
        if "ensemble" in summary:
            show.say(mean_line(summary["ensemble"]["mean"]))
        show.say(log_z_line(summary["log_z"]))
        show.say(f"model     {summary['model']}")
        if summary["report"] is not None:
            show.say(f"report    {summary['report']}")
        show.say(f"next      {typed('evaluate', run)}")
    return _STATUSES.get(status, DONE)


def baseline_line(score: dict[str, Any]) -> str:
    """Return how far a log-likelihood is above that of independent units, as text."""
    without = score["without_hidden_units"]
    apart = score["value"] - without
    side = "above" if apart >= 0 else "below"
    return (
        f"  {nats(abs(apart))} nats {side} that of the units by themselves,"
        f" {nats(without)} (no hidden units)"
    )


def mean_line(mean: dict[str, Any]) -> str:
    """Return the mean log-likelihood of the models of an ensemble, as text."""
    error = f"± {nats(mean['stderr_models'])} (standard error over seeds)"
    return f"  mean of {mean['models']} models {nats(mean['value'])} {error}; above is the first"


def score_line(score: dict[str, Any]) -> str:
    """Return a log-likelihood with its interval, its spread and its method, as text."""
    warning = "" if score["converged"] else "; NOT converged: do not quote it"
    spread = score["stderr_rows"]
    over_rows = f", ± {nats(spread)} over rows" if spread is not None and isfinite(spread) else ""
    return (
        f"{score['rows']} log-likelihood {nats(score['value'])} nats per row,"
        f" in [{nats(score['low'])}, {nats(score['high'])}]{over_rows} ({score['method']}{warning})"
    )
