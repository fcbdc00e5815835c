"""A cache of compiled programs, one file per program, in the user's cache folder.

A file's name is a digest of everything that the program depends on: a description of the compiled
function, the code of this package, the versions of the packages used, the settings of JAX and XLA,
and the device with its processor's features. With another version of a package, or on another
computer, no file is found, and the program is compiled.

Files are written atomically and checked before use. A file that is damaged, or cannot be read or
written, is ignored. Programs are code, so the folder must be as well protected as JAX's own cache
or the folder of installed packages.

Set `HARMONIUM_CACHE` to another folder, or to `off` to keep no files.
"""

from __future__ import annotations

import contextlib
import copyreg
import functools
import hashlib
import importlib
import os
import pickle
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import platformdirs
from jax.experimental import serialize_executable
from jax.experimental.layout import Layout
from jaxlib import utils  # pyright: ignore[reportAttributeAccessIssue]

from .device import device
from .hardware import cores, processor
from .linalg import find_lapack

VARIABLE = "HARMONIUM_CACHE"
PACKAGES = ("jax", "jaxlib", "equinox", "optax", "numpy", "ml_dtypes")
MOST_BYTES = 2**30  # the largest total size of the files: several thousand programs of 10 to 500 kB
HEAD = b"harmonium program 1\n"
# Settings of JAX whose names contain one of these words do not affect compilation.
IRRELEVANT = ("cache", "log", "dump", "traceback", "timeout", "distributed", "pgle", "address")
# Finds the names of what a program calls by name: operations that XLA compiles, LAPACK, or objects
# of this process, such as a Python function.
CALLED = re.compile(r"custom_call @(\S+?)\(")
COMPILED = ("mhlo.", "chlo.")
LAPACK = "lapack_"
_LOCK = threading.Lock()


# JAX 0.12 treats array types as equal only if they are the same object, and creates a new type for
# each copy of `Layout.AUTO` ("any layout"). `Layout.AUTO` is therefore pickled by name. Otherwise
# the results of a program from a file would have a new type, and each program that uses the results
# would be recompiled.
copyreg.pickle(type(Layout.AUTO), lambda _: (getattr, (Layout, "AUTO")))


def are_kept() -> bool:
    """Return whether compiled programs are kept in files."""
    is_off = os.environ.get(VARIABLE, "").lower() == "off"
    return folder().is_absolute() and not is_off  # without a home folder there is no cache


def folder() -> Path:
    """Return the path of the folder of compiled programs."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_cache_dir("harmonium", appauthor=False)) / "programs"


def name_of(function: str, description: str) -> str:
    """Return a compiled program's file name, with a digest of everything that it depends on."""
    settings = {
        name: value
        for name, value in jax.config.values.items()
        if not any(word in name for word in IRRELEVANT)
    }
    whole = repr((description, _surroundings(), sorted(settings.items())))
    return f"{function.strip('_')}-{hashlib.sha256(whole.encode()).hexdigest()[:40]}"


@functools.cache
def _surroundings() -> tuple:
    """Return what every program depends on: code, versions, flags and device."""
    # XLA divides loops among the available cores, so programs depend on the number of cores.
    versions = [(name, importlib.import_module(name).__version__) for name in PACKAGES]
    flags = [(name, os.environ.get(name)) for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS", "NPROC")]
    own = device()
    kind = (own.platform, own.device_kind, own.client.platform_version)
    return (*versions, sys.version, *flags, *kind, processor(), cores(), digest_of_package())


@functools.cache
def digest_of_package() -> str:
    """Return a digest of the source code of this package."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        digest.update(f"{path.relative_to(root)}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


class Content(NamedTuple):
    """The stored parts of a program.

    Attributes:
        serialized: the executable, as serialised by JAX.
        results: the number of arrays that the program returns.
        uses_lapack: whether the program calls LAPACK, which must then be initialised first.
    """

    serialized: bytes
    results: int
    uses_lapack: bool

    def loaded(self, count: int) -> Any:
        """Load the program, which takes `count` arguments, on the usual device and return it."""
        if self.uses_lapack:
            find_lapack()
        arguments = jax.tree.structure(((0,) * count, {}))
        results = jax.tree.structure([0] * self.results)
        with _quiet():
            return serialize_executable.deserialize_and_load(
                self.serialized, arguments, results, execution_devices=[device()]
            )


def content_of(lowered: Any, program: Any) -> Content | None:
    """Return a program in storable form, or None if other processes could not run the program.

    Args:
        lowered: the lowered program.
        program: the compiled program, which must not come from a file.
    """
    called = set(CALLED.findall(lowered.as_text()))
    uses_lapack = any(target.startswith(LAPACK) for target in called)
    if not all(target.startswith((*COMPILED, LAPACK)) for target in called):
        return None
    try:
        serialized, _, results = serialize_executable.serialize(program)
    except Exception:  # JAX cannot serialise some types of constants
        return None
    return Content(serialized, results.num_leaves, uses_lapack)


def read(name: str, count: int) -> tuple[Any, Any] | None:
    """Return a program from a file, and the tree of its result; None if there is no valid file.

    Args:
        name: the file's name, from `name_of`.
        count: the number of the program's arguments.
    """
    path = folder() / name
    try:
        file = path.read_bytes()
        digest, _, body = file.removeprefix(HEAD).partition(b"\n")
        if not file.startswith(HEAD) or digest != _digest_of(name, body):
            return None
        *parts, outline = pickle.loads(body)
        program = Content(*parts).loaded(count)
    except Exception:  # whatever is wrong with the file, the program can be compiled
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # marks the file as used; the least recently used are removed first
    return program, outline


def _digest_of(name: str, body: bytes) -> bytes:
    """Return a digest that verifies that a file is complete and belongs to this program."""
    return hashlib.sha256(name.encode() + body).hexdigest().encode()


def write(name: str, content: Content, outline: Any) -> None:
    """Write a program to its file if the folder is writable.

    Args:
        name: the file's name, from `name_of`.
        content: the program.
        outline: the tree of the program's result, as returned by `read`.
    """
    try:
        body = pickle.dumps((*content, outline))
    except Exception:  # the tree of a result may contain objects that pickle rejects
        return
    with contextlib.suppress(OSError):
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        _make_room()
        # The file is written under another name and then renamed, so that no reader sees a part of
        # it and no crash leaves a part of it.
        descriptor, temporary = tempfile.mkstemp(dir=folder(), prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(HEAD + _digest_of(name, body) + b"\n" + body)
            Path(temporary).replace(folder() / name)
        except BaseException:
            Path(temporary).unlink()
            raise


@functools.cache
def _make_room() -> None:
    """Remove the least recently used files beyond `MOST_BYTES` in total, once per process."""
    files = [entry for entry in os.scandir(folder()) if not entry.name.endswith(".json")]
    entries = [(file, file.stat()) for file in files]
    entries.sort(key=lambda entry: entry[1].st_mtime, reverse=True)
    total = 0
    for entry, status in entries:
        total += status.st_size
        if total > MOST_BYTES:
            with contextlib.suppress(OSError):
                Path(entry.path).unlink()


@contextlib.contextmanager
def compilation() -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether no program in this context came from JAX's own cache.

    A program from that cache must not be stored again, since XLA loses parts of a program that is
    serialised a second time (jaxlib 0.10).
    """
    before = _hits()
    yield lambda: _hits() == before


def _hits() -> int:
    """Return the number of programs that this thread has loaded from JAX's own cache."""
    return getattr(_OF_THREAD, "hits", 0)


def _count_hit(event: str, **_: Any) -> None:
    if event == "/jax/compilation_cache/cache_hits":
        _OF_THREAD.hits = _hits() + 1


_OF_THREAD = threading.local()
jax.monitoring.register_event_listener(_count_hit)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress XLA's warnings while a program is loaded.

    XLA mistakes two of its own preferences for missing processor features, and prints three
    kilobytes of warnings for each program that it loads (jaxlib 0.10, openxla/xla issue 44565).
    """
    with _LOCK:
        utils.absl_set_min_log_level(3)
        try:
            yield
        finally:
            utils.absl_set_min_log_level(int(os.environ.get("TF_CPP_MIN_LOG_LEVEL") or 1))
