"""A Sphinx extension that writes a page for each group of public names, from the library itself.

The groups are those that users look for. A public name that no group takes is an error, so that the
reference is complete.
"""

from importlib import import_module
from inspect import ismodule
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
        packages: the packages of `harmonium` whose public names it lists.
        names: names at the top that it lists, of packages whose other names are internal.
    """

    title: str
    about: str
    packages: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


GROUPS = {
    "model": Group(
        "The model",
        "An RBM is two layers and the weights between them. It is made by hand, or by"
        " `hm.initialize` from data.",
        ("transforms", "weights"),
        ("RBM",),
    ),
    "layers": Group("Layers", "What a unit is: its values and its energy.", ("layers",)),
    "data": Group("Data", "Rows to learn from, and built-in sets.", ("data",), ("read_alignment",)),
    "training": Group("Training", "The loop, optimisers, penalties, monitors.", ("training",)),
    "gradients": Group(
        "Gradient methods", "Estimators of the gradient of the likelihood.", ("gradients",)
    ),
    "inference": Group(
        "Samples, answers, missing cells", "What a trained model is asked.", ("inference",)
    ),
    "samplers": Group("Samplers", "The kernels that draw states.", ("samplers",)),
    "likelihood": Group(
        "Likelihood",
        "log Z and log-likelihoods, exact or with an interval; paths of models.",
        ("likelihood", "path"),
    ),
    "evaluation": Group(
        "Evaluation and diagnostics",
        "How good a model is without its likelihood, and how its chains mix.",
        ("evaluation", "diagnostics"),
    ),
    "analysis": Group(
        "What a model has learned", "Couplings, gauges, entropy, mutations, trees.", ("analysis",)
    ),
    "pages": Group(
        "Pages", "A model alive in a page, for notebooks and files.", (), ("play", "watch_learning")
    ),
    "files": Group("Files", "Models on disk.", (), ("load", "save")),
    "errors": Group("Errors", "What can be raised.", ("errors",)),
    "devices": Group("Several devices", "Meshes of devices.", (), ("use_mesh",)),
    "plot": Group("Pictures", "`from harmonium import plot`: Matplotlib figures.", ("plot",)),
    "sklearn": Group("scikit-learn", "`from harmonium.sklearn import …`", ("sklearn",)),
    "keras": Group("Keras", "`from harmonium.keras import …`", ("keras",)),
}
ALONE = {"plot", "sklearn", "keras"}  # whose names may be those of the top, for other things


def names_of(group: Group) -> list[tuple[str, str]]:
    """Return where users find each public name of a group, and the name."""
    names = [("harmonium", name) for name in group.names]
    for package in group.packages:
        module = import_module(f"harmonium.{package}")
        public = getattr(module, "__all__", None)
        if public is None:
            values = vars(module).items()
            public = [name for name, value in values if name[0] != "_" and not ismodule(value)]
        for name in sorted(public, key=str.lower):
            is_at_top = package not in ALONE and name in dir(hm)
            names.append(("harmonium" if is_at_top else f"harmonium.{package}", name))
    return names


def written(group: Group) -> str:
    """Return the Markdown of a group's page: names at the top, then those of packages."""
    names = names_of(group)
    tables = []
    for place in sorted({place for place, _ in names}):
        listed = "\n".join(f"   {name}" for where, name in names if where == place)
        tables.append(
            f"```{{eval-rst}}\n.. currentmodule:: {place}\n\n.. autosummary::\n"
            f"   :toctree: generated\n   :nosignatures:\n\n{listed}\n```\n"
        )
    return f"# {group.title}\n\n{group.about}\n\n" + "\n".join(tables)


def write_pages(app: Sphinx, config: Config) -> None:
    """Write the pages that have changed.

    Raises:
        RuntimeError: a public name that no group lists.
    """
    listed = {name for group in GROUPS.values() for _, name in names_of(group)}
    public = {name for name in dir(hm) if not ismodule(getattr(hm, name))}
    if missing := sorted(public - listed):
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
