"""The command `harmonium train`, as a user types it, in a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def trained(source: Path, out: Path) -> dict[str, Any]:
    """Run `harmonium train SOURCE` into a folder without any other option; return its summary."""
    command = [sys.executable, "-P", "-m", "harmonium", "train", str(source), "--out", str(out)]
    result = subprocess.run([*command, "--json"], capture_output=True, text=True)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr[-2000:]}")
    return json.loads(result.stdout)
