"""Write each chapter of the course as a notebook, with its outputs: docs/course/notebooks.

    python docs/_programs/notebooks.py [CHAPTER ...]

A chapter is MyST Markdown. What notebook programs do not know becomes plain text: links to other
pages are words. Solutions stand at the end, since GitHub shows hidden cells. Pages to play with are
left out of the outputs: GitHub does not run them. It takes some minutes, and needs nbclient.
"""

import json
import re
import sys
from pathlib import Path
from typing import Any

COURSE = Path(__file__).parents[1] / "course"
LARGEST_PAGE = 20_000  # characters of HTML; tables are smaller, pages to play with larger
FENCE = re.compile(r"```\{code-cell\}[^\n]*\n(?:---\n(?P<head>.*?)\n---\n)?(?P<code>.*?)```", re.S)
FRONT = re.compile(r"\A---\n.*?\n---\n", re.S)
DOWNLOAD = re.compile(r"\{download\}`[^`]*`\n*")
PAGE_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\.md\)")
DROPDOWN = re.compile(r":::\{dropdown\} [^\n]*\n(.*?):::\n?", re.S)
EXERCISES = "## Exercises\n"
NUMBER = re.compile(r"(?m)^(?=\*\*\d+\.\*\*)")


def notebook(chapter: str) -> dict[str, Any]:
    """Return a chapter as a notebook without outputs, in Jupyter's format 4.5."""
    text, _, exercises = FRONT.sub("", chapter).partition(EXERCISES)
    cells = _cells(text)
    questions = [EXERCISES]
    solutions = _words("## Solutions")
    for exercise in NUMBER.split(exercises)[1:]:
        question = re.split(r"```\{code-cell\}|:::\{dropdown\}", exercise)[0]
        questions.append(question)
        number = exercise.split()[0]
        solutions += _words(number) + _cells(exercise.removeprefix(question))
    cells += _words("\n".join(questions)) + solutions
    for place, cell in enumerate(cells):
        cell["id"] = f"cell-{place}"
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    about = {"kernelspec": kernel, "language_info": {"name": "python"}}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def _cells(text: str) -> list[dict[str, Any]]:
    """Return the cells of text and of code, in their order."""
    cells = []
    end = 0
    for fence in FENCE.finditer(text):
        cells += _words(text[end : fence.start()])
        code = {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": []}
        cells.append(code | {"source": fence["code"].strip().splitlines(keepends=True)})
        end = fence.end()
    return cells + _words(text[end:])


def _words(text: str) -> list[dict[str, Any]]:
    """Return a cell of text, or none."""
    text = DROPDOWN.sub(r"\1", DOWNLOAD.sub("", text))
    text = PAGE_LINK.sub(r"\1", text).strip()
    if not text:
        return []
    return [{"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)}]


def executed(chapter: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook with its outputs, but for large pages and what differs from run to run."""
    import nbformat
    from nbclient import NotebookClient

    parsed = nbformat.reads(json.dumps(chapter), as_version=4)
    NotebookClient(parsed, timeout=900, kernel_name="python3").execute()
    result = json.loads(nbformat.writes(parsed))
    for cell in result["cells"]:
        cell["metadata"] = {}
        outputs = [o for o in cell.get("outputs", []) if o.get("name") != "stderr"]
        for output in outputs:
            data = output.get("data", {})
            if len("".join(data.get("text/html", ""))) > LARGEST_PAGE:
                data["text/html"] = "<em>A page to play with: run this cell to see it.</em>"
        if "outputs" in cell:
            cell["outputs"] = outputs
    return result


def main() -> None:
    """Write the chapters that are named, or all."""
    target = COURSE / "notebooks"
    target.mkdir(exist_ok=True)
    for path in sorted(COURSE.glob("[0-9]*.md")):
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        result = executed(notebook(path.read_text("utf-8")))
        text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
        (target / f"{path.stem}.ipynb").write_text(text, "utf-8")
        print(f"{path.stem}: {len(text) // 1024:,} kB", flush=True)


if __name__ == "__main__":
    main()
