"""A page in which small models are trained side by side, each by a different method."""

from __future__ import annotations

from typing import Any

from .._base.images import checked_shape
from .._base.threefry import key_of
from ..data import Dataset
from ..errors import InputError
from ..layers import Bernoulli
from .content import lines_of
from .encoding import encoded
from .page import page_of
from .playing import Page

__all__ = ["watch_learning"]

HEIGHT = 1_050  # pixels in a notebook
MOST_ROWS = 200  # the browser uses all rows in each update
MOST_UNITS = 256  # pictures of 16 × 16
MOST_HIDDEN = 12  # each point of a curve is a sum over 2¹² states


def watch_learning(
    data: Any,
    *,
    hidden: int = 8,
    rate: float = 0.1,
    image_shape: tuple[int, int] | None = None,
    title: str = "Three ways to follow the gradient",
    seed: int = 1,
) -> Page:
    """Return a page that trains RBMs side by side: with the exact gradient, by CD and by PCD.

    Training runs in the page. CD is contrastive divergence, and PCD is persistent CD. The models
    have 0/1 units, start from the same parameters and are trained on the same rows; they differ
    only in the negative phase. The exact log-likelihood of the rows is plotted during training,
    with the highest value that any model can reach.

    Args:
        data: rows of 0 and 1, shape (n, units) with at most 256 units. If there are more than 200
            rows, 200 evenly spaced ones are used.
        hidden: initial number of hidden units, 1 to 12; it can be changed in the page.
        rate: initial learning rate; it can be changed in the page.
        image_shape: height and width of a row as a picture; None to show a square number of units
            as a square, and other units in lines.
        title: the headline.
        seed: seed of the initial weights and the chains.

    Raises:
        InputError: the rows have values other than 0 and 1 or too many columns, or the number of
            hidden units is outside 1 to 12.

    Example:
        >>> page = hm.watch_learning(hm.bars_and_stripes(4), image_shape=(4, 4))
        >>> page.text[:15]  # a notebook shows the page; page.save("learning.html") writes it
        '<!doctype html>'
    """
    if not 1 <= hidden <= MOST_HIDDEN:
        raise InputError(
            f"hidden: expected 1 to {MOST_HIDDEN} units; got {hidden}; the page sums over all of"
            " their states."
        )
    dataset = Dataset.of(data)
    units = dataset.columns
    if units > MOST_UNITS:
        raise InputError(
            f"data: expected at most {MOST_UNITS} columns; got {units:,}; make pictures smaller."
        )
    if dataset.missing:
        raise InputError(
            "data: expected 0 or 1 in each cell; got missing values; leave those rows out."
        )
    shape = checked_shape(image_shape, units, "columns of data") or lines_of(units)
    rows = dataset.some(MOST_ROWS).checked_for(Bernoulli(units)).rows(key=key_of(seed))
    content = {"kind": "lesson", "title": title, "rows": encoded(rows), "shape": list(shape)}
    return Page(page_of(content | {"hidden": hidden, "rate": rate, "seed": seed}, title), HEIGHT)
