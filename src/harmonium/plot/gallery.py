"""All plots of a run, written to its folder.

This is the only module of this package that imports its siblings; it draws no plot of its own.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..evaluation.moments import states_of
from ..rbm import RBM
from ..tables import Columns
from .base import ImageShape, save_figure
from .curves import learning_curves
from .hidden_units import filters
from .moments import means
from .parameters import weight_histogram
from .samples import samples_beside_data
from .tables import columns_beside_data, dependence


def pictures(
    folder: str | os.PathLike,
    *,
    rbm: RBM,
    history: Sequence[Mapping[str, Any]],
    samples: Any,
    data: Any,
    image_shape: ImageShape = None,
    weights: Any = None,
    columns: Columns | None = None,
) -> list[Path]:
    """Write filters, samples, learning curves, weights and means as PNG files.

    For a table, its columns and their dependence take the places of filters, samples and means.

    All are drawn before the first is written, so an error leaves the folder as it was.

    Args:
        folder: the folder; it is made if it does not exist, and plots in it are replaced.
        rbm: the model.
        history: records as `fit` returns them.
        samples: rows drawn from the model, in the user's coding.
        data: training rows, in the user's coding.
        image_shape: (rows, columns) of a row, "square" to infer it, or None.
        weights: sample weights of the data.
        columns: what the columns of a table mean, whose rows are codes; NaN for a missing cell.

    Returns:
        The paths, in the order above.

    Raises:
        InputError: arguments that do not match, or a file in the place of the folder.

    Example:
        >>> import tempfile
        >>> from harmonium import plot
        >>> rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
        >>> rows, history = hm.bars_and_stripes(2), [{"epoch": 1, "update_ratio": 0.01}]
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     files = plot.pictures(folder, rbm=rbm, history=history, samples=rows, data=rows)
        >>> [file.name for file in files]
        ['filters.png', 'samples.png', 'learning_curves.png', 'weights.png', 'means.png']
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise InputError(
            f"folder: expected a folder; found the file {str(target)!r}. Name another."
        )
    rbm.visible.validate(samples, "samples")
    rbm.visible.validate(data, "data", missing=columns is not None)
    own = {"learning_curves": learning_curves(history), "weights": weight_histogram(rbm)}
    if columns is not None:
        figures = {
            "columns": columns_beside_data(columns, samples, data),
            "dependence": dependence(columns, samples, data),
            **own,
        }
    else:
        figures = {
            "filters": filters(rbm, image_shape=image_shape),
            "samples": samples_beside_data(samples, data, image_shape=image_shape),
            **own,
            "means": means(samples, data, states=states_of(rbm.visible), weights=weights),
        }
    target.mkdir(parents=True, exist_ok=True)
    return [save_figure(figure, target / f"{name}.png") for name, figure in figures.items()]
