"""`harmonium train` and `harmonium resume`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from .base import console, print_json, run_command, status_of

TRAIN_HELP = """Train a machine from a built-in set or a file, score it, and keep it in a run folder.

SOURCE is digits, bars, shifter, ising, mnist, or a file: .npy, .npz, .csv, .parquet, idx, idx.gz.
FILE.npz:KEY picks one array of an archive.

\b
Examples:
  harmonium train digits
  harmonium train mnist --hidden 500
  harmonium train rows.csv --hidden 16 --method exact --json
  harmonium train spins.npy --visible ising --k 10 --out runs/spins
"""

RESUME_HELP = """Go on with an interrupted run, or train a finished one for more epochs.

\b
Examples:
  harmonium resume runs/digits
  harmonium resume runs/digits --epochs 3000
"""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]


def train_cli(
    source: Annotated[str, typer.Argument(help="A built-in set or a file.")],
    hidden: Annotated[int, typer.Option(help="Number of hidden units.")] = 64,
    method: Annotated[str, typer.Option(help="exact, cd or pcd.")] = "pcd",
    k: Annotated[int, typer.Option(help="Gibbs sweeps in an update.")] = 1,
    chains: Annotated[int, typer.Option(help="Persistent chains of pcd.")] = 500,
    epochs: Annotated[
        int | None, typer.Option(help="Passes over the rows. Default: 10,000 updates, at least 20.")
    ] = None,
    batch: Annotated[int, typer.Option(help="Rows in an update.")] = 200,
    lr: Annotated[
        float, typer.Option(help="Learning rate; falls to 0 over the second half.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn.")] = 0,
    binarize: Annotated[
        str, typer.Option(help="Grey levels: none, threshold, or stochastic (at each visit).")
    ] = "stochastic",
    visible: Annotated[
        str, typer.Option(help="auto, bernoulli, ising, potts or gaussian.")
    ] = "auto",
    scale: Annotated[
        float | None, typer.Option(help="The grey level that means 1, for levels up to 127.")
    ] = None,
    states: Annotated[
        int | None, typer.Option(help="Number of states of Potts visibles. Default: from the data.")
    ] = None,
    validation: Annotated[float, typer.Option(help="Part of the rows to hold out.")] = 0.1,
    out: Annotated[
        str | None, typer.Option(help="Folder of the run. Default: the next free runs/NAME.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older run.")] = False,
    as_json: Json = False,
) -> None:
    """Train a machine; its help text is TRAIN_HELP."""
    options = dict(locals())
    for name in ("out", "overwrite", "as_json"):
        options.pop(name)

    def command() -> int:
        from ..runs.config import RunConfig
        from ..runs.display import Display
        from ..runs.train import train

        display = Display(console(as_json))
        summary = train(RunConfig(**options), out, overwrite, display)
        return tell(summary, as_json, display)

    raise typer.Exit(run_command(command))


def resume_cli(
    run: Annotated[str, typer.Argument(help="A run folder.")],
    epochs: Annotated[
        int | None, typer.Option(help="Epochs at which the run ends, counted from its start.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Go on with a run; its help text is RESUME_HELP."""

    def command() -> int:
        from ..runs.display import Display
        from ..runs.train import resume

        display = Display(console(as_json))
        return tell(resume(run, epochs, display), as_json, display)

    raise typer.Exit(run_command(command))


def tell(summary: dict[str, Any], as_json: bool, display: Any) -> int:
    """Report a run, to a program or to a person."""
    if as_json:
        print_json(summary)
        return status_of(summary)
    if summary["status"] == "interrupted":
        display.say(f"{summary['message']}; the model so far is kept in {summary['run']}.")
        display.say(f"go on with: harmonium resume {summary['run']}")
        return status_of(summary)
    if "log_likelihood" in summary:
        score, log_z = summary["log_likelihood"], summary["log_z"]
        display.say(score_line(score))
        display.say(f"log Z {log_z['value']:.3f} in [{log_z['low']:.3f}, {log_z['high']:.3f}]")
    display.say(f"model     {summary['model']}")
    for number, path in enumerate(summary.get("pictures", [])):
        display.say(f"{'pictures ' if not number else '         '} {path}")
    return status_of(summary)


def score_line(score: dict[str, Any]) -> str:
    """Give a log-likelihood with its interval, its spread and its method."""
    doubt = "" if score["converged"] else "; NOT converged: do not quote it"
    return (
        f"{score['rows']} log-likelihood {score['value']:.3f} nats a row,"
        f" in [{score['low']:.3f}, {score['high']:.3f}],"
        f" ± {score['stderr_rows']:.3f} over rows ({score['method']}{doubt})"
    )
