"""A Sphinx extension that writes a page for each group of public names, from the library itself.

The groups are those that users look for. A public name that no group takes is an error, so that the
reference is complete.
"""

from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from sphinx.application import Sphinx
from sphinx.config import Config

import harmonium as hm


class Group(NamedTuple):
    """A page of the reference.

    Attributes:
        title: its title.
        about: a sentence or two.
        homes: the modules of `harmonium` whose public names it lists.
        place: where users import these names from.
    """

    title: str
    about: str
    homes: tuple[str, ...]
    place: str = "harmonium"


GROUPS = {
    "model": Group(
        "The model",
        "An RBM is two layers and the weights between them. It is made by hand, or by"
        " `hm.initialize` from data.",
        ("rbm", "initialization", "standardize", "weights"),
    ),
    "layers": Group("Layers", "What a unit is: its values and its energy.", ("layers",)),
    "data": Group(
        "Data", "Rows to learn from, and built-in sets.", ("data", "sequences.alignment")
    ),
    "training": Group("Training", "The loop, optimisers, penalties, monitors.", ("training",)),
    "gradients": Group("Gradient methods", "How the likelihood climbs.", ("gradients",)),
    "samplers": Group(
        "Sampling", "Draws of a model, and the kernels that make them.", ("sampling", "samplers")
    ),
    "likelihood": Group(
        "Likelihood",
        "log Z and log-likelihoods, exact or with an interval.",
        ("likelihood", "partition_function", "path", "model_entropy"),
    ),
    "evaluation": Group(
        "Evaluation and diagnostics",
        "How good a model is without its likelihood, and how its chains mix.",
        ("evaluation", "diagnostics"),
    ),
    "pages": Group(
        "Pages",
        "A model alive in a page, for notebooks and files.",
        ("report.playing", "report.learning"),
    ),
    "meaning": Group(
        "What weights mean",
        "Effective couplings, gauges, lower temperatures.",
        ("couplings", "gauge", "sharpen"),
    ),
    "missing": Group("Missing values", "Sums, draws and fillings.", ("missing",)),
    "files": Group("Files", "Models on disk, and those of other programs.", ("io.storage",)),
    "errors": Group("Errors", "What can be raised.", ("errors",)),
    "devices": Group(
        "Devices and precision", "Meshes of devices; bfloat16.", ("sharding", "precision")
    ),
    "plot": Group(
        "Pictures", "`from harmonium import plot`: Matplotlib figures.", ("plot",), "harmonium.plot"
    ),
    "sklearn": Group(
        "scikit-learn", "`from harmonium.sklearn import …`", ("sklearn",), "harmonium.sklearn"
    ),
    "keras": Group("Keras", "`from harmonium.keras import …`", ("keras",), "harmonium.keras"),
}


def names_of(group: Group) -> list[str]:
    """Return the public names of a group, in the order of its modules."""
    homes = [import_module(f"harmonium.{home}") for home in group.homes]
    return [name for home in homes for name in sorted(hm._public(home), key=str.lower)]


def written(group: Group) -> str:
    """Return the Markdown of a group's page."""
    names = "\n".join(f"   {name}" for name in names_of(group))
    return (
        f"# {group.title}\n\n{group.about}\n\n```{{eval-rst}}\n.. currentmodule:: {group.place}\n\n"
        f".. autosummary::\n   :toctree: generated\n   :nosignatures:\n\n{names}\n```\n"
    )


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the pages that have changed.

    Raises:
        RuntimeError: a public name that no group lists.
    """
    listed = {name for group in GROUPS.values() for name in names_of(group)}
    public = names_of(Group("", "", hm._HOMES))
    if missing := sorted(set(public) - listed):
        raise RuntimeError(f"reference: no group lists {missing}")
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    pages = {name: written(group) for name, group in GROUPS.items()}
    entries = "\n".join(GROUPS)
    pages["index"] = (
        "# Reference\n\nEvery public name of `harmonium`, written `hm.…` on all pages"
        " (`import harmonium as hm`).\n"
        "Examples take for granted `import jax, jax.numpy as jnp, numpy as np`, too.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{entries}\n```\n"
    )
    for name, text in pages.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict:
    """Register the extension."""
    app.connect("config-inited", write_pages)  # before Sphinx looks which pages there are
    return {"parallel_read_safe": True}
