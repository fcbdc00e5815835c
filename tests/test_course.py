"""The notebooks of the course, which `make notebooks` writes, are those of the chapters."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
CHAPTERS = sorted((DOCS / "course").glob("[0-9]*.md"))
spec = importlib.util.spec_from_file_location("notebooks", DOCS / "_programs" / "notebooks.py")
notebooks = importlib.util.module_from_spec(spec)
spec.loader.exec_module(notebooks)


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: path.stem)
def test_a_notebook_has_the_cells_of_its_chapter_and_their_outputs(chapter):
    path = DOCS / "course" / "notebooks" / f"{chapter.stem}.ipynb"
    written = json.loads(path.read_text("utf-8"))["cells"]
    expected = notebooks.notebook(chapter.read_text("utf-8"))["cells"]
    kinds = [(cell["cell_type"], "".join(cell["source"])) for cell in written]
    wanted = [(cell["cell_type"], "".join(cell["source"])) for cell in expected]
    assert kinds == wanted, "the chapter has changed: run `make notebooks`"
    outputs = [output for cell in written for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert not any(output["output_type"] == "error" for output in outputs)


def test_solutions_stand_at_the_end():
    cells = notebooks.notebook(CHAPTERS[1].read_text("utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells]
    at = texts.index("## Solutions")
    assert texts[at - 1].startswith("## Exercises\n\n**1.**")
    assert [text for text in texts[at:] if text.startswith("**")] == [
        f"**{i}.**" for i in range(1, 5)
    ]
