"""Helpers that read what the command prints, and run the Python of a page."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def strict(text: str) -> dict:
    """Read JSON strictly, without NaN and Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def check_estimate(found: dict) -> None:
    assert found["low"] <= found["value"] <= found["high"]
    assert isinstance(found["method"], str)
    assert found["converged"] is True


def run_page(page: str) -> int:
    """Run all Python blocks of a page, in order and unchanged; return their number."""
    scope: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
    return len(blocks)
