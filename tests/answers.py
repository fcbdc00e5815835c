"""How tests read what the command prints."""

import json


def strict(text: str) -> dict:
    """Read JSON as the standard has it: without NaN and Infinity."""

    def refuse(name: str) -> None:
        raise AssertionError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def check_estimate(found: dict) -> None:
    assert found["low"] <= found["value"] <= found["high"]
    assert isinstance(found["method"], str)
    assert found["converged"] is True
