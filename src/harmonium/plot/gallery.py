"""All pictures of a run, written to its folder.

The one file of this folder that imports its siblings: it holds no picture of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..evaluation.moments import states_of
from ..rbm import RBM
from .base import ImageShape, save_figure
from .curves import learning_curves
from .hidden_units import filters
from .moments import means
from .parameters import weight_histogram
from .samples import samples_beside_data


def pictures(
    folder: str | os.PathLike,
    *,
    rbm: RBM,
    history: Sequence[Mapping[str, Any]],
    samples: Any,
    data: Any,
    image_shape: ImageShape = None,
    weights: Any = None,
) -> list[Path]:
    """Write filters, samples, learning curves, weights and means as PNG files.

    All are drawn before the first is written, so an error leaves the folder as it was.

    Args:
        folder: where to; it is made if it is not there, and pictures in it are replaced.
        rbm: the model.
        history: records as `fit` gives them.
        samples: rows that the model drew, in the user's coding.
        data: rows that it learned from, in the user's coding.
        image_shape: (rows, columns) of a row, "square" to have it guessed, or None.
        weights: sample weights of the data.

    Returns:
        The paths, in the order above.

    Raises:
        InputError: arguments that do not fit together, or a folder that cannot be one.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError(
            f"folder: expected a folder; found the file {str(target)!r}. Name another."
        )
    rbm.visible.validate(samples, "samples")
    rbm.visible.validate(data, "data")
    figures = {
        "filters": filters(rbm, image_shape=image_shape),
        "samples": samples_beside_data(samples, data, image_shape=image_shape),
        "learning_curves": learning_curves(history),
        "weights": weight_histogram(rbm),
        "means": means(samples, data, states=states_of(rbm.visible), weights=weights),
    }
    target.mkdir(parents=True, exist_ok=True)
    return [save_figure(figure, target / f"{name}.png") for name, figure in figures.items()]
