"""What the programs of this folder share in their options and in what they print.

A program's own parser, tables in Markdown, numbers, the computer, and text between markers.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

BUSY = 0.5  # load a core before the start, above which times are unreliable


def parser_of(doc: str | None, **defaults: Any) -> argparse.ArgumentParser:
    """Return a parser of a program's options, with the first line of the program's docstring.

    Args:
        doc: the docstring.
        **defaults: the options with their defaults, whose types their values have. False is the
            default of an option without a value. Some entries of a list or a dictionary, or all,
            are given as words without an option's name; those of a dictionary by their keys.
    """
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    for name, default in defaults.items():
        if isinstance(default, list | tuple | dict):
            words = {"nargs": "*", "default": [*default], "metavar": name.upper().removesuffix("S")}
            kind = key_of(default) if isinstance(default, dict) else str
            parser.add_argument(name, type=kind, **words)
        elif default is False:
            parser.add_argument(f"--{name}", action="store_true")
        else:
            parser.add_argument(f"--{name}", type=type(default), default=default)
    return parser


def key_of(entries: dict[str, Any]) -> Callable[[str], str]:
    """Return the type of words that are keys of a dictionary."""

    def key(word: str) -> str:
        if word not in entries:
            raise argparse.ArgumentTypeError(f"expected one of {', '.join(entries)}; got {word!r}")
        return word

    return key


def seeds(text: str) -> list[int]:
    """Return the numbers in the value of an option such as `--seeds 0,1,2`."""
    return [int(seed) for seed in text.split(",")]


def row(cells: Iterable[str]) -> str:
    """Return a row of a Markdown table."""
    return f"| {' | '.join(cells)} |"


def head(titles: Sequence[str]) -> str:
    """Return the first two lines of a Markdown table, whose rows follow one at a time."""
    return f"{row(titles)}\n|{'---|' * len(titles)}"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table; the first row is the head."""
    return "\n".join([head(rows[0]), *map(row, rows[1:])])


def with_minus(text: str) -> str:
    """Return text with true minus signs for its hyphens."""
    return text.replace("-", "−")


def signed(value: float, digits: int = 3) -> str:
    """Return a number as text, with a true minus sign."""
    return with_minus(f"{value:.{digits}f}")


def mean_and_spread(values: np.ndarray, digits: int = 3) -> str:
    """Return the mean and, of several values, the standard deviation as text."""
    mean = signed(values.mean(), digits)
    if len(values) == 1:
        return mean
    return f"{mean} ± {values.std(ddof=1):.{digits}f}"


def rounded(estimate: Any, digits: int = 2) -> dict[str, Any]:
    """Return what is recorded of an estimate: its value, its interval, and whether it converged."""
    ends = {name: round(getattr(estimate, name), digits) for name in ("value", "low", "high")}
    return ends | {"converged": estimate.converged}


def write_records(
    path: str,
    program: str,
    records: list[dict[str, Any]],
    packages: Sequence[str] = ("jax", "jaxlib"),
) -> None:
    """Write records in the form of docs/measured, a line for each, if a path is given.

    The versions are those of the packages.
    """
    if not path:
        return
    today = f"{datetime.date.today():%-d %B %Y}"
    versions_here = ", ".join(f"{name} {v}" for name, v in versions(packages).items())
    about = {
        "program": f"benchmarks/{Path(program).name}",
        "computer": f"{os.cpu_count()} cores ({processor()})",
        "date": today,
        "versions": versions_here,
    }
    lines = ",\n  ".join(json.dumps(record, ensure_ascii=False) for record in records)
    start = json.dumps(about, ensure_ascii=False, indent=1).removesuffix("\n}")
    Path(path).write_text(f'{start},\n "records": [\n  {lines}\n ]\n}}\n', "utf-8")


def duration(seconds: float) -> str:
    """Return a time as text with two or three figures."""
    if seconds < 0.1:
        return f"{1000 * seconds:.1f} ms"
    return f"{seconds:.2f} s"


def with_interval(estimate: Any, digits: int = 2) -> str:
    """Return an estimate with its interval as text: "-86.34 [-86.51, -86.20]"."""
    ends = f"[{estimate.low:.{digits}f}, {estimate.high:.{digits}f}]"
    return f"{estimate.value:.{digits}f} {ends}"


def unless_converged(estimate: Any) -> str:
    """Return the words that follow an estimate that did not converge."""
    return "" if estimate.converged else ", not converged"


def processor() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        names = re.findall(r"model name\s*: (.*)", info.read_text())
        if names:
            return names[0]
    return platform.processor() or platform.machine()


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of those packages that are installed."""
    installed = {}
    for package in packages:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def conditions() -> str:
    """Return the computer, versions, date and, if other programs run, a warning, in words."""
    packages = {"NumPy": "numpy", "TensorFlow": "tensorflow-cpu", "JAX": "jax"}
    installed = versions(packages.values())
    words = [f"Python {platform.python_version()}"]
    for name, package in packages.items():
        words.append(f"{name} {installed[package]}" if package in installed else f"no {name}")
    today = f"{datetime.date.today():%-d %B %Y}"
    text = f"{os.cpu_count()} cores ({processor()}), {', '.join(words)}, {today}."
    threads = os.environ.get("OPENBLAS_NUM_THREADS")
    if threads:
        text += f" NumPy's products were held to {threads} thread(s)."
    load = os.getloadavg()[0] / (os.cpu_count() or 1) if hasattr(os, "getloadavg") else 0.0
    if load > BUSY:
        text += f" Other programs were running (load {load:.1f} a core): do not rely on the times."
    return text


def write_into(page: Path, name: str, text: str) -> None:
    """Write text between the markers of this name on a page."""
    if not page.exists():
        print(f"{page} is not there: nothing written into it")
        return
    pattern = rf"(<!-- measured: {name} -->\n).*?(<!-- end -->)"
    old = page.read_text("utf-8")
    new, times = re.subn(pattern, lambda match: f"{match[1]}{text}\n{match[2]}", old, flags=re.S)
    if times != 1:
        sys.exit(
            f"{page} should hold the marker 'measured: {name}' once; it holds it {times} times"
        )
    page.write_text(new, "utf-8")
