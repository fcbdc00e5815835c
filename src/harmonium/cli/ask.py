"""`harmonium ask`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from ..runs.options import Argument, Seed, Whole
from .base import display, print_json, status_of_chains
from .options import Json, MustConverge, TableRun

if TYPE_CHECKING:  # these import JAX
    from ..inference import Answer


def ask(
    run: TableRun,
    question: Annotated[str, Argument("COLUMNS | CELLS.", "QUESTION")],
    chains: Annotated[
        int, Whole("Number of Gibbs chains, if an exact sum is infeasible.", least=2)
    ] = 1_000,
    sweeps: Annotated[int, Whole("Initial number of Gibbs sweeps per chain.", least=2)] = 1_000,
    seed: Seed = 0,
    must_converge: MustConverge = False,
    as_json: Json = False,
) -> int:
    """Compute the distribution of some columns, given the values of other columns.

    QUESTION lists columns and, after a bar, known values: "survived | sex=female, pclass=1". Quote
    each name or value that contains a comma, a bar or an equals sign. All other columns are
    marginalised out. For each column before the bar, the answer gives the probability of each
    value or, for a column of numbers, quantiles. Probabilities are exact if a sum over all states
    is feasible. Otherwise, they are estimated by annealed Gibbs chains and printed with a 95 %
    interval, and a warning is printed if the chains do not converge within a few seconds.

    Examples:
      harmonium ask runs/titanic "survived | sex=female, pclass=1"
      harmonium ask runs/titanic "age, fare | who=child"
      harmonium ask runs/titanic "survived | age=40.., fare=..10"
      harmonium ask runs/survey 'answer | "In your opinion, which?"="yes, both"'
    """
    from .._base.threefry import key_of
    from ..inference import ask as ask_model
    from ..io.storage import load
    from ..runs.folder import RunFolder

    rbm = load(run)
    columns = RunFolder(run).columns_of_table()
    answers = ask_model(rbm, columns, question, key=key_of(seed), chains=chains, sweeps=sweeps)
    if as_json:
        records = [answer._asdict() for answer in answers]
        print_json({"run": run, "question": question, "answers": records})
    else:
        show = display(as_json)
        for answer in answers:
            for line in _lines_of(answer):
                show.say(line)
    return status_of_chains(answers[0].converged, answers[0].message, must_converge)


def _lines_of(answer: Answer) -> list[str]:
    """Return an answer as text, one line for each value."""
    width = max(map(len, answer.values))
    lines = [f"{answer.name} ({answer.method})"]
    if answer.quantiles is not None:
        for name, quantile in zip(answer.values, answer.quantiles, strict=True):
            lines.append(f"  {name:<{width}}  {quantile}")
        return lines
    probabilities = answer.shares or []
    half_widths = answer.reach or []
    for value, probability, half_width in zip(
        answer.values, probabilities, half_widths, strict=True
    ):
        interval = ""
        if half_width:
            interval = f" ± {half_width:.3f}"
        lines.append(f"  {value:<{width}}  {probability:.3f}{interval}")
    return lines
