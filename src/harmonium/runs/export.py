"""Write a model in a format that other programs read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..io.storage import SUFFIXES, load, save
from .writing import check_target


def export(run: str, out: str, overwrite: bool) -> dict[str, Any]:
    """Write a model to a file whose suffix names the format, whole or not at all.

    Args:
        run: a run folder, or a model file of harmonium or another program.
        out: the file to write.
        overwrite: whether an existing file is replaced.

    Raises:
        InputError: the model cannot be read, the file exists or cannot be written, or the format
            cannot hold such layers.
        MissingDependencyError: the format needs a package that is not installed.
    """
    check_target(out, out, SUFFIXES, overwrite)
    rbm = load(run)
    save(rbm, out)
    return {"run": run, "model": str(rbm), "out": out, "bytes": Path(out).stat().st_size}
