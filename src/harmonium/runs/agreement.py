"""Check that the column types or sites, the options and the model of a run are consistent."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from ..errors import HarmoniumError, InputError, count_of
from ..evaluation.moments import states_of
from ..io.storage import load
from ..layers import AbstractLayer
from ..rbm import RBM
from .schema import RESTORE


def check_units(layer: AbstractLayer, file: Path, model: Path) -> None:
    """Raise InputError if a file does not describe the visible units of the run's model.

    A missing or damaged model is not an error here, since a run can continue from its checkpoint
    without the model, and code that loads the model will report the damage.

    Args:
        layer: the units that the file describes.
        file: columns.json, sites.json, or config.json, which names the source of the rows.
        model: the file of the model.

    Raises:
        InputError: the numbers of units or states, or the values of a unit, differ; the message
            names both files.
    """
    rbm = _model_in(model)
    if rbm is not None and _values_of(rbm.visible) != _values_of(layer):
        raise InputError(
            f"{file}: expected the units of {model}, {rbm.visible}; got {layer}; {RESTORE}."
        )


def check_hidden(count: int | str, file: Path, model: Path) -> None:
    """Raise InputError if the options and the model differ in the number of hidden units.

    Raises:
        InputError: the numbers differ; the message names both files.
    """
    rbm = _model_in(model)
    if rbm is not None and count not in ("auto", rbm.hidden.n_units):
        raise InputError(
            f"{file}: expected the {count_of(rbm.hidden.n_units, 'hidden unit')} of {model}; got"
            f" {count:,}; {RESTORE}."
        )


def _model_in(file: Path) -> RBM | None:
    try:
        status = file.stat()
        return _loaded(file, status.st_mtime_ns, status.st_size)
    except (OSError, HarmoniumError):
        return None


@lru_cache(1)  # several files of a run are compared with the same model
def _loaded(file: Path, *_: int) -> RBM:
    return load(file)


def _values_of(layer: AbstractLayer) -> tuple[list[int], list[float], list[float]]:
    """Return each unit's number of states, and the lowest and highest value of each column."""
    low, high = (np.asarray(end, float).tolist() for end in layer.coding.support)
    return states_of(layer), low, high
