"""`harmonium scan`, `harmonium contacts` and `harmonium motifs`: what a model of sequences says."""

from __future__ import annotations

from math import isfinite
from typing import Annotated, Any

import typer

from .base import display, nats, print_json, run_command
from .options import number, whole, word
from .train import Json

SCAN_HELP = """Score all single mutants of a sequence.

RUN is the folder of a run on an alignment. A mutant's score is log p(mutant) minus log p(sequence),
in nats: the lower, the more harmful. SEQUENCE is a file, whose first sequence is taken and must
have the columns of the run's alignment, or a name in that alignment; by default its first sequence.
Residues are numbered as the name tells (NAME/24-286), else from 1; if the name tells of another
number of residues than the file has, by the columns of the alignment.

\b
Examples:
  harmonium scan runs/family
  harmonium scan runs/family wild_type.fasta --out scan.csv
  harmonium scan runs/family --out scan.png
"""

CONTACTS_HELP = """Find the pairs of sites that a model couples most strongly: likely contacts.

RUN is the folder of a run on an alignment. Couplings are the pair terms of log p in the zero-sum
gauge, around 24 evenly spaced sequences of the run; a pair's score is their Frobenius norm without
gaps, after the average product correction (APC).
With --structure, the best pairs are compared with known distances. Each line of the file has two
columns of the alignment, counted from 1, and their distance in Å, separated by blanks or commas.
Usual are the distances of the nearest heavy atoms, with contacts below 8 Å.

\b
Examples:
  harmonium contacts runs/family
  harmonium contacts runs/family --out contacts.csv
  harmonium contacts runs/family --structure distances.txt --out contacts.png
"""

MOTIFS_HELP = """Show what the hidden units of a model of sequences look for.

RUN is the folder of a run on an alignment. The strongest units are told by their largest weights,
and by the sequences that switch them on and off. With --out FILE.png their weights are drawn as
logos.

\b
Examples:
  harmonium motifs runs/family
  harmonium motifs runs/family --units 5 --out motifs.png
"""

Run = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run on an alignment.")]
Out = Annotated[str | None, word("--out", metavar="FILE", help="File: .csv, .tsv or .png.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the file.")]


def scan_cli(
    run: Run,
    sequence: Annotated[
        str | None,
        typer.Argument(metavar="[SEQUENCE]", help="A file, or a name in the run's alignment."),
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Score single mutants; its help text is SCAN_HELP."""

    def command() -> None:
        from ..runs.scan import scan

        summary = scan(run, sequence, out, overwrite)
        if as_json:
            print_json(summary)
            return
        show = display(as_json)
        show.say(
            f"{summary['mutants']:,} single mutants of {summary['sequence']},"
            f" {nats(summary['mean'])} nats on average"
        )
        show.say(f"numbers are those of {summary['numbered']}")
        for title in ("most_harmful", "most_favourable"):
            few = (f"{line['mutant']} {nats(line['score'])}" for line in summary[title])
            show.say(f"{title.replace('_', ' ')}: {', '.join(few)}")
        _written(show, out)

    raise typer.Exit(run_command(command))


def contacts_cli(
    run: Run,
    structure: Annotated[
        str | None, word("--structure", metavar="FILE", help="Distances between columns, in Å.")
    ] = None,
    near: Annotated[float, number("--near", help="Largest distance of a contact, in Å.")] = 8.0,
    apart: Annotated[
        int, whole("--apart", help="Leave out pairs that are this near or nearer.")
    ] = 4,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Find coupled pairs of sites; its help text is CONTACTS_HELP."""

    def command() -> None:
        from ..runs.contacts import contacts

        show = display(as_json)
        summary = contacts(run, out, structure, near, apart, overwrite, show)
        if as_json:
            print_json(summary)
            return
        show.say(f"{summary['pairs']:,} pairs; the most strongly coupled:")
        for pair in summary["best"]:
            known = pair.get("distance")
            distance = f", {known:.1f} Å" if known is not None and isfinite(known) else ""
            columns = f"{pair['column_1']:>4} {pair['column_2']:>4}"
            show.say(f"  {columns}  score {pair['score']:.3f}{distance}")
        if "precision" in summary:
            show.say(f"within {near:g} Å are {_shares(summary)}")
        _written(show, out)

    raise typer.Exit(run_command(command))


def motifs_cli(
    run: Run,
    units: Annotated[int, whole("--units", help="How many hidden units, the strongest first.")] = 5,
    out: Annotated[
        str | None, word("--out", metavar="FILE", help="Picture of the weights as logos: .png.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Show what hidden units look for; its help text is MOTIFS_HELP."""

    def command() -> None:
        from ..runs.motifs import motifs

        summary = motifs(run, units, out, overwrite)
        if as_json:
            print_json(summary)
            return
        show = display(as_json)
        for unit in summary["units"]:
            show.say(f"hidden unit {unit['unit']}, norm of its weights {unit['norm']:.2f}")
            for side, sign in (("switched on by", 1), ("switched off by", -1)):
                if found := _letters(unit["letters"], sign):
                    show.say(f"  {side:<16} {found}")
            if "high" in unit:
                show.say(f"  most on in       {', '.join(unit['high'])}")
                show.say(f"  most off in      {', '.join(unit['low'])}")
        _written(show, out)

    raise typer.Exit(run_command(command))


def _shares(summary: dict[str, Any]) -> str:
    best = summary["precision"]
    some = (
        f"{each['near']:,} of the best {each['pairs']:,} ({name})" for name, each in best.items()
    )
    every = summary["share_of_contacts"]
    return f"{', '.join(some)}; {every:.1%} of all pairs whose distance is known"


def _letters(letters: list[dict[str, Any]], sign: int) -> str:
    some = [one for one in letters if one["weight"] * sign > 0]
    few = (f"{one['letter']} at {one['column']} ({one['weight']:+.2f})" for one in some)
    return ", ".join(few).replace("-0", "−0")


def _written(show: Any, out: str | None) -> None:
    if out is not None:
        show.say(f"written to {out}")
