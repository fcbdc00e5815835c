"""How tests read what the command prints."""

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def strict(text: str) -> dict:
    """Read JSON as the standard has it: without NaN and Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def check_estimate(found: dict) -> None:
    assert found["low"] <= found["value"] <= found["high"]
    assert isinstance(found["method"], str)
    assert found["converged"] is True


def run_page(page: str) -> int:
    """Run all Python of a page, in order, as it stands; return the number of blocks."""
    scope: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
    return len(blocks)
