"""The pictures of a run, drawn by a separate process while this one computes the score."""

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
    """Paths of the pictures, or the reason why there are none."""

    paths: list[str]
    reason: str


class FigureProcess:
    """A process that draws the model and history of a run folder, and the rows passed to it.

    Once started, it imports the packages it needs, which takes as long as drawing. So this module
    imports little, and a command may start the process before anything else. The process runs JAX
    on the CPU only, since an accelerator's memory may be in use.
    """

    def __init__(self) -> None:
        self.passed = tempfile.TemporaryDirectory(prefix="harmonium-")
        self.process: subprocess.Popen[str] | None = None
        self.asked, self.refused = False, ""

    def start(self) -> subprocess.Popen[str]:
        """Start the process if it is not running."""
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
        """End a waiting process, to free its memory; `paint` starts another one."""
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def paint(self, folder: Path, samples: Any, data: Any, image_shape: Any) -> None:
        """Request the pictures of a run: its model, its history, and samples beside data."""
        import numpy as np

        rows = Path(self.passed.name) / "rows.npz"
        try:
            np.savez(rows, samples=samples, data=data)
        except OSError as error:  # a full disk loses the pictures, not the run's score
            self.refused = f"{rows} cannot be written, {error.strerror or error}"
            return
        self.asked = True
        self._tell({"folder": str(folder), "rows": str(rows), "image_shape": image_shape})

    def finished(self) -> Painted:
        """Wait for the process, and return the pictures' paths or why there are none."""
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
        """Wait for requested pictures, end the process and remove temporary files."""
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
        except BrokenPipeError:  # the process failed; `finished` reports it
            pass


def main() -> None:
    """Read a request on standard input, draw, and answer on standard output."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # interrupting the score keeps the pictures
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
            columns=RunFolder(folder).columns(),
            **given,
        )
        found = Painted([str(path) for path in drawn], "")
    except HarmoniumError as error:  # some samples cannot be shown in a picture
        found = Painted([], str(error))
    print(json.dumps(found._asdict()))


if __name__ == "__main__":
    main()
