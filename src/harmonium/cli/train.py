"""`harmonium train` and `harmonium resume`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..errors import input_error
from .base import display, run_command
from .options import (
    Header,
    Missing,
    Separator,
    Skip,
    Source,
    number,
    number_or_auto,
    text_options,
    whole,
    whole_or_auto,
    word,
)
from .outcome import tell
from .surroundings import (
    Devices,
    IsDistributed,
    IsWatched,
    WatchOn,
    again,
    check_alone,
    spread_over,
    watching,
)

TRAIN_HELP = """Train a model on a data set or a file, score it, and save it in a run folder.

SOURCE is a built-in data set (digits, bars, shifter, ising, mnist) or a file: .npy, .npz,
.csv, .tsv, .parquet, idx, idx.gz, one row per example; or aligned sequences (FASTA, A2M, A3M,
Stockholm, also .gz). FILE.npz:KEY picks one array of an archive. A folder of .npy, .parquet or
.arrow files, or a pattern, is read while training, so it may be larger than memory.
Of a table with words, numbers of any scale, dates or empty cells, it is decided and printed what
each column means. Ctrl-C stops a run and saves it.

\b
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

RESUME_HELP = """Go on with an interrupted run, or train a finished one for more epochs.

A resumed run ends with the same result, to the last bit, as without the interruption.

\b
Examples:
  harmonium resume runs/digits
  harmonium resume runs/digits --epochs 3000
  srun harmonium resume runs/rows --distributed
"""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
Seed = Annotated[int, whole("--seed", help="Random seed.")]


def train_cli(
    source: Annotated[str, typer.Argument(metavar="SOURCE", help="A built-in data set or a file.")],
    hidden: Annotated[
        str,
        whole_or_auto(
            "--hidden",
            help="Number of hidden units; auto is one for every 100 rows, but at most two for each"
            " column and 500 in all, and at least 64.",
        ),
    ] = "auto",
    hidden_units: Annotated[
        str,
        word(
            "--hidden-units",
            help="Kind of hidden units: bernoulli, ising, gaussian or potts.",
        ),
    ] = "bernoulli",
    hidden_states: Annotated[
        int | None, whole("--hidden-states", help="Number of states of each hidden Potts unit.")
    ] = None,
    method: Annotated[
        str,
        word(
            "--method",
            help="pcd, cd, exact, auto, unbiased, fpcd, pt, ptt, jarzynski, tap, mean-field,"
            " pseudo-likelihood, ratio-matching or flow.",
        ),
    ] = "pcd",
    k: Annotated[int, whole("--k", help="Gibbs sweeps per update.")] = 1,
    chains: Annotated[
        int | None,
        whole(
            "--chains",
            help="Number of chains, for methods that have chains; with --mesh by default the next"
            " number that the devices can share.  [default: 500]",
        ),
    ] = None,
    epochs: Annotated[
        int | None,
        whole(
            "--epochs",
            help="Passes over the rows.  [default: at least 20, and as many as make 10,000 updates,"
            " up to 40,000 for a small model of more than 2,000 rows]",
        ),
    ] = None,
    batch: Annotated[
        int | None,
        whole(
            "--batch",
            help="Rows per update (batch size); with --mesh by default the next number that the"
            " devices can share.  [default: 200]",
        ),
    ] = None,
    lr: Annotated[
        float | None,
        number(
            "--lr",
            help="Learning rate; falls to 0 over the second half.  [default: 0.1; up to 0.4 for pcd"
            " with 500 chains or more on more than 64 columns of 0/1 or sites of letters; less for"
            " two layers of wide units; a quarter if the run diverges]",
        ),
    ] = None,
    seed: Seed = 0,
    split: Annotated[
        int | None,
        whole(
            "--split",
            help="Seed of the choice of held-out rows: runs of one split can be compared, whatever"
            " their seeds.  [default: that of --seed]",
        ),
    ] = None,
    ensemble: Annotated[
        int,
        whole(
            "--ensemble",
            help="Number of models to train side by side, from as many seeds in a row.",
        ),
    ] = 1,
    binarize: Annotated[
        str,
        word(
            "--binarize",
            help="How to treat grey levels: none, threshold, or stochastic (drawn at each visit).",
        ),
    ] = "stochastic",
    visible: Annotated[
        str,
        word(
            "--visible",
            help="Kind of visible units: bernoulli, ising, potts, gaussian, relu, drelu,"
            " unit_interval, poisson, replicated_softmax (word counts), or auto (chosen by the"
            " data: groups of 0/1 columns of which at most one is ever on are categories).",
        ),
    ] = "auto",
    scale: Annotated[
        float | None,
        number("--scale", help="The grey level that means 1, if not 255."),
    ] = None,
    states: Annotated[
        int | None,
        whole(
            "--states",
            help="Number of states of each visible Potts unit.  [default: as in the data]",
        ),
    ] = None,
    validation: Annotated[
        Any,
        number_or_auto(
            "--validation",
            help="Fraction of the rows to hold out; auto is a tenth, but none of fewer than 500"
            " rows of discrete values, which are cross-validated.",
        ),
    ] = "auto",
    penalty: Annotated[
        str | None,
        number_or_auto(
            "--penalty",
            help="Strength of a penalty on large weights, 0 for none. With auto it comes from the"
            " number of rows, and grows with the free-energy gap of the held-out rows."
            "  [default: auto, but 0 if --epochs is given]",
        ),
    ] = None,
    keep: Annotated[
        str | None,
        word(
            "--keep",
            help="The model to end with: best (highest log-likelihood of the held-out rows) or"
            " last.  [default: best, but last if --epochs is given or no rows are held out]",
        ),
    ] = None,
    precision: Annotated[
        str,
        word(
            "--precision",
            help="Precision of products with the weights: float32, bfloat16, or auto (bfloat16"
            " where it is exact, and measured to be faster on this device). A seed gives the same"
            " model only at the same precision.",
        ),
    ] = "auto",
    columns: Annotated[
        str | None,
        word(
            "--columns",
            metavar="FILE",
            help="What the columns of a table mean: columns.json of a run, perhaps edited.",
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        word(
            "--as",
            metavar="NAME=KIND",
            help="What a column of a table is: category, discrete, continuous, date or calendar;"
            " repeatable.",
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        word("--drop", help="Leave a column of a table out; repeatable."),
    ] = None,
    header: Header = None,
    separator: Separator = None,
    missing: Missing = None,
    skip: Skip = None,
    label: Annotated[
        str | None,
        word(
            "--label",
            metavar="NAME|none",
            help="A column of labels, which is set aside.  [default: that of a file of pictures, by"
            " its name or its values]",
        ),
    ] = None,
    weight: Annotated[
        str | None,
        word("--weight", help="A column that says how often each row counts."),
    ] = None,
    alphabet: Annotated[
        str,
        word(
            "--alphabet",
            help="Letters of an alignment: auto, protein, rna, dna, or all with the gap first, as"
            " -ACGU.",
        ),
    ] = "auto",
    identity: Annotated[
        float,
        number(
            "--identity",
            help="Fraction of equal sites from which sequences of an alignment count as alike: each"
            " has a weight of 1 over the number of those like it.",
        ),
    ] = 0.8,
    window: Annotated[
        str,
        whole_or_auto(
            "--window",
            help="Rows in memory at a time, of .npy, .parquet or .arrow files that are read"
            " while training; 0 for all. With auto, a folder of files, a pattern or an .npy file"
            " of more than half of the memory is read so.",
        ),
    ] = "auto",
    out: Annotated[
        str | None,
        word("--out", metavar="FOLDER", help="Folder for the run.  [default: a new one in runs]"),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an older run.")] = False,
    mesh: Devices = None,
    is_distributed: IsDistributed = False,
    is_watched: IsWatched = False,
    watch_on: WatchOn = None,
    as_json: Json = False,
) -> None:
    """Train a model; its help text is TRAIN_HELP."""
    options = dict(locals())
    others = ("out", "overwrite", "as_json", "kind", "drop", "mesh", "is_watched", "watch_on")
    text = ("header", "separator", "missing", "skip")
    for name in (*others, *text, "is_distributed"):
        options.pop(name)
    options |= text_options(header, separator, missing, skip)
    check_alone(is_distributed, is_watched or watch_on is not None)

    def command() -> int:
        from ..runs.config import RunConfig
        from ..runs.train import train

        show = display(as_json)
        options["kinds"] = kinds_told(kind or [], drop or [])
        with spread_over(mesh, is_distributed), watching(is_watched, watch_on, show) as watch:
            config = RunConfig(**options)
            summary = train(config, out, overwrite, show, watch)
        return tell(summary, as_json, show, again(is_distributed, mesh))

    raise typer.Exit(run_command(command, is_distributed=is_distributed))


def resume_cli(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run folder.")],
    epochs: Annotated[
        int | None,
        whole("--epochs", help="Total number of epochs to reach.  [default: the run's]"),
    ] = None,
    source: Source = None,
    mesh: Devices = None,
    is_distributed: IsDistributed = False,
    is_watched: IsWatched = False,
    watch_on: WatchOn = None,
    as_json: Json = False,
) -> None:
    """Go on with a run; its help text is RESUME_HELP."""
    check_alone(is_distributed, is_watched or watch_on is not None)

    def command() -> int:
        from ..runs.train import resume

        show = display(as_json)
        with spread_over(mesh, is_distributed), watching(is_watched, watch_on, show) as watch:
            summary = resume(run, epochs, show, watch, source=source)
        return tell(summary, as_json, show, again(is_distributed, mesh))

    raise typer.Exit(run_command(command, is_distributed=is_distributed))


def kinds_told(kinds: list[str], dropped: list[str]) -> dict[str, str]:
    """Return the kinds of columns by name that `--as` and `--drop` say."""
    from ..tables.conditions import unquoted  # with all of tables, for which --help need not wait

    found = {}
    for text in kinds:
        name, equals, kind = text.rpartition("=")
        if not equals or not name:
            raise input_error("--as", "NAME=KIND", repr(text), "write it as age=continuous")
        found[unquoted(name)] = kind
    return found | dict.fromkeys(map(unquoted, dropped), "left out")
