"""`harmonium export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..runs.options import Argument
from .base import display, print_json
from .options import Json, Model, Overwrite


def export(
    run: Model,
    out: Annotated[str, Argument("File to write.", "OUT")],
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write a model in a format that other programs read.

    The extension of OUT selects the format: .safetensors (any model), .npz (the weights W and the
    biases a and b), .h5 (the rbms package), .pt (a PyTorch state dict), or .json (a quadratic model
    for annealers and p-bit hardware, readable by dimod). RUN may be a file in any of these formats
    except .json. An .h5 file may hold several models: FILE.h5:update_100 selects the one saved at
    update 100.

    Examples:
      harmonium export runs/digits digits.h5
      harmonium export runs/spins spins.json --overwrite
      harmonium export theirs.h5:update_1000 ours.safetensors
    """
    from ..io.storage import SUFFIXES, load, save
    from ..runs.writing import check_target

    check_target(out, out, SUFFIXES, overwrite)
    rbm = load(run)
    save(rbm, out)
    size = Path(out).stat().st_size
    if as_json:
        print_json({"run": run, "model": str(rbm), "out": out, "bytes": size})
    else:
        display(as_json).say(f"{rbm} written to {out}, {size:,} bytes")
