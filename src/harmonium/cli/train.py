"""`harmonium train` and `harmonium resume`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from ..errors import InputError
from ..runs.options import Argument, Option, Source, Whole
from ..runs.train_options import RunConfig
from .base import display
from .options import Json
from .outcome import print_summary
from .surroundings import Surroundings


def train(
    config: RunConfig,
    *,
    kinds: Annotated[
        list[str] | None,
        Option(
            "Type of a column of a table: category, discrete, continuous, date or calendar;"
            " repeatable.",
            "NAME=KIND",
            ("--as",),
        ),
    ] = None,
    drop: Annotated[list[str] | None, Option("Leave a column of a table out; repeatable.")] = None,
    out: Annotated[
        str | None, Option("Folder for the run.  [default: a new folder in runs]", "FOLDER")
    ] = None,
    overwrite: Annotated[bool, Option("Replace an older run.")] = False,
    surroundings: Surroundings,
    as_json: Json = False,
) -> int:
    """Train a model on a data set or a file, score it, and save it in a run folder.

    SOURCE is a built-in data set (digits, bars, shifter, ising, mnist) or a file: .npy, .npz, .csv,
    .tsv, .parquet, idx or idx.gz, with one row per example; or aligned sequences (FASTA, A2M, A3M
    or Stockholm, also .gz). FILE.npz:KEY selects one array of an archive. A folder or a glob
    pattern of .npy, .parquet or .arrow files is read during training, so the data may be larger
    than memory. For a table with text, numbers of any scale, dates or empty cells, the column types
    are inferred and printed. Ctrl-C stops a run and saves it.

    Examples:
      harmonium train digits
      harmonium train mnist --hidden 500
      harmonium train titanic.csv
      harmonium train family.fasta
      harmonium train rows.csv --hidden 16 --method exact --json
      harmonium train family.fasta --watch
      harmonium train spins.npy --visible ising --k 10 --out runs/spins
      harmonium train "parts/rows-*.npy" --hidden 500
      harmonium train rows.npy --hidden 20000 --chains 512 --mesh data=4,hidden=2
      srun harmonium train rows.npy --out runs/rows --distributed
    """
    from ..runs.train import train as run_training

    show = display(as_json)
    with surroundings.devices(), surroundings.watching(show) as watch:
        config = replace(config, kinds=kinds_of_columns(kinds or [], drop or []))
        summary = run_training(config, out, overwrite, show, watch)
    return print_summary(summary, as_json, show, surroundings.again)


def resume(
    run: Annotated[str, Argument("A run folder.", "RUN")],
    *,
    epochs: Annotated[
        int | None, Whole("Total number of epochs to reach.  [default: the run's]")
    ] = None,
    source: Source = None,
    surroundings: Surroundings,
    as_json: Json = False,
) -> int:
    """Continue an interrupted run, or train a finished one for more epochs.

    A resumed run gives bit for bit the same result as an uninterrupted run.

    Examples:
      harmonium resume runs/digits
      harmonium resume runs/digits --epochs 3000
      srun harmonium resume runs/rows --distributed
    """
    from ..runs.train import resume as resume_training

    show = display(as_json)
    with surroundings.devices(), surroundings.watching(show) as watch:
        summary = resume_training(run, epochs, show, watch, source=source)
    return print_summary(summary, as_json, show, surroundings.again)


def kinds_of_columns(kinds: list[str], dropped: list[str]) -> dict[str, str]:
    """Return the column types set by `--as` and `--drop`, keyed by column name.

    Raises:
        InputError: `--as` is given without a column name or an equals sign.
    """
    from ..tables.conditions import unquoted  # slow to import, and not needed for --help

    by_name = {}
    for text in kinds:
        name, equals, kind = text.rpartition("=")
        if not equals or not name:
            raise InputError(f"--as: expected NAME=KIND; got {text!r}; write, say, age=continuous.")
        by_name[unquoted(name)] = kind
    return by_name | dict.fromkeys(map(unquoted, dropped), "left out")
