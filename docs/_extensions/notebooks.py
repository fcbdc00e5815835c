"""A Sphinx extension that writes each chapter of the course as a notebook to download.

A chapter is MyST Markdown. What notebook programs do not know becomes plain text: dropdowns are
quoted, and links to other pages are words. Solutions are code cells whose input is hidden.
"""

import re
from pathlib import Path

import nbformat
from sphinx.application import Sphinx

FENCE = re.compile(r"```\{code-cell\}[^\n]*\n(?:---\n(?P<head>.*?)\n---\n)?(?P<code>.*?)```", re.S)
FRONT = re.compile(r"\A---\n.*?\n---\n", re.S)
DOWNLOAD = re.compile(r"\{download\}`[^`]*`\n*")
PAGE_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\.md\)")
DROPDOWN = re.compile(r":::\{dropdown\} ([^\n]*)\n(.*?):::", re.S)


def notebook(chapter: str) -> nbformat.NotebookNode:
    """Return a chapter, MyST Markdown with code cells, as a notebook."""
    text = FRONT.sub("", chapter)
    cells = []
    end = 0
    for fence in FENCE.finditer(text):
        cells += _words(text[end : fence.start()])
        hidden = "hide-cell" in (fence["head"] or "")
        if hidden:
            cells += _words("*Solution*: open the next cell.")
        cell = nbformat.v4.new_code_cell(fence["code"].strip())
        if hidden:
            cell.metadata = {"jupyter": {"source_hidden": True}}
        cells.append(cell)
        end = fence.end()
    cells += _words(text[end:])
    for place, cell in enumerate(cells):  # nbformat's own identifiers are random
        cell["id"] = f"cell-{place}"
    kernel = {"name": "python3", "display_name": "Python 3"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def _words(text: str) -> list[nbformat.NotebookNode]:
    """Return a cell of text, or none."""
    text = DROPDOWN.sub(r"*\1*: \2", DOWNLOAD.sub("", text))
    text = PAGE_LINK.sub(r"\1", text).strip()
    if not text:
        return []
    return [nbformat.v4.new_markdown_cell(text)]


def write(app: Sphinx) -> None:
    """Write a notebook for each chapter, next to them, before pages are read."""
    course = Path(app.srcdir) / "course"
    (course / "notebooks").mkdir(exist_ok=True)
    for chapter in sorted(course.glob("[0-9]*.md")):
        target = course / "notebooks" / f"{chapter.stem}.ipynb"
        new = nbformat.writes(notebook(chapter.read_text())) + "\n"
        if not target.exists() or target.read_text() != new:
            target.write_text(new)


def setup(app: Sphinx) -> dict:
    """Connect the extension."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True}
