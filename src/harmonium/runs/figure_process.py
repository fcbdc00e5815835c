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

from ..errors import HarmoniumError

PATIENCE = 30.0  # seconds that an interrupted run waits for its pictures


class Painted(NamedTuple):
    """Paths of the pictures, and why there are none."""

    paths: list[str]
    reason: str


class FigureProcess:
    """A process that draws what a run folder holds, beside rows that are passed.

    Once started it imports what it needs, which takes as long as drawing; so this module imports
    little, and a command may start it before all else. It has the CPU to itself, since an
    accelerator's memory may be taken.
    """

    def __init__(self) -> None:
        self.passed = tempfile.TemporaryDirectory(prefix="harmonium-")
        self.process: subprocess.Popen[str] | None = None
        self.asked, self.refused = False, ""

    def start(self) -> subprocess.Popen[str]:
        """Start the process, unless it runs."""
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", __name__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env=os.environ | {"JAX_PLATFORMS": "cpu"},
            )
        return self.process

    def stop(self) -> None:
        """End a process that waits, which takes memory; `paint` starts another one."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def paint(self, folder: Path, samples: Any, data: Any, image_shape: Any) -> None:
        """Say of which run to draw the model and its history, and what besides."""
        import numpy as np

        rows = Path(self.passed.name) / "rows.npz"
        try:
            np.savez(rows, samples=samples, data=data)
        except OSError as error:  # a full disk costs the pictures, and not the run's score
            self.refused = f"{rows} cannot be written, {error.strerror or error}"
            return
        self.asked = True
        self._tell({"folder": str(folder), "rows": str(rows), "image_shape": image_shape})

    def finished(self) -> Painted:
        """Wait for the pictures."""
        if self.refused:
            self.stop()
            return Painted([], self.refused)
        process = self.start()
        answer, complaint = process.communicate()
        if process.returncode == 0:
            return Painted(**json.loads(answer))
        last = complaint.strip().rsplit("\n", 1)[-1]
        return Painted([], f"drawing failed, {last or process.returncode}")

    def __enter__(self) -> FigureProcess:
        """Return itself."""
        return self

    def __exit__(self, kind: type | None, error: Any, traceback: TracebackType | None) -> None:
        """Let it finish what it was asked for, and leave nothing behind."""
        if self.process is not None:
            with self.process:
                try:
                    self.process.wait(PATIENCE if self.asked else 0.0)
                except subprocess.TimeoutExpired:
                    self.process.kill()
        self.passed.cleanup()

    def _tell(self, what: dict[str, Any]) -> None:
        channel = self.start().stdin
        assert channel is not None
        try:
            channel.write(json.dumps(what) + "\n")
            channel.flush()
        except BrokenPipeError:  # it has failed, which `finished` tells
            pass


def main() -> None:
    """Draw what standard input asks for, and answer on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who interrupts the score may keep the pictures
    import numpy as np

    from ..io.storage import load
    from ..plot import pictures
    from .folder import MODEL, RunFolder

    asked = json.loads(sys.stdin.readline())
    folder = Path(asked["folder"])
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
    except HarmoniumError as error:  # a model may draw rows that no picture can show
        found = Painted([], str(error))
    print(json.dumps(found._asdict()))


if __name__ == "__main__":
    main()
