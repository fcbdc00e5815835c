"""Helpers that read what the command prints, and run the Python of a page."""

import json
import re
import shlex
from pathlib import Path

import pytest

from harmonium.cli import main

ROOT = Path(__file__).parents[1]


def strict(text: str) -> dict:
    """Read JSON strictly, without NaN and Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def check_estimate(estimate: dict) -> None:
    assert estimate["low"] <= estimate["value"] <= estimate["high"]
    assert isinstance(estimate["method"], str)
    assert estimate["converged"] is True


def run_page(page: str) -> int:
    """Run all Python blocks of a page, in order and unchanged; return their number."""
    scope: dict = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    for block in blocks:
        exec(compile(block, page, "exec"), scope)
    return len(blocks)


def run_lines(page: str) -> list[str]:
    """Run the Python blocks and the commands of a page, in order; return the commands."""
    scope: dict = {}
    commands: list[str] = []
    blocks = re.findall(r"```(python|sh)\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    for language, block in blocks:
        if language == "python":
            exec(compile(block, page, "exec"), scope)
            continue
        for line in block.splitlines():
            name, *words = shlex.split(line, comments=True)
            assert name == "harmonium", line
            with pytest.raises(SystemExit) as ended:
                main(words)
            assert not ended.value.code, line
            commands.append(line)
    return commands
