"""`harmonium ask`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .base import display, print_json, run_command, status_of_chains
from .options import MustConverge, whole
from .train import Json, Seed

ASK_HELP = """Ask for the distribution of columns, given cells of others.

QUESTION names columns, and after a bar the cells that are known: "survived | sex=female, pclass=1".
Names and values with commas, bars or equal signs are in quotes of their own.
All other columns are unknown and summed over. The answer has the probability of each value, exact
or with a 95 % interval by families of annealed chains, or the quantiles of a number. A line says if
the chains have not converged after some seconds.

\b
Examples:
  harmonium ask runs/titanic "survived | sex=female, pclass=1"
  harmonium ask runs/titanic "age, fare | who=child"
  harmonium ask runs/titanic "survived | age=40.., fare=..10"
  harmonium ask runs/survey 'answer | "In your opinion, which?"="yes, both"'
"""


def ask_cli(
    run: Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run on a table.")],
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="COLUMNS | CELLS.")],
    chains: Annotated[int, whole("--chains", help="Gibbs chains, where no sum is exact.")] = 1_000,
    sweeps: Annotated[int, whole("--sweeps", help="Gibbs sweeps per chain at first.")] = 1_000,
    seed: Seed = 0,
    must_converge: MustConverge = False,
    as_json: Json = False,
) -> None:
    """Answer a question; its help text is ASK_HELP."""

    def command() -> int:
        from ..runs.ask import ask_run

        answers = ask_run(run, question, chains, sweeps, seed)
        if as_json:
            print_json(
                {"run": run, "question": question, "answers": [a._asdict() for a in answers]}
            )
        else:
            show = display(as_json)
            for answer in answers:
                for line in lines_of(answer):
                    show.say(line)
        return status_of_chains(answers[0].converged, answers[0].message, must_converge)

    raise typer.Exit(run_command(command))


def lines_of(answer: Any) -> list[str]:
    """Return an answer as text, one line for each value."""
    width = max(map(len, answer.values))
    lines = [f"{answer.name} ({answer.method})"]
    if answer.quantiles is not None:
        pairs = zip(answer.values, answer.quantiles, strict=True)
        return [*lines, *(f"  {name:<{width}}  {value}" for name, value in pairs)]
    for value, share, reach in zip(answer.values, answer.shares, answer.reach, strict=True):
        lines.append(f"  {value:<{width}}  {share:.3f}" + (f" ± {reach:.3f}" if reach else ""))
    return lines
