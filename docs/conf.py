"""Settings of the documentation: `make docs` builds it into docs/_build/html."""

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

os.environ.setdefault("KERAS_BACKEND", "jax")

project = "harmonium"
author = "The harmonium developers"
copyright = "The harmonium developers"  # noqa: A001  (Sphinx's own name)
release = version_of("harmonium")
version = release

extensions = [
    "myst_nb",
    "sphinx_gallery.gen_gallery",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
    "sphinx-mathjax-offline",
    "sphinx_design",
    "sphinx_codeautolink",
    "aligned_numbers",
    "docstrings",
    "linked_names",
    "reference_pages",
]
exclude_patterns = [
    "_build",
    "_extensions",
    "_programs",
    "jupyter_execute",
    "course/notebooks",
    "gallery/*.ipynb",
    "gallery/*.py",
    "**/.ipynb_checkpoints",
]
templates_path = ["_templates"]

# Pages
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_timeout = 900
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_output_stderr = "remove"  # progress, and notes of XLA

# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("figures.last_figure",),
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1_000,
    "write_computation_times": False,
    "copyfile_regex": r".*\.rst",
}

# Reference
autosummary_generate = True
autosummary_imported_members = True
autodoc_typehints = "none"  # shapes stand in the text; jaxtyping's names would fill the signatures
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
napoleon_google_docstring = True
napoleon_numpy_docstring = True
napoleon_use_ivar = True
napoleon_attr_annotations = False
napoleon_custom_sections = [("Source", "params_style")]
default_role = "code"
codeautolink_global_preface = "import harmonium as hm"
suppress_warnings = [
    "ref.python",  # words of numpydoc's types, such as "shape", are no links
    "codeautolink.match_name",  # names across lines are not linked
    "codeautolink.match_block",
]

# Appearance
html_theme = "pydata_sphinx_theme"
html_title = "harmonium"
html_show_sourcelink = False
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["pages.css"]
html_js_files = ["accessible.js"]
html_theme_options = {
    "logo": {"text": "harmonium"},
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
