"""A page with an interactive model, for a notebook or a file."""

from __future__ import annotations

import html
import os
from typing import Any, NamedTuple

import numpy as np

from .._base.images import checked_shape
from .._base.threefry import key_of, split
from ..data import Dataset
from ..errors import InputError
from ..inference.sampling import sample
from ..io.formats.base import write_whole
from ..layers.capabilities import is_conditional
from ..rbm import RBM, checked_rbm
from ..sequences import Sites
from ..tables import Columns
from .content import MOST_ROWS, Rows, report_content
from .page import page_of

__all__ = ["Page", "play"]


class Page(NamedTuple):
    """A page that a notebook displays and that `save` writes to a file.

    Attributes:
        text: the page as self-contained HTML.
        height: the height of the page in a notebook, in pixels; longer pages scroll.

    Example:
        >>> hm.report.Page("<!doctype html>").text
        '<!doctype html>'
    """

    text: str
    height: int = 720

    def save(self, path: str | os.PathLike) -> None:
        """Write the page to a file atomically."""
        write_whole(path, self.text.encode())

    def __repr__(self) -> str:
        """Return a short description that gives the size of the page."""
        return f"Page({len(self.text):,} characters)"

    def _repr_html_(self) -> str:
        """Return the page in a sandboxed frame, from which it cannot access the notebook."""
        source = html.escape(self.text)
        return (
            f'<iframe title="A page that plays" sandbox="allow-scripts" srcdoc="{source}"'
            f' style="width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


def play(
    rbm: RBM,
    data: Any,
    *,
    image_shape: tuple[int, int] | None = None,
    columns: Columns | None = None,
    sites: Sites | None = None,
    title: str = "A restricted Boltzmann machine",
    seed: int = 0,
) -> Page:
    """Return a page that runs Gibbs chains of a model, with pixels or columns that can be pinned.

    Args:
        rbm: the model.
        data: rows in the user's coding; chains start at these rows, and samples are compared with
            the rows.
        image_shape: height and width of a row as a picture; None to show a square number of units
            as a square, and other units in lines.
        columns: the column types, if the rows are codes of the rows of a table.
        sites: the sites, if the rows are sequences of an alignment.
        title: the headline.
        seed: seed of the samples shown beside the data.

    Raises:
        InputError: the rows are not valid for the model, or do not match the image shape, or the
            model is conditional.

    Example:
        >>> rows = hm.bars_and_stripes(3)
        >>> rbm = hm.RBM(hm.Bernoulli(9), hm.Bernoulli(4), np.zeros((9, 4)))
        >>> page = hm.play(rbm, rows, image_shape=(3, 3))  # the last line of a notebook's cell
        >>> page.text[:15]
        '<!doctype html>'
    """
    if is_conditional(checked_rbm(rbm).visible):
        raise InputError(
            f"play: expected a model of all units, whose chains may change any; got {rbm}; draw"
            " with hm.sample(rbm, given=rows)."
        )
    pixels = rbm.visible.n_units
    shape = checked_shape(image_shape, pixels, "visible units of the model")
    dataset = Dataset.of(data).checked_for(rbm.visible).some(MOST_ROWS)
    key_rows, key_samples = split(key_of(seed))
    rows = np.asarray(dataset.rows(key=key_rows))
    samples = np.asarray(sample(rbm, len(rows), key=key_samples))
    content = report_content(
        rbm, Rows(rows, samples), title=title, image_shape=shape, columns=columns, sites=sites
    )
    return Page(page_of(content, title))
