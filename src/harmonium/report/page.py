"""A page whose template, style, scripts and content form a single file that works offline.

The scripts are JavaScript modules. A page opened from disk cannot import other files, so the
modules are concatenated, each in its own function. A content security policy allows exactly
these scripts and this style. Nothing is compiled or minified.
"""

from __future__ import annotations

import base64
import functools
import graphlib
import hashlib
import html
import json
import re
from importlib import resources
from typing import Any

IMPORT = re.compile(r"^import \{([^}]*)\} from \"\./(\w+)\.js\";\n", re.MULTILINE)
EXPORT = re.compile(r"^export (const|function|class) (\w+)", re.MULTILINE)


def page_of(content: dict[str, Any], title: str, *, is_live: bool = False) -> str:
    """Return the HTML of a page with this content.

    Args:
        content: the content for the page's script, in JSON types; numbers must be finite.
        title: the title of the window.
        is_live: whether the page may ask its server for updates.
    """
    style = _read("page.css")
    script = script_of()
    pieces = {
        "policy": _policy(style, script, is_live),
        "title": html.escape(title),
        "style": style,
        # A name such as "</script>" would end the element that holds the content.
        "content": json.dumps(content, allow_nan=False).replace("<", "\\u003c"),
        "script": script,
        "plain": _plain(content, title),
    }
    page = re.sub(r"@(\w+)@", lambda match: pieces[match[1]], _read("page.html"))
    # The name of a file may contain bytes that are not UTF-8; a page shows ? in their place.
    return page.encode(errors="replace").decode()


def _plain(content: dict[str, Any], title: str) -> str:
    """Return the text shown if JavaScript is off: the score, and why the rest is missing."""
    lines = ["The rest of this page is drawn by JavaScript, which is switched off here."]
    score = (content.get("summary") or {}).get("log_likelihood")
    if score:
        text = (
            f"Log-likelihood {score['value']:.6g} nats per row, in [{_end(score['low'])},"
            f" {_end(score['high'])}], of {score['n_rows']:,} {score['rows']} rows"
            f" ({score['method']})."
        )
        if not score["converged"]:
            text += " It has not converged: do not quote it."
        lines.insert(0, text)
    if content.get("command"):
        lines = [content["command"], *lines]
    texts = [f"<p>{html.escape(line)}</p>" for line in (*content.get("about", ()), *lines)]
    return f"<h1>{html.escape(title)}</h1>{''.join(texts)}"


def _end(number: float | None) -> str:
    """Format an endpoint of an interval; None means infinity, which JSON cannot represent."""
    return "unknown" if number is None else f"{number:.4g}"


@functools.cache
def script_of() -> str:
    """Return all modules as one script, each as a function that returns the module's exports."""
    names = [file.name[:-3] for file in _folder().iterdir() if file.name.endswith(".js")]
    sources = {name: _read(f"{name}.js") for name in names}
    needed = {
        name: {module for _, module in IMPORT.findall(text)} for name, text in sources.items()
    }
    order = graphlib.TopologicalSorter(needed).static_order()
    return "\n".join(["'use strict';", *(_wrapped(name, sources[name]) for name in order)])


def _wrapped(name: str, source: str) -> str:
    exported = [name for _, name in EXPORT.findall(source)]
    body = IMPORT.sub(lambda match: f"const {{{match[1]}}} = page_{match[2]};\n", source)
    body = EXPORT.sub(r"\1 \2", body)
    return f"const page_{name} = (() => {{\n{body}\nreturn {{ {', '.join(exported)} }};\n}})();"


def _policy(style: str, script: str, is_live: bool) -> str:
    """Return the security policy, which allows this style, these scripts and embedded pictures."""
    news = " connect-src 'self';" if is_live else ""

    def allowed(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    # Column names come from files. If a script ever treats one as HTML, this policy keeps code in
    # the name from running.
    return (
        f"default-src 'none'; style-src {allowed(style)}; script-src {allowed(script)};"
        f"{news} img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def _folder() -> Any:
    return resources.files("harmonium.report") / "page"


@functools.cache
def _read(name: str) -> str:
    return (_folder() / name).read_text("utf-8")
