"""The pictures of a run, drawn by a process of their own while this one takes the score."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np

from ..errors import HarmoniumError
from .folder import MODEL, RunFolder

PATIENCE = 30.0  # seconds that an interrupted run waits for its pictures


class Painted(NamedTuple):
    """Paths of the pictures, and why there are none."""

    paths: list[str]
    reason: str


class Painter:
    """A process that draws what a run folder holds, beside rows that are passed.

    It starts to import what it needs at once, which takes as long as drawing. It has the CPU to
    itself, since an accelerator's memory may be taken.
    """

    def __init__(self, folder: Path):
        self.passed = tempfile.TemporaryDirectory(prefix="harmonium-")
        self.asked = False
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"JAX_PLATFORMS": "cpu"},
        )

    def paint(self, samples: Any, data: Any, image_shape: Any) -> None:
        """Say what to draw besides the machine and its history."""
        rows = Path(self.passed.name) / "rows.npz"
        np.savez(rows, samples=samples, data=data)
        self.asked = True
        self._tell({"rows": str(rows), "image_shape": image_shape})

    def finished(self) -> Painted:
        """Wait for the pictures."""
        answer, complaint = self.process.communicate()
        if self.process.returncode == 0:
            return Painted(**json.loads(answer))
        last = complaint.strip().rsplit("\n", 1)[-1]
        return Painted([], f"drawing failed, {last or self.process.returncode}")

    def __enter__(self) -> Painter:
        """Give itself."""
        return self

    def __exit__(self, kind: type | None, error: Any, traceback: TracebackType | None) -> None:
        """Let it finish what it was asked for, and leave nothing behind."""
        with self.process:
            try:
                self.process.wait(PATIENCE if self.asked else 0.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.passed.cleanup()

    def _tell(self, what: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(what) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:  # it has failed, which `finished` tells
            pass


def main(folder: Path) -> None:
    """Draw what standard input asks for, and answer on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who interrupts the score may keep the pictures
    from ..plot import pictures
    from ..storage import load

    asked = json.loads(sys.stdin.readline())
    with np.load(asked["rows"]) as rows:
        given = {name: rows[name] for name in rows}
    history = RunFolder(folder).metrics()
    try:
        drawn = pictures(
            folder / "pictures",
            rbm=load(folder / MODEL),
            history=history,
            image_shape=asked["image_shape"],
            **given,
        )
        found = Painted([str(path) for path in drawn], "")
    except HarmoniumError as error:  # a machine may draw rows that no picture can show
        found = Painted([], str(error))
    print(json.dumps(found._asdict()))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
