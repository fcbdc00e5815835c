"""`harmonium scan`, `harmonium contacts` and `harmonium motifs`, for models of sequences."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

from ..runs.options import Argument, Number, Option, Whole
from .base import display, nats, print_json
from .options import Json, Overwrite

if TYPE_CHECKING:  # these import JAX
    from ..runs.contacts import Contacts
    from ..runs.motifs import LetterWeight
    from ..runs.scan import Mutant

Run = Annotated[str, Argument("The folder of a run on an alignment.", "RUN")]
Out = Annotated[str | None, Option("File: .csv, .tsv or .png.", "FILE")]


def scan(
    run: Run,
    sequence: Annotated[
        str | None, Argument("A file, or a name in the run's alignment.", "[SEQUENCE]")
    ] = None,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Score all single mutants of a sequence.

    RUN is the folder of a run on an alignment. A mutant's score is log p(mutant) minus log
    p(sequence), in nats; a lower score predicts a more harmful mutation. SEQUENCE is a name in the
    run's alignment (by default the first sequence), or a file, whose first sequence is used and
    must have the columns of that alignment. Residues are numbered by the range in the name of the
    sequence (NAME/24-286) or, if there is no range, from 1; if the range has the wrong length,
    residues are numbered by alignment column.

    Examples:
      harmonium scan runs/family
      harmonium scan runs/family wild_type.fasta --out scan.csv
      harmonium scan runs/family --out scan.png
    """
    from ..runs.scan import scan as scan_mutants

    scanned = scan_mutants(run, sequence, out, overwrite)
    if as_json:
        print_json(scanned)
        return
    show = display(as_json)
    show.say(
        f"{scanned.mutants:,} single mutants of {scanned.sequence},"
        f" {nats(scanned.mean)} nats on average"
    )
    show.say(f"numbered by {scanned.numbered}")
    show.say(f"most harmful: {_mutants(scanned.most_harmful)}")
    show.say(f"most favourable: {_mutants(scanned.most_favourable)}")
    _say_written(show, out)


def contacts(
    run: Run,
    structure: Annotated[
        str | None, Option("File of distances between columns, in Å.", "FILE")
    ] = None,
    near: Annotated[
        float,
        Number(
            "Largest distance that counts as a contact, in Å.",
            below=1e9,
            expected="a positive number of Å",
            advice="give 8",
        ),
    ] = 8.0,
    apart: Annotated[
        int, Whole("Leave out pairs of sites at most this many sites apart.", least=0)
    ] = 4,
    out: Out = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Find the pairs of sites that a model couples most strongly, which are likely contacts.

    RUN is the folder of a run on an alignment. Couplings are the pair terms of log p in the
    zero-sum gauge, expanded around up to 24 evenly spaced sequences of the run; a pair's score is
    the Frobenius norm of its couplings between letters other than the gap, after the average
    product correction (APC). With --structure FILE, the best pairs are compared with known
    distances. Each line of FILE gives two columns of the alignment, counted from 1, and their
    distance in Å, separated by spaces or commas. The usual choice is the distance between the
    nearest heavy atoms, with pairs closer than 8 Å counted as contacts.

    Examples:
      harmonium contacts runs/family
      harmonium contacts runs/family --out contacts.csv
      harmonium contacts runs/family --structure distances.txt --out contacts.png
    """
    from ..runs.contacts import contacts as rank_contacts

    show = display(as_json)
    ranked = rank_contacts(run, out, structure, near, apart, overwrite, show)
    if as_json:
        print_json(ranked)
        return
    show.say(f"{ranked.pairs:,} pairs; the most strongly coupled:")
    for pair in ranked.best:
        distance = ""
        if pair.distance is not None and isfinite(pair.distance):
            distance = f", {pair.distance:.1f} Å"
        columns = f"{pair.column_1:>4} {pair.column_2:>4}"
        show.say(f"  {columns}  score {pair.score:.3f}{distance}")
    if ranked.precision is not None:
        show.say(f"within {near:g} Å are {_precision(ranked)}")
    _say_written(show, out)


def motifs(
    run: Run,
    units: Annotated[int, Whole("Number of hidden units to show, the strongest first.")] = 5,
    out: Annotated[str | None, Option("Picture of the weights as logos: .png.", "FILE")] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Show the motifs that the hidden units of a sequence model detect.

    RUN is the folder of a run on an alignment. The strongest units are listed with their largest
    weights, and with the sequences that switch these units on and off most strongly. With
    --out FILE.png, the weights are drawn as sequence logos.

    Examples:
      harmonium motifs runs/family
      harmonium motifs runs/family --units 5 --out motifs.png
    """
    from ..runs.motifs import motifs as write_motifs

    strongest = write_motifs(run, units, out, overwrite)
    if as_json:
        print_json(strongest)
        return
    show = display(as_json)
    for unit in strongest.units:
        show.say(f"hidden unit {unit.unit}, norm of its weights {unit.norm:.2f}")
        for title, sign in (("switched on by", 1), ("switched off by", -1)):
            letters = _letters(unit.letters, sign)
            if letters:
                show.say(f"  {title:<16} {letters}")
        if unit.high is not None and unit.low is not None:
            show.say(f"  most on in       {', '.join(unit.high)}")
            show.say(f"  most off in      {', '.join(unit.low)}")
    _say_written(show, out)


def _mutants(mutants: list[Mutant]) -> str:
    return ", ".join(f"{mutant.mutant} {nats(mutant.score)}" for mutant in mutants)


def _precision(contacts: Contacts) -> str:
    """Describe how many of the best pairs are contacts."""
    if contacts.fraction_of_contacts is None:
        return "none: no distance of such a pair is known"
    counts = [
        f"{best.near:,} of the best {best.pairs:,} ({name})"
        for name, best in (contacts.precision or {}).items()
    ]
    fraction = contacts.fraction_of_contacts
    return f"{', '.join(counts)}; {fraction:.1%} of all pairs whose distance is known"


def _letters(letters: list[LetterWeight], sign: int) -> str:
    """List the letters whose weights have this sign, with their columns and weights, as text."""
    words = [
        f"{letter.letter} at {letter.column} ({letter.weight:+.2f})"
        for letter in letters
        if letter.weight * sign > 0
    ]
    return ", ".join(words).replace("-0", "−0")


def _say_written(show: Any, out: str | None) -> None:
    if out is not None:
        show.say(f"written to {out}")
