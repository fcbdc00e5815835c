"""All single mutants of a sequence, scored by a model of its family."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ..analysis import single_changes
from ..io.storage import load
from ..plot import mutation_map
from ..plot.base import save_figure
from .folder import RunFolder
from .options import check_target
from .sequences import reference
from .writing import frame_of, write_table

SUFFIXES = (".csv", ".tsv", ".png")
SHOWN = 10


def scan(run: str, sequence: str | None, out: str | None, overwrite: bool) -> dict[str, Any]:
    """Return log p of each single mutant relative to a sequence; write them if asked.

    Args:
        run: the folder of a run on an alignment.
        sequence: a file, whose first sequence is scanned, or a name in the run's alignment; None
            for that alignment's first sequence.
        out: the file to write: a table (.csv, .tsv) or a heat map (.png); None for none.
        overwrite: whether an existing file is replaced.

    Raises:
        InputError: a file that cannot be read or written, or a sequence that does not fit.
    """
    if out is not None:
        check_target(f"--out {out}", out, SUFFIXES, overwrite)
    rbm = load(run)
    sites = RunFolder(run).sites_of_alignment()
    raw, row, codes = reference(run, sites, sequence)
    scores = single_changes(rbm, codes)
    letters = sites.alphabet.letters
    columns = np.array(sites.columns) + 1
    every, numbered = raw.numbers(row)
    numbers = every[list(sites.columns)]
    site, to = np.nonzero(np.ones_like(scores, bool))
    is_change = (to != codes[site]) & (to != 0) & (codes[site] != 0)
    site = site[is_change]
    to = to[is_change]
    before = np.array(list(letters), object)[codes[site]]
    after = np.array(list(letters), object)[to]
    values = scores[site, to]
    names = [f"{a}{k}{b}" for a, k, b in zip(before, numbers[site], after, strict=True)]
    if out is not None and Path(out).suffix.lower() == ".png":
        seen = np.where(codes[:, None] == 0, np.nan, scores)  # there is nothing to mutate at a gap
        figure = mutation_map(seen, letters, codes, numbers=numbers.tolist(), label=numbered)
        save_figure(figure, out)
    elif out is not None:
        table = {"mutant": np.array(names, object), "column": columns[site].astype(float)}
        table |= {"from": before, "to": after, "score": np.round(values, 4)}
        write_table(frame_of(table), out)
    order = np.argsort(values)

    def listed(which: np.ndarray) -> list[dict[str, Any]]:
        return [{"mutant": names[k], "score": float(values[k])} for k in which]

    return {
        "run": run,
        "sequence": raw.names[row],
        "numbered": numbered,
        "out": out,
        "mutants": len(values),
        "mean": float(values.mean()) if len(values) else None,
        "most_harmful": listed(order[:SHOWN]),
        "most_favourable": listed(order[::-1][:SHOWN]),
    }
