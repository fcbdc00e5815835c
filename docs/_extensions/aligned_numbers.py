"""Columns of numbers in tables are set to the right: their digits stand below each other."""

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

# "−5.99", "1,024", "4.26 (4.15 … 4.39)", "0.28 s", "12 %", "−0.19 [−1.16, 0.77]", "yes" excluded.
NUMBER = re.compile(
    r"[−+≥≤<>~]?\d[\d.,]*( ?(%|s|ms|MB|×))?( ?± ?[\d.]+)?( ?[\[(][−\d.,… –]+[\])])?"
)
EMPTY = {"", "–", "none"}


def is_of_numbers(cells: list[str]) -> bool:
    """Return whether a column has a number in each cell that is not empty, and at least one."""
    filled = [cell for cell in cells if cell not in EMPTY]
    return bool(filled) and all(NUMBER.fullmatch(cell) for cell in filled)


class AlignedNumbers(SphinxPostTransform):
    """Give the cells of such columns the class of text on the right."""

    default_priority = 500

    def run(self, **kwargs: Any) -> None:
        for group in self.document.findall(nodes.tgroup):
            rows = [list(row.findall(nodes.entry)) for row in group.findall(nodes.row)]
            body = list(group.findall(nodes.tbody))
            if len(body) != 1 or len({len(row) for row in rows}) != 1:
                continue
            filled = [list(row.findall(nodes.entry)) for row in body[0].findall(nodes.row)]
            for number, cells in enumerate(zip(*filled, strict=True)):
                if is_of_numbers([cell.astext().strip() for cell in cells]):
                    for row in rows:
                        row[number]["classes"].append("text-right")


def setup(app: Any) -> dict[str, bool]:
    """Register the transform with Sphinx."""
    app.add_post_transform(AlignedNumbers)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
