"""A Sphinx extension that reads docstrings as they are written here.

They are plain text with backticks, fenced code and indented formulas, which help() shows well.
reStructuredText would take | and * for markup and an indented formula for a quotation.
"""

import re
from typing import Any

from sphinx.application import Sphinx
from sphinx.domains.python._object import PyObject

FENCE = re.compile(r"^(\s*)```(\w*)\s*$")
SECTION = re.compile(
    r"^(Args|Attributes|Returns|Raises|Source|Yields|Examples?|Note|Notes|Warning):\s*$"
)


def escaped(line: str) -> str:
    """Escape what is no markup here, outside of backticks."""
    parts = re.split(r"(``[^`]*``|`[^`]*`)", line)
    for k in range(0, len(parts), 2):  # those between are in backticks
        parts[k] = re.sub(r"([|*]|(?<=\w)_(?!\w))", r"\\\1", parts[k])
    return "".join(parts)


def as_rest(lines: list[str]) -> list[str]:
    """Return a docstring as reStructuredText, before its sections are read."""
    rest: list[str] = []
    in_fence = in_block = in_section = in_example = False
    for line in lines:
        fence = FENCE.match(line)
        is_blank = not line.strip()
        indent = len(line) - len(line.lstrip())
        if fence:
            in_fence = not in_fence
            if in_fence:
                language = "pycon" if fence[2] == "python" else "text"
                rest.append(f"{fence[1]}.. code-block:: {language}")
            rest.append("")
            continue
        if in_fence:
            rest.append("    " + line)
            continue
        if not is_blank and indent == 0:
            in_section = bool(SECTION.match(line))
            in_block = False
        # A session ends at a blank line. What is printed in it is no text either.
        in_example = not is_blank and (in_example or line.lstrip().startswith(">>>"))
        is_text = not (is_blank or in_section or in_block)
        if is_text and indent >= 4 and rest and not rest[-1].strip():
            rest += ["::", ""]
            in_block = True
        rest.append(line if in_block or in_example else escaped(line))
    return rest


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place."""
    lines[:] = as_rest(lines)
    if what in ("property", "attribute"):
        # Sphinx would take the text before a colon for its type: an empty line prevents it.
        lines.insert(0, "")


def skipped(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: methods that route metadata."""
    if re.fullmatch(r"set_\w+_request", name):
        return True
    return None  # others decide


def setup(app: Sphinx) -> dict:
    """Register the extension, before the one that reads sections."""
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", process, priority=100)
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    return {"parallel_read_safe": True}
