"""A scraper of Sphinx-Gallery that shows the figures of `harmonium.plot`.

They are Matplotlib figures that pyplot does not know of, so that its own scraper does not see them.
"""

from typing import Any

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def last_figure(block: Any, block_vars: dict, gallery_conf: dict) -> str:
    """Write the script's variable `figure` as a picture, once, and return reStructuredText."""
    figure = block_vars["example_globals"].pop("figure", None)
    if not isinstance(figure, Figure):
        return ""
    path = next(block_vars["image_path_iterator"])
    figure.savefig(path, dpi=110)
    plt.close("all")
    return figure_rst([path], gallery_conf["src_dir"])
