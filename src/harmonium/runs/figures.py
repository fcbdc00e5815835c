"""The pictures of an evaluation."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.figure import Figure

from ..diagnostics.base import Mixing
from ..evaluation.moments import states_of
from ..likelihood import free_energies
from ..partition_function.base import LogZ
from ..plot import annealing_runs, autocorrelations, energies, means, pca_plane
from ..plot.base import save_figure
from ..rbm import RBM
from .progress import NotMeasuredError, ReportProgress, Unknown, attempt


class Material(NamedTuple):
    """What there is to draw; `Unknown` holds the reason why a result is not available."""

    rbm: RBM
    log_z: LogZ
    mixing: Mixing | Unknown
    samples: np.ndarray | Unknown
    data: np.ndarray | Unknown


class Pictures(NamedTuple):
    """Paths of the pictures that were written, and why others were left out."""

    written: list[Path]
    left_out: dict[str, str]


def illustrate(
    material: Material, folder: Path, pictures: Pictures, progress: ReportProgress
) -> None:
    """Write the pictures that apply to a model; none is left half-written.

    Args:
        material: what there is to draw.
        folder: output folder; created if it does not exist.
        pictures: updated after each picture that is written or left out.
        progress: progress callback, called with the part done, 0 to 1.
    """
    for number, (name, make) in enumerate(_makers(material).items()):
        path = folder / f"{name}.png"
        found = attempt(lambda make=make, path=path: _write(make, path))
        if isinstance(found, Unknown):
            pictures.left_out[path.name] = found.reason
        else:
            pictures.written.append(path)
        progress((number + 1) / 5)


def _write(make: Callable[[], Figure], path: Path) -> Path:
    figure = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return save_figure(figure, path)
    except OSError as error:
        reason = f"it cannot be written: {error.strerror or error}".lower()
        raise NotMeasuredError(reason) from None


def _makers(material: Material) -> dict[str, Callable[[], Figure]]:
    """Return the function that draws each picture; it raises where there is nothing to draw."""
    rbm, states = material.rbm, states_of(material.rbm.visible)

    def both() -> tuple[np.ndarray, np.ndarray]:
        return _known(material.samples), _known(material.data)

    def of_energies() -> Figure:
        samples, data = both()
        return energies(free_energies(rbm, data), free_energies(rbm, samples))

    return {
        "log_z": lambda: _annealing_runs(material.log_z),
        "energies": of_energies,
        "autocorrelations": lambda: _autocorrelations(_known(material.mixing)),
        "pca": lambda: pca_plane(*both(), states=states),
        "means": lambda: means(*both(), states=states),
    }


def _known(found: Any) -> Any:
    if isinstance(found, Unknown):
        raise NotMeasuredError(found.reason)
    return found


def _annealing_runs(log_z: LogZ) -> Figure:
    if log_z.forward is None or log_z.reverse is None:
        how = log_z.method.split(",")[0]
        raise NotMeasuredError(f"log Z is {how}: nothing was annealed")
    ends = {"value": log_z.value, "low": log_z.low, "high": log_z.high}
    return annealing_runs(log_z.forward, log_z.reverse, **ends)


def _autocorrelations(mixing: Mixing) -> Figure:
    if not mixing.observables:
        raise NotMeasuredError("no observable changed")
    curves = [seen.autocorrelation for seen in mixing.observables.values()]
    return autocorrelations(curves, names=list(mixing.observables), sweeps=mixing.lags)
