"""On which devices a run computes, with which other processes, and who watches it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import input_error
from .options import word

# They would take the terminal of the run.
TEXT_BROWSERS = {"www-browser", "lynx", "links", "links2", "elinks", "w3m", "browsh", "carbonyl"}
IsWatched = Annotated[
    bool,
    typer.Option(
        "--watch",
        help="Open a page in the browser that follows the run. Closing it changes nothing.",
    ),
]
WatchOn = Annotated[
    str | None,
    word(
        "--watch-on",
        metavar="ADDRESS",
        help="Serve the page at an address, as 127.0.0.1:8000, and open no browser. Other"
        " computers can see it only at another address than 127.0.0.1, such as 0.0.0.0:8000, and"
        " only with the secret word in the link that is printed.",
    ),
]
Devices = Annotated[
    str | None,
    word(
        "--mesh",
        metavar="AXIS=N,...",
        help="Spread the run over devices: data=8 shares rows and chains among eight, hidden=2 the"
        " columns of W between two, data=4,hidden=2 both.  [default: one device; with"
        " --distributed data=all of them]",
    ),
]
IsDistributed = Annotated[
    bool,
    typer.Option(
        "--distributed",
        help="Share the run among processes that all are started with this same line: by srun,"
        " mpirun, or with JAX_COORDINATOR_ADDRESS, JAX_NUM_PROCESSES and JAX_PROCESS_ID set. Only"
        " the first one prints and writes.",
    ),
]


def check_alone(is_distributed: bool, is_watched: bool) -> None:
    """Refuse to watch a run of several processes.

    Raises:
        InputError: both are asked for.
    """
    if is_distributed and is_watched:
        expected = "a run of one process"
        advice = "leave it out, and follow RUN/metrics.jsonl"
        raise input_error("--watch", expected, "--distributed", advice)


def again(is_distributed: bool, mesh: str | None) -> list[str]:
    """Return the options of the command that resumes a run on as many devices."""
    options = ["--distributed"] if is_distributed else []
    return options if mesh is None else [*options, "--mesh", mesh]


@contextmanager
def watching(is_watched: bool, address: str | None, show: Any) -> Iterator[Any]:
    """Serve the run's page in a context, if asked; say where it is, and open it in a browser."""
    if not is_watched and address is None:
        yield None
        return
    from ..runs.watch import LOOPBACK, Watch

    watch = Watch(address or LOOPBACK)
    show.say(f"watch the run at {watch.url}")
    with watch:  # from here on it answers
        if is_watched:
            _open(watch)
        yield watch


def _open(watch: Any) -> None:
    """Open a run's page in a browser, without waiting for it; a text browser is left alone."""
    import webbrowser

    try:
        browser: Any = webbrowser.get()
        if Path(str(getattr(browser, "name", ""))).name in TEXT_BROWSERS:
            return
        page = watch.make_door().as_uri()
    except (webbrowser.Error, OSError):  # the address has been printed
        return
    # Some browsers are waited for until they are closed, as those that BROWSER names.
    threading.Thread(target=browser.open, args=(page,), daemon=True).start()


def spread_over(mesh: str | None, is_distributed: bool) -> AbstractContextManager[Any]:
    """Return a context in which a run is spread over the devices that `--mesh` says.

    Those of several processes are all devices that they have.
    """
    if mesh is None and not is_distributed:
        return nullcontext()
    import jax

    from .._base.sharding import ROWS, checked_mesh, use_mesh

    sizes = {}
    for part in [] if mesh is None else mesh.split(","):
        axis, _, size = part.partition("=")
        if not size.strip().isdigit() or axis.strip() in sizes:
            expected = "sizes of the axes data, hidden or both"
            raise input_error("--mesh", expected, repr(mesh), "write it as data=4,hidden=2")
        sizes[axis.strip()] = int(size)
    found = checked_mesh(sizes or {ROWS: jax.device_count()}, "--mesh")
    if is_distributed and found.size < jax.device_count():
        expected = f"all {jax.device_count()} devices of the processes"
        raise input_error("--mesh", expected, f"{found.size}", "leave it out, or start fewer")
    return use_mesh(found)
