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
    return "".join(
        part if k % 2 else re.sub(r"([|*]|(?<=\w)_(?!\w))", r"\\\1", part)
        for k, part in enumerate(parts)
    )


def as_rest(lines: list[str]) -> list[str]:
    """Return a docstring as reStructuredText, before its sections are read."""
    found: list[str] = []
    in_fence = in_block = in_section = False
    for line in lines:
        fence = FENCE.match(line)
        is_blank, indent = not line.strip(), len(line) - len(line.lstrip())
        if fence:
            in_fence = not in_fence
            if in_fence:
                found += [
                    f"{fence[1]}.. code-block:: {'pycon' if fence[2] == 'python' else 'text'}",
                    "",
                ]
            else:
                found.append("")
            continue
        if in_fence:
            found.append("    " + line)
            continue
        if not is_blank and indent == 0:
            in_section, in_block = bool(SECTION.match(line)), False
        if (
            not (is_blank or in_section or in_block)
            and indent >= 4
            and found
            and not found[-1].strip()
        ):
            found += ["::", ""]
            in_block = True
        found.append(line if in_block else escaped(line))
    return found


def process(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite a docstring in place."""
    # Of a property, the text before a colon would be taken for its type: an empty line prevents it.
    lines[:] = [""] * (what in ("property", "attribute")) + as_rest(lines)


def skipped(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what scikit-learn adds to every estimator: methods that route metadata."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


def setup(app: Sphinx) -> dict:
    """Register the extension, before the one that reads sections."""
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", process, priority=100)
    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    return {"parallel_read_safe": True}
