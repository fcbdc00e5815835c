"""What the hidden units of a model of sequences look for, and the sequences that have it."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..analysis.gauge import zero_sum
from ..data.parts import in_parts
from ..io.storage import load
from ..plot import weight_logos
from ..plot.base import save_figure
from ..rbm import RBM
from ..sequences import Sites
from .folder import RunFolder
from .options import check_count, check_target
from .sequences import own_sequences

SEQUENCES = 3
LETTERS = 6


def motifs(run: str, units: int, out: str | None, overwrite: bool) -> dict[str, Any]:
    """Return the strongest hidden units: their largest weights, and sequences that they single out.

    Args:
        run: the folder of a run on an alignment.
        units: how many hidden units, those with the largest weights first.
        out: a picture of their weights as logos (.png); None for none.
        overwrite: whether an existing file is replaced.

    Raises:
        InputError: a file that cannot be read or written.
    """
    check_count("--units", units)
    if out is not None:
        check_target(f"--out {out}", out, (".png",), overwrite)
    rbm = load(run)
    sites = RunFolder(run).sites_of_alignment()
    plain = zero_sum(rbm)
    w = np.asarray(plain.dense_weights).reshape(len(sites.columns), sites.states, -1)
    order = np.argsort(-np.sqrt((w**2).sum((0, 1))))[: min(units, w.shape[2])]
    columns = (np.array(sites.columns) + 1).tolist()
    if out is not None:
        save_figure(weight_logos(w, sites.alphabet.letters, order.tolist(), numbers=columns), out)
    own = own_sequences(run, sites)
    names, inputs = ([], None) if own is None else (own[0], _inputs(rbm, own[1]))
    found = [_about(w, int(unit), sites, names, inputs) for unit in order]
    return {"run": run, "out": out, "units": found}


def _inputs(rbm: RBM, codes: np.ndarray) -> np.ndarray:
    """Return the inputs of the hidden units for each sequence.

    They order sequences as means do, and still do where many means are 1.
    """
    visible = rbm.visible
    return in_parts(lambda rows, _: rbm.inputs_to_h(visible.encode(rows)), codes, rbm.widest)


def _about(
    w: np.ndarray, unit: int, sites: Sites, names: list[str], inputs: np.ndarray | None
) -> dict[str, Any]:
    one = w[:, :, unit]
    largest = np.argsort(-np.abs(one).ravel())[:LETTERS]
    letters = [
        {
            "column": sites.columns[k // sites.states] + 1,
            "letter": sites.alphabet.letters[k % sites.states],
            "weight": float(one.ravel()[k]),
        }
        for k in largest
    ]
    about = {"unit": unit, "norm": float(np.sqrt((one**2).sum())), "letters": letters}
    if inputs is not None:
        order = np.argsort(inputs[:, unit], kind="stable")
        about["high"] = [names[k] for k in order[::-1][:SEQUENCES]]
        about["low"] = [names[k] for k in order[:SEQUENCES]]
        about["spread"] = float(inputs[:, unit].std())
    return about
