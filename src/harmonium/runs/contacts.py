"""Predict contacts from the pairs of sites that a model couples most strongly."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .._base.files import reason_of
from ..analysis.couplings import contact_scores, effective_couplings
from ..errors import InputError
from ..io.storage import load
from ..plot import contact_map
from ..plot.base import save_figure
from ..sequences import Sites
from .display import Display
from .folder import RunFolder
from .sequences import own_sequences
from .writing import check_target, frame_of, write_table

SUFFIXES = (".csv", ".tsv", ".png")
SHOWN = 10
AROUND = 24


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two columns of the alignment, counted from 1, and the score of their coupling.

    `distance` is the distance between these sites in the structure, in Å; None if unknown.
    """

    column_1: int
    column_2: int
    score: float
    distance: float | None = None


@dataclass(frozen=True, kw_only=True)
class Precision:
    """A number of best pairs, all with a known distance, and how many of them are contacts."""

    pairs: int
    near: int


@dataclass(frozen=True, kw_only=True)
class Contacts:
    """The pairs of sites that a model couples most strongly, and how many of them are contacts.

    Attributes:
        run: the folder of the run.
        out: the file with all pairs; None if none was written.
        pairs: the number of pairs.
        best: the most strongly coupled pairs.
        precision: the precision of the best L, 2L and 5L pairs, for L sites; None without a
            structure.
        near: the largest distance that counts as a contact, in Å; None without a structure.
        fraction_of_contacts: the fraction of contacts among all pairs with a known distance.
    """

    run: str
    out: str | None
    pairs: int
    best: list[Pair]
    precision: dict[str, Precision] | None = None
    near: float | None = None
    fraction_of_contacts: float | None = None


def contacts(
    run: str,
    out: str | None,
    structure: str | None,
    near: float,
    apart: int,
    overwrite: bool,
    display: Display,
) -> Contacts:
    """Rank pairs of sites by the strength of their coupling; write all pairs to `out` if given.

    Args:
        run: the folder of a run on an alignment.
        out: the file to write: a table (.csv, .tsv) or a contact map (.png); None to write none.
        structure: a text file of distances, each line with two columns of the alignment, counted
            from 1, and then the distance in Å; None if there is no structure.
        near: the largest distance that counts as a contact, in Å.
        apart: pairs |i − j| ≤ apart are left out.
        overwrite: whether an existing file is replaced.
        display: shows progress.

    Raises:
        InputError: a file cannot be read or written.
    """
    if out is not None:
        check_target(f"--out {out}", out, SUFFIXES, overwrite)
    rbm = load(run)
    sites = RunFolder(run).sites_of_alignment()
    n = len(sites.columns)
    if n < apart + 2:
        raise InputError(
            f"{run}: expected pairs more than {apart} sites apart; got only {n} sites; lower"
            " --apart."
        )
    known = None if structure is None else distances_of(structure, sites)
    around = typical_sequences(run, sites)
    progress = display.timer("couplings")
    couplings = effective_couplings(rbm, around=around, progress=progress)
    scores = contact_scores(couplings, without=0)  # code 0 is the gap, which is not a residue
    i, j = np.triu_indices(n, apart + 1)
    order = np.argsort(-scores[i, j])
    i = i[order]
    j = j[order]
    columns = np.array(sites.columns) + 1
    pairs: dict[str, np.ndarray] = {"column_1": columns[i], "column_2": columns[j]}
    pairs["score"] = np.round(scores[i, j], 5)
    if known is not None:
        pairs["distance"] = known[i, j]
    if out is not None and Path(out).suffix.lower() == ".png":
        best = min(2 * n, len(i))
        figure = contact_map(scores, best=best, apart=apart, distances=known, contact=near)
        save_figure(figure, out)
    elif out is not None:
        write_table(frame_of({name: cells.astype(float) for name, cells in pairs.items()}), out)
    best = [
        Pair(**{name: values[k].item() for name, values in pairs.items()})
        for k in range(min(SHOWN, n, len(i)))
    ]
    ranked = Contacts(run=run, out=out, pairs=len(i), best=best)
    if known is None:
        return ranked
    distances = known[i, j]
    is_contact = distances[~np.isnan(distances)] <= near
    return replace(
        ranked,
        near=near,
        precision={
            f"{k}L": Precision(pairs=k * n, near=int(is_contact[: k * n].sum()))
            for k in (1, 2, 5)
            if len(is_contact) >= k * n
        },
        fraction_of_contacts=float(is_contact.mean()) if is_contact.size else None,
    )


def typical_sequences(run: str, sites: Sites) -> np.ndarray | None:
    """Return up to 24 evenly spaced sequences of the run as codes; None if their file is missing.

    Couplings expanded around these sequences predict contacts slightly better than couplings
    expanded around a uniform distribution of letters.
    """
    own = own_sequences(run, sites)
    return None if own is None else own[1][:: -(-len(own[1]) // AROUND)]


def distances_of(path: str, sites: Sites) -> np.ndarray:
    """Read a matrix of distances between sites, with NaN for pairs that are not in the file.

    Raises:
        InputError: the file cannot be read, or names a column that the alignment does not have.
    """
    table = _numbers_of(path)
    pairs = table[:, :2].astype(int)
    outside = pairs[(pairs < 1) | (pairs > sites.width)]
    if outside.size:
        raise InputError(
            f"{path}: expected columns of the alignment, from 1 to {sites.width:,}; got"
            f" {outside[0]}; number columns as in the alignment."
        )
    whole = np.full((sites.width, sites.width), np.nan)
    whole[pairs[:, 0] - 1, pairs[:, 1] - 1] = whole[pairs[:, 1] - 1, pairs[:, 0] - 1] = table[:, -1]
    return whole[np.ix_(sites.columns, sites.columns)]


def _numbers_of(path: str) -> np.ndarray:
    """Read lines of numbers, separated by spaces, commas or semicolons; skip a header line."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: expected a readable text file of numbers; got {reason_of(error)}; check the"
            " path."
        ) from None
    rows: list[list[float]] = []
    advice = "write two columns of the alignment and a distance in Å in each line"
    for number, line in enumerate(lines, 1):
        cells = line.partition("#")[0].replace(",", " ").replace(";", " ").split()
        try:
            values = [float(cell) for cell in cells]
        except ValueError:
            if rows or number > 1:
                raise InputError(
                    f"{path}: expected numbers; got {line.strip()[:40]!r} in line {number:,};"
                    f" {advice}."
                ) from None
            continue
        if cells and (len(cells) < 3 or (rows and len(cells) != len(rows[0]))):
            expected = f"{len(rows[0])} numbers" if rows else "at least three numbers"
            raise InputError(
                f"{path}: expected {expected} in each line; got {len(cells)} in line {number:,};"
                f" {advice}."
            )
        if cells:
            rows.append(values)
    if not rows:
        raise InputError(f"{path}: expected numbers; got none; {advice}.")
    return np.array(rows)
