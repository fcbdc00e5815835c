"""HTML representations of results, for notebooks."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from typing import Any

# The size of a curve in pixels.
WIDTH = 360
HEIGHT = 90
EDGE = 6


def table(title: str, rows: Mapping[str, Any], *below: str) -> str:
    """Return HTML with a title, a table of names and values, and HTML fragments below the table."""
    lines = "".join(
        f"<tr><th style='text-align: left; font-weight: normal; opacity: 0.75'>{_text(name)}</th>"
        f"<td style='text-align: left'>{_text(value)}</td></tr>"
        for name, value in rows.items()
    )
    return f"<div><strong>{_text(title)}</strong><table>{lines}</table>{''.join(below)}</div>"


def curve(title: str, points: Sequence[tuple[float, float]]) -> str:
    """Return HTML with an SVG line through points, or an empty string for fewer than two points."""
    known = [(float(x), float(y)) for x, y in points if math.isfinite(x) and math.isfinite(y)]
    if len(known) < 2:
        return ""
    (left, *_), (low, *_) = (sorted(values) for values in zip(*known, strict=True))
    right, high = (max(values) for values in zip(*known, strict=True))
    across = (right - left) or 1.0
    up = (high - low) or 1.0
    places = " ".join(
        f"{EDGE + (WIDTH - 2 * EDGE) * (x - left) / across:.1f},"
        f"{HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (y - low) / up:.1f}"
        for x, y in known
    )
    words = _text(f"{title}: from {known[0][1]:.4g} to {known[-1][1]:.4g}")
    return (
        f"<div>{words}</div><svg width='{WIDTH}' height='{HEIGHT}' role='img'"
        f" aria-label='{words}'><polyline points='{places}' fill='none' stroke='#0072b2'"
        " stroke-width='2'/></svg>"
    )


def bar(part: float, words: str) -> str:
    """Return an HTML progress bar with text next to it."""
    done = f"{min(1.0, max(0.0, part)):.4f}"
    return (
        "<div style='display: flex; gap: 12px; align-items: center'>"
        f"<progress max='1' value='{done}' aria-label='progress'></progress>"
        f"<span>{_text(words)}</span></div>"
    )


def _text(value: Any) -> str:
    return html.escape(str(value))
