"""Files of a run that have to belong together: what its rows mean, its options, and its model."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import numpy as np

from ..errors import HarmoniumError, input_error
from ..evaluation.moments import states_of
from ..io.storage import load
from ..layers import AbstractLayer
from .schema import RESTORE


def check_units(layer: AbstractLayer, file: Path, model: Path) -> None:
    """Refuse a file that describes other visible units than those of the run's model.

    A model that is not there yet, or is damaged, is no reason to refuse: a run may go on from its
    checkpoint without it, and who loads the model hears of the damage.

    Args:
        layer: the units that the file describes.
        file: columns.json or sites.json.
        model: the file of the model.

    Raises:
        InputError: other numbers of units or states, or other values of a unit; names both files.
    """
    visible = None
    with suppress(HarmoniumError):
        visible = load(model).visible
    if visible is None or _values_of(visible) == _values_of(layer):
        return
    found = f"those of {layer}"
    raise input_error(str(file), f"the units of {model}, {visible}", found, RESTORE)


def _values_of(layer: AbstractLayer) -> tuple[list[int], list[float], list[float]]:
    """Return each unit's number of states, and the lowest and highest value of each column."""
    low, high = (np.asarray(end, float).tolist() for end in layer.support)
    return states_of(layer), low, high
