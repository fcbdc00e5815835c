"""Options for the devices and processes of a run, and for watching the run in a browser."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from ..errors import InputError
from ..runs.options import Option

# Browsers that are not opened, since they would take over the terminal of the run.
TEXT_BROWSERS = {"www-browser", "lynx", "links", "links2", "elinks", "w3m", "browsh", "carbonyl"}


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """The options for the devices and processes of a run, and for watching the run."""

    mesh: Annotated[
        str | None,
        Option(
            "Spread the run over devices: data=8 splits rows and chains among eight devices,"
            " hidden=2 splits the columns of W between two, data=4,hidden=2 does both.  [default:"
            " one device; with --distributed, data=N for all N devices]",
            "AXIS=N,...",
        ),
    ] = None
    is_distributed: Annotated[
        bool,
        Option(
            "Share the run among processes that are all started with this same command line: by"
            " srun or mpirun, or with JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and"
            " JAX_PROCESS_ID set. Only the first process prints and writes.",
            names=("--distributed",),
        ),
    ] = False
    is_watched: Annotated[
        bool,
        Option(
            "Open a browser page that follows the run. Closing the page does not affect the run.",
            names=("--watch",),
        ),
    ] = False
    watch_on: Annotated[
        str | None,
        Option(
            "Serve the page at this address, such as 127.0.0.1:8000, without opening a browser."
            " Other computers can see it only at an address other than 127.0.0.1, such as"
            " 0.0.0.0:8000, and only with the secret token in the printed link.",
            "ADDRESS",
        ),
    ] = None

    def __post_init__(self):
        """Refuse to serve a page for a run of several processes.

        Raises:
            InputError: a page is requested together with `--distributed`.
        """
        if self.is_distributed and (self.is_watched or self.watch_on is not None):
            raise InputError(
                "--watch: expected a run of one process; got --distributed; leave --watch out,"
                " and follow RUN/metrics.jsonl."
            )

    @property
    def again(self) -> list[str]:
        """The options with which `harmonium resume` uses the same number of devices again."""
        options = []
        if self.is_distributed:
            options.append("--distributed")
        if self.mesh is not None:
            options += ["--mesh", self.mesh]
        return options

    @contextmanager
    def watching(self, show: Any) -> Iterator[Any]:
        """Serve the run's page within the context, if requested; print the address of the page.

        Args:
            show: the display of the run.
        """
        if not self.is_watched and self.watch_on is None:
            yield None
            return
        from ..runs.watch import LOOPBACK, Watch

        watch = Watch(self.watch_on or LOOPBACK)
        show.say(f"watch the run at {watch.url}")
        with watch:  # from here on the server answers
            if self.is_watched:
                _open(watch)
            yield watch

    def devices(self) -> AbstractContextManager[Any]:
        """Return a context in which a run is spread over the devices given by `--mesh`.

        A run of several processes always uses all their devices.

        Raises:
            InputError: an axis is unknown, or fewer devices are available than requested.
        """
        if self.mesh is None and not self.is_distributed:
            return nullcontext()
        import jax

        from .._base.sharding import ROWS, checked_mesh, use_mesh

        parts = []
        if self.mesh is not None:
            parts = self.mesh.split(",")
        sizes = {}
        for part in parts:
            axis, _, size = part.partition("=")
            if not size.strip().isdigit() or axis.strip() in sizes:
                raise InputError(
                    f"--mesh: expected sizes of the axes data, hidden or both; got {self.mesh!r};"
                    " write, for example, data=4,hidden=2."
                )
            sizes[axis.strip()] = int(size)
        mesh = checked_mesh(sizes or {ROWS: jax.device_count()}, "--mesh")
        if self.is_distributed and mesh.size < jax.device_count():
            raise InputError(
                f"--mesh: expected a mesh that uses all {jax.device_count()} devices; got a mesh"
                f" of {mesh.size}; leave --mesh out, or start fewer processes."
            )
        return use_mesh(mesh)


def _open(watch: Any) -> None:
    """Open a run's page in a graphical browser, without waiting until the browser is closed."""
    import webbrowser

    try:
        browser: Any = webbrowser.get()
        if Path(str(getattr(browser, "name", ""))).name in TEXT_BROWSERS:
            return
        page = watch.make_door().as_uri()
    except (webbrowser.Error, OSError):  # not fatal: the address has been printed
        return
    # Some browsers, such as those that BROWSER names, block until they are closed.
    threading.Thread(target=browser.open, args=(page,), daemon=True).start()
