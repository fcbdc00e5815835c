"""An evaluation as a table that a person can read and cite."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rich.table import Table
from rich.text import Text

from ..diagnostics.base import count
from ..diagnostics.relaxation import LEVEL
from ..errors import count_of
from ..partition_function.base import TRUSTED_ESS
from .display import Display, nats
from .metrics import MIXING_SECONDS, MIXING_SWEEPS
from .records import NOT_KNOWN
from .sampling import SECONDS

Line = tuple[str, str, str]  # what it is, what was found, how to read it
TWO_ERRORS = 2.0
AS_GOOD = "as other rows of data"  # not printed
WORDS = {True: "yes", False: "NO", None: "not known"}


def show(summary: dict[str, Any], display: Display) -> None:
    """Print an evaluation: the model and the rows, the table, and the paths of the pictures.

    Args:
        summary: what `evaluate` returns.
        display: where to print it.
    """
    for line in _heads(summary):
        display.say(line)
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for _ in range(3):
        grid.add_column(overflow="fold")
    for section in _sections(summary):
        grid.add_row()
        for line in section:
            grid.add_row(*map(Text, line))
    display.console.print(grid, highlight=False)
    for line in _pictures(summary):
        display.say(line)


def _sections(summary: dict[str, Any]) -> list[list[Line]]:
    """Return the lines of the table, grouped by block."""
    known: list[tuple[str, str, Callable[[dict[str, Any]], list[Line]]]] = [
        ("pseudo_log_likelihood", "pseudo-log-likelihood", _predicted),
        ("reconstruction", "reconstruction error", _reconstruction),
        ("free_energy_gap", "free-energy gap", _gap),
        ("columns", "", _columns),
        ("mixing", "relaxation time", _mixing),
        ("equilibrium", "trained at equilibrium", _equilibrium),
        ("sample_quality", "sample quality", _quality),
    ]
    sections = [_likelihood(summary), _log_z(summary["log_z"])]
    for name, title, lines in known:
        block = summary[name]
        unknown = [(title, "not known", f"{block.get(NOT_KNOWN)}.")] if title else []
        sections.append(unknown if NOT_KNOWN in block else lines(block))
    likelihood, log_z, predicted, back, gap, columns, mixing, equilibrium, quality = sections
    every = [likelihood, log_z, [*predicted, *back, *gap], columns]
    return [each for each in (*every, [*mixing, *equilibrium], quality) if each]


def _heads(summary: dict[str, Any]) -> list[str]:
    """Return the lines above the table: the model, and the rows that are scored."""
    head, rows = f"{summary['run']}: {summary['model']}", summary["rows"]
    if rows is None:
        return [head, "no rows: name them as DATA to have them scored"]
    scored = f"scored on {count_of(rows['count'], _kind(rows['name']))}"
    return [head, scored, *(f"  {note}" for note in rows["notes"])]


def _kind(name: str) -> str:
    return {"train": "training row"}.get(name, f"{name} row")


def _likelihood(summary: dict[str, Any]) -> list[Line]:
    found = summary["log_likelihood"]
    if found is None:
        return [("log-likelihood", "not known", "no rows; name them as DATA.")]
    grey = found["method"].removeprefix(summary["log_z"]["method"]).removeprefix("; ")
    warning = "" if found["converged"] else "; NOT converged: do not quote it"
    lines = [
        ("log-likelihood", f"{nats(found['value'], 3)} nats per row", f"mean over rows{warning}")
    ]
    if found["high"] > found["low"]:
        interval = f"{nats(found['low'], 3)} to {nats(found['high'], 3)}"
        how = "of this mean, from the error of log Z alone"
        lines.append(("  95 % interval", interval, how))
    lines.append(("  per unit", f"{nats(found['per_unit'], 4)} nats", "per site, pixel or column"))
    if found["n_rows"] > 1:
        how = "standard error of the mean: other rows of the same kind"
        lines.append(("  over rows", f"± {nats(found['stderr_rows'], 3)}", how))
    if (without := found["without_hidden_units"]) is not None:
        how = "each unit by itself, as in the training rows"
        lines.append(("  without hidden units", f"{nats(without, 3)} nats per row", how))
    if grey:
        lines.append(("  note", "", grey))
    return lines


def _log_z(found: dict[str, Any]) -> list[Line]:
    lines = [("log Z", f"{nats(found['value'], 4)} nats", found["method"])]
    if found["low"] == found["high"]:
        return lines
    lines.append(("  95 % interval", f"{nats(found['low'], 4)} to {nats(found['high'], 4)}", ""))
    if found["forward_estimate"] is not None:
        lines += [
            ("  forward alone", nats(found["forward_estimate"], 4), "biased low"),
            ("  reverse alone", nats(found["reverse_estimate"], 4), "biased high"),
            ("  gap", nats(found["gap"], 4), "reverse minus forward"),
            ("  effective chains", f"{found['ess']:,.0f}", f"{TRUSTED_ESS:g} or more are trusted"),
        ]
    word = WORDS[found["converged"]] if found["checked"] else "unchecked"
    return [*lines, ("  converged", word, found["message"])]


def _predicted(found: dict[str, Any]) -> list[Line]:
    value = f"{nats(found['value'], 3)} nats per row"
    how = f"log p of each unit given all others, exact, summed over units; {_over(found)}"
    per_unit = f"{nats(found['per_unit'], 4)} nats"
    return [("pseudo-log-likelihood", value, how), ("  per unit", per_unit, "")]


def _over(found: dict[str, Any]) -> str:
    spread = "" if found["n_rows"] == 1 else f"± {_figures(found['stderr_rows'], 2)} over "
    return f"{spread}{count_of(found['n_rows'], _kind(found['rows']))}"


def _reconstruction(found: dict[str, Any]) -> list[Line]:
    how = f"mean squared difference after v → mean h → mean v; {_over(found)}"
    variance = f"{_figures(found['variance'])}"
    return [
        ("reconstruction error", _figures(found["value"]), how),
        ("  rows' variance", variance, "the error of a model that only knows the column means"),
    ]


def _gap(found: dict[str, Any]) -> list[Line]:
    value, error = found["value"], found["stderr"]
    what = f"{found['rows']} minus {_kind(found['learned_from'])}s"
    if value > TWO_ERRORS * error:
        said = "the model favours rows that it has seen"
    elif value < -TWO_ERRORS * error:
        said = "the rows differ: the model favours those that it has not seen"
    else:
        said = "no sign that it favours rows that it has seen"
    return [("free-energy gap", f"{nats(value, 3)} ± {nats(error, 3)} nats", f"{what}: {said}")]


def _columns(found: dict[str, Any]) -> list[Line]:
    how = "log p of a cell given the others of its row, and of the column by itself"
    lines = [("columns", "given the others", how)]
    for each in found["columns"]:
        value = f"{nats(each['log_p'], 2)} ± {nats(each['stderr'], 2)} nats"
        by_itself = f"by itself {nats(each['alone'], 2)}"
        if each["correct"] is not None:
            shares = f"{each['correct']:.0%} right, {each['commonest']:.0%} by the commonest"
            by_itself += f"; {shares}"
        if each["error"] is not None:
            by_itself += f"; error {each['error']:.3g} of a spread of {each['spread']:.3g}"
        lines.append((f"  {each['name']}", value, by_itself))
    return lines


def _mixing(found: dict[str, Any]) -> list[Line]:
    least = "" if found["resolved"] else "at least "
    time = f"{least}{count(found['relaxation'])} sweeps"
    run = f"{found['chains']} chains × {found['sweeps']:,} sweeps"
    limit = f"{MIXING_SECONDS:g} s" if found["sweeps"] < MIXING_SWEEPS else "these sweeps"
    late = "" if found["resolved"] else f"; not resolved within {limit}"
    sides = "agree" if found["met"] else "DIFFER"
    rhat = "not known" if found["rhat"] is None else f"{found['rhat']:.3f}"
    return [
        ("relaxation time", time, f"after which 14 % of the slowest mode is left ({run}){late}"),
        ("  R-hat", rhat, f"below 1.01 is good; slowest: {found['slowest']}"),
        (
            "  two starts",
            sides,
            f"chains from two kinds of start: p = {found['two_sided']:.2g}; DIFFER below {LEVEL:g}",
        ),
    ]


def _equilibrium(found: dict[str, Any]) -> list[Line]:
    word = WORDS[found["at_equilibrium"]].lower()
    if found["k"] is None:
        word = "no chains"
    elif found["at_equilibrium"] is False and found.get("chains_agree"):
        word = "chains kept up"
    return [("trained at equilibrium", word, found["message"])]


def _quality(found: dict[str, Any]) -> list[Line]:
    compared = f"against {found['scores'][0]['rows']:,} {_kind(found['rows'])}s"
    short = found["sweeps"] < found["sweeps_wanted"]
    late = f" of {found['sweeps_wanted']:,} wanted: stopped after {SECONDS:g} s"
    length = f"{found['sweeps']:,} sweeps per chain{late if short else ''}"
    length += "" if found["converged"] else ", NOT converged"
    scaled = "; columns in standard deviations" if found["scaled"] else ""
    lines = [
        ("sample quality", f"{found['samples']:,} samples", f"{compared}; {length}{scaled}"),
        ("  score", "samples", "perfect sampler: other rows of data"),
    ]
    for score in found["scores"]:
        ours = f"{_figures(score['value'])} ± {_figures(score['error'], 2)}"
        perfect = f"{_figures(score['perfect'])} ± {_figures(score['spread'], 2)}"
        words = "" if score["judgement"] == AS_GOOD else f": {score['judgement']}"
        lines.append((f"  {score['name']}", ours, perfect + words))
    lines.append(
        ("  moments of samples, Pearson", "with data", "of other rows of data; slope of samples")
    )
    for each in found["moments"]:
        others = "" if each["others"] is None else f"{_figures(each['others'])}; "
        told = f"{others}slope {_figures(each['slope'])}"
        lines.append((f"  {each['name']}", _figures(each["samples"]), told))
    return lines


def _figures(number: float | None, digits: int = 3) -> str:
    known = number is not None and math.isfinite(number)
    return f"{number:#.{digits}g}".rstrip(".") if known else "unknown"


def _pictures(summary: dict[str, Any]) -> list[str]:
    """Return the paths of the pictures, and which pictures are left out."""
    lines = [f"  {path}" for path in summary["pictures"]]
    lines += [f"  no {name}: {why}." for name, why in summary["pictures_left_out"].items()]
    return ["", "pictures", *lines] if lines else []
