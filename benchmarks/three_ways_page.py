"""The output of `three_ways.py`: numbers, tables, conditions, and text between markers."""

import datetime
import importlib.metadata
import os
import platform
import re
import sys
from pathlib import Path

import numpy as np

QUIET = 0.5  # load a core before the start, above which times are unreliable


def signed(value: float, digits: int = 3) -> str:
    """Return a number as text, with a true minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")


def mean_and_spread(values: np.ndarray, digits: int = 3) -> str:
    """Return the mean and, of several values, the standard deviation as text."""
    spread = f" ± {values.std(ddof=1):.{digits}f}" if len(values) > 1 else ""
    return signed(values.mean(), digits) + spread


def duration(seconds: float) -> str:
    """Return a time as text with two or three figures."""
    return f"{1000 * seconds:.1f} ms" if seconds < 0.1 else f"{seconds:.2f} s"


def table(rows: list[list[str]]) -> str:
    """Return rows as a Markdown table; the first row is the head."""
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def conditions() -> str:
    """Return the computer, versions, date and, if other programs run, a warning, in words."""
    packages = {"NumPy": "numpy", "TensorFlow": "tensorflow-cpu", "JAX": "jax"}
    versions = [f"Python {platform.python_version()}"]
    for name, package in packages.items():
        try:
            versions.append(f"{name} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"no {name}")
    info = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    model = models[0] if models else platform.processor() or platform.machine()
    threads = os.environ.get("OPENBLAS_NUM_THREADS")
    held = f" NumPy's products were held to {threads} thread(s)." if threads else ""
    busy = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0
    warning = f" Other programs were running (load {busy:.1f} a core): do not rely on the times."
    today = f"{datetime.date.today():%-d %B %Y}"
    on = f"{os.cpu_count()} cores ({model}), {', '.join(versions)}, {today}."
    return on + held + (warning if busy > QUIET else "")


def write_into(page: Path, name: str, text: str) -> None:
    """Write text between the markers of this name on a page."""
    if not page.exists():
        print(f"{page} is not there: nothing written into it")
        return
    pattern = rf"(<!-- measured: {name} -->\n).*?(<!-- end -->)"
    old = page.read_text("utf-8")
    new, times = re.subn(pattern, lambda m: f"{m[1]}{text}\n{m[2]}", old, flags=re.S)
    if times != 1:
        sys.exit(
            f"{page} should hold the marker 'measured: {name}' once; it holds it {times} times"
        )
    page.write_text(new, "utf-8")
