"""Sequences in and out of a run on an alignment: what is given, what is drawn, what is scored."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

import numpy as np

from .._base.threefry import key_of
from ..data import Dataset
from ..errors import input_error
from ..io.formats.base import write_whole
from ..io.storage import load
from ..likelihood.scoring import free_energies
from ..sequences import RawAlignment, Sites, file_and_family, is_alignment, read_sequences
from ..sequences.reading import FASTA
from .folder import RunFolder
from .options import check_target
from .score import check_scoring, likelihood_brief, scored_by_run
from .writing import frame_of, write_table

SHOWN = 10  # sequences in the report


def given_rows(given: str, sites: Sites) -> np.ndarray:
    """Return rows of codes to complete: NaN where a letter is to be drawn.

    Args:
        given: a file of aligned sequences, in which unclear letters such as X are to be drawn; or
            letters at columns of the alignment, counted from 1, as "12=A,45=G".
        sites: the sites.

    Raises:
        InputError: a file that does not fit, or a column or letter that there is not.
    """
    label = f"--given {given}"
    if file_and_family(given)[0].is_file():
        raw = read_sequences(given)
        codes = sites.encode(raw, label).astype(float)
        codes[sites.alphabet.codes[raw.letters][:, list(sites.columns)] == -1] = np.nan
        return codes
    row = np.full((1, len(sites.columns)), np.nan)
    for part in given.split(","):
        column, equals, letter = (text.strip() for text in part.partition("="))
        if not equals or not column.isdecimal() or len(letter) != 1:
            advice = "write it as 12=A,45=G"
            raise input_error(label, "a file, or COLUMN=LETTER", repr(part), advice)
        site = sites.site_of(int(column))
        if site is None:
            expected = f"one of the {len(sites.columns):,} columns that are modelled, from 1 to"
            expected += f" {sites.width:,}"
            raise input_error(label, expected, column, "see sites.json in the run's folder")
        code = sites.alphabet.letters.find(letter.upper())
        if code < 0:
            letters = f"one of the letters {sites.alphabet.letters}"
            raise input_error(label, letters, repr(letter), "choose one of them")
        row[0, site] = code
    return row


def fasta_of(words: list[str], names: list[str] | None = None) -> str:
    """Return sequences as FASTA; without names they are numbered."""
    titles = [f"sample_{i + 1}" for i in range(len(words))] if names is None else names
    return "".join(f">{title}\n{word}\n" for title, word in zip(titles, words, strict=True))


def write_fasta(words: list[str], out: str) -> None:
    """Write sequences as FASTA, whole or not at all."""
    write_whole(Path(out), fasta_of(words).encode())


def check_fasta(out: str, overwrite: bool) -> None:
    """Refuse to write sequences to a file of another kind, or one that exists."""
    check_target(f"--out {out}", out, FASTA, overwrite)


def score_sequences(
    source: str,
    run: str,
    out: str | None,
    seconds: float,
    seed: int,
    overwrite: bool,
    guard: bool = False,
) -> dict[str, Any]:
    """Return log p of each sequence of a file; write them if asked.

    Args:
        source: aligned sequences, with the columns of the run's alignment.
        run: a run folder.
        out: the file to write, .csv or .tsv; None for none.
        seconds: time after which log Z takes no more steps.
        seed: the random seed.
        overwrite: whether an existing file is replaced.
        guard: whether names that a spreadsheet would run as formulas are guarded.

    Raises:
        InputError: a file that cannot be read or written, or sequences that do not fit the run.
    """
    check_scoring(out, seconds, seed, overwrite)
    rbm = load(run)
    folder = RunFolder(run)
    sites = folder.sites_of_alignment()
    raw = read_sequences(source)
    codes = sites.encode(raw, source)
    key = key_of(seed)
    rows = Dataset(codes, name=source)
    whole = scored_by_run(folder, rbm, rows, seconds, key=key)
    log_p = -free_energies(rbm, codes).astype(float) - whole.log_z.value
    per_site = log_p / len(sites.columns)
    if out is not None:
        columns = {"name": np.array(raw.names, object), "log_p": np.round(log_p, 4)}
        columns["per_site"] = np.round(per_site, 5)
        write_table(frame_of(columns), out, guard)
    order = np.argsort(log_p)[:SHOWN]
    return {
        "source": source,
        "run": run,
        "out": out,
        "sequences": len(codes),
        "sites": len(sites.columns),
        "notes": list(raw.notes),
        **likelihood_brief(whole),
        "least_probable": [{"name": raw.names[k], "log_p": float(log_p[k])} for k in order],
    }


def own_sequences(run: str, sites: Sites) -> tuple[list[str], np.ndarray] | None:
    """Return the names and codes of the run's own sequences; None if their file is not there."""
    source = RunFolder(run).config().origin
    if not file_and_family(source)[0].is_file():
        return None
    raw = read_sequences(source)
    return raw.names, sites.encode(raw, source)


def reference(run: str, sites: Sites, told: str | None) -> tuple[RawAlignment, int, np.ndarray]:
    """Return a sequence to be changed: its alignment, its place there, and its codes.

    Args:
        run: a run folder.
        sites: the run's sites.
        told: a file, whose first sequence it is; or a name in the run's own alignment; None for
            that alignment's first sequence.

    Raises:
        InputError: no such file or sequence.
    """
    is_file = told is not None and is_alignment(file_and_family(told)[0])
    source = told if told is not None and is_file else RunFolder(run).config().origin
    raw = read_sequences(source)
    row = 0
    if told is not None and not is_file:
        places = [k for k, name in enumerate(raw.names) if told in (name, name.split("/")[0])]
        if len(places) != 1:
            found = f"{len(places)}" if places else "none"
            near = difflib.get_close_matches(told, raw.names, n=3, cutoff=0.4)
            near = near or [name for name in raw.names if told.lower() in name.lower()][:3]
            meant = f"did you mean {' or '.join(near)}" if near else "name one of them"
            advice = f"{meant}? A file of one sequence works too"
            raise input_error(source, f"one sequence named {told!r}", found, advice)
        row = places[0]
    one = raw._replace(
        names=[raw.names[row]], letters=raw.letters[row : row + 1], lines=[raw.lines[row]]
    )
    return raw, row, sites.encode(one, source)[0]
