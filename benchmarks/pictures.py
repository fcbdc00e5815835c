"""Draw the pictures of docs/ whose figures are in docs/measured, without measuring anything.

    python benchmarks/pictures.py                 # all of them
    python benchmarks/pictures.py race RACE.json OUT.png

Each is named after the program of this folder that measures it and writes its file in the form that
is read here.
"""

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from harmonium.plot.base import (
    BLUE,
    COLORS,
    GREY,
    ORANGE,
    SMALL,
    TEXT,
    label,
    new_figure,
    save_figure,
)

DOCS = Path(__file__).parents[1] / "docs"


def in_words(workload: str) -> str:
    """Return a workload's name for a reader: "train 784×500, batch 128, k = 10"."""
    verb, sizes, batch, *sweeps = workload.split()
    words = [f"{verb} {sizes.replace('x', '×')}"]
    units = {"sample": "chains", "ais": "chains", "log_z": "states", "transform": "rows"}
    if verb in units:
        words.append(f"{int(batch[1:]):,} {units[verb]}")
    else:
        words.append(f"batch {batch[1:]}")
    words += [f"k = {k[1:]}" for k in sweeps]
    return ", ".join(words)


def race(measured: dict, path: Path) -> None:
    """Draw how many times as fast harmonium is, beside the best package and the best loop."""
    records = measured["records"][::-1]
    figure = new_figure(10.0, 0.27 * len(records) + 1.3, "How many times as fast harmonium is")
    panels = figure.subplots(1, 2, sharey=True)
    kinds = (
        ("package", "as the best other package", BLUE),
        ("loop", "as the best loop written by hand for one model", ORANGE),
    )
    for axes, (kind, title, color) in zip(panels, kinds, strict=True):
        for place, record in enumerate(records):
            if record[kind] is None:
                axes.text(1.03, place, "not written", va="center", fontsize=SMALL, color=GREY)
                continue
            ratio = record[kind]["ratio"]
            axes.barh(place, ratio - 1, left=1, height=0.62, color=color)
            text = f"{ratio:.1f}  {record[kind]['name']}"
            right = max(ratio, 1.0) * 1.03
            axes.text(right, place, text, va="center", fontsize=SMALL)
        axes.axvline(1.0, color="black", linewidth=1.0)
        axes.set_xscale("log")
        axes.set_xlim(0.7, 60)
        axes.set_xticks([1, 2, 5, 10, 20], ["1\nas fast", "2", "5", "10", "20"])
        axes.xaxis.set_minor_locator(NullLocator())
        label(axes, title)
        axes.grid(axis="y", visible=False)
    names = [in_words(record["workload"]) for record in records]
    panels[0].set_yticks(range(len(records)), names)
    save_figure(figure, path)


def growth(measured: dict, path: Path) -> None:
    """Draw the time of an update against each size, both relative to the middle size."""
    title = "An update's time grows at most in proportion to a size, and not with the rows"
    figure = new_figure(7.4, 4.4, title)
    axes = figure.subplots()
    for record, color in zip(measured["records"], COLORS, strict=False):
        times = {float(factor): t for factor, t in record["milliseconds"].items()}
        x = np.array(sorted(times))
        y = np.array([times[factor] for factor in sorted(times)])
        axes.plot(x, y / times[1.0], marker="o", markersize=4, color=color)
        lift = {"chains": 1.06, "batch": 0.99}.get(record["size"], 1.0)  # else on each other
        end = (x[-1] * 1.08, lift * y[-1] / times[1.0])
        axes.text(*end, record["size"], color=color, fontsize=TEXT, va="center")
    axes.plot([0.25, 16], [0.25, 16], color="0.7", linewidth=0.8, linestyle="--")
    axes.text(8.6, 9.6, "in proportion", color=GREY, fontsize=SMALL, ha="right")
    ticks = [0.25, 0.5, 1, 2, 4, 8, 16]
    marks = ["¼", "½", "1", "2", "4", "8", "16"]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set_xticks(ticks, marks)
    axes.set_yticks(ticks, marks)
    axes.set_xlim(0.22, 24)
    first = measured["records"][0]["milliseconds"]["1"]
    label(axes, "", f"size; 1 is {measured['start']}", f"time of an update; 1 is {first:.1f} ms")
    save_figure(figure, path)


def choosing(measured: dict, path: Path) -> None:
    """Draw a table: how far each method's model ends below the best one of each data set."""
    records = measured["records"]
    sets = list(records[0]["log_likelihood"])
    cells = [[record["log_likelihood"][name] for name in sets] for record in records]
    means = np.array([[cell.get("mean", np.nan) for cell in line] for line in cells])
    behind = np.nanmax(means, axis=0) - means
    title = "Nats per row below the best method of each data set: the paler, the better"
    figure = new_figure(7.4, 0.3 * len(records) + 1.0, title)
    axes = figure.subplots()
    shade = np.log10(np.clip(np.nan_to_num(behind, nan=0.0), 0.01, 100.0))
    axes.imshow(shade, cmap="Blues", vmin=-2.0, vmax=2.6, aspect="auto")
    for (row, column), value in np.ndenumerate(behind):
        text = cells[row][column].get("why") or in_nats(value)
        is_dark = shade[row, column] > 1.0
        color = "white" if is_dark else "black"
        axes.text(column, row, text, ha="center", va="center", fontsize=SMALL, color=color)
    label(axes, grid=False)
    axes.set_xticks(range(len(sets)), sets)
    axes.xaxis.tick_top()
    axes.set_yticks(range(len(records)), [record["method"] for record in records])
    axes.tick_params(length=0, labelsize=TEXT)
    for spine in axes.spines.values():
        spine.set_visible(False)
    save_figure(figure, path)


def in_nats(behind: float) -> str:
    """Return how far a method is behind the best, as text."""
    if behind >= 100:
        return f"{behind:,.0f}"
    return f"{behind:.2f}" if behind >= 0.005 else "best"


def bars(measured: dict, path: Path) -> None:
    """Draw the exact likelihood of bars and stripes during training, at each rate."""
    records = measured["records"]
    rates = sorted({record["rate"] for record in records})
    title = "Bars and stripes, one sweep an update: where chains fall behind, the likelihood falls"
    figure = new_figure(9.6, 4.2, title)
    panels = figure.subplots(1, len(rates), sharey=True, squeeze=False)[0]
    methods = dict.fromkeys(record["method"] for record in records)
    colors = dict(zip(methods, COLORS, strict=False))
    for axes, rate in zip(panels, rates, strict=True):
        labels: list[Label] = []
        for record in records:
            if record["rate"] != rate:
                continue
            mean = np.array(record["mean"])
            x = measured["updates_apart"] * np.arange(1, len(mean) + 1)
            color = colors.get(record["method"], GREY)
            axes.plot(x, mean, linewidth=1.5, color=color)
            labels.append(Label(float(mean[-1]), record["method"], color))
        axes.plot([0, 20_000], [LIMIT, LIMIT], color=GREY, linewidth=0.8, linestyle="--")
        axes.text(400, LIMIT + 1.0, "no model exceeds this", fontsize=SMALL, color=GREY)
        for y, text, color in apart(labels):
            axes.text(20_400, y, text, color=color, fontsize=SMALL, va="center")
        axes.set_xticks(range(0, 20_001, 5_000), ["0", "5,000", "10,000", "15,000", "20,000"])
        axes.set_xlim(0, 26_000)
        axes.set_ylim(-205, -103)
        label(axes, f"rate {rate:g}", "updates", "Σ log p of the 32 rows, nats")
    save_figure(figure, path)


LIMIT = -32 * np.log(32.0) + 4 * np.log(2.0)  # Σ log p of the 32 rows under their own distribution
LINE = 5.0  # nats between labels
SAME = 0.5  # nats between curves whose labels would lie on one another


class Label(NamedTuple):
    """The label of a curve, at its end."""

    y: float
    text: str
    color: str


def apart(labels: list[Label]) -> list[Label]:
    """Return labels moved apart; those that end on one another become a single label."""
    groups: list[list[Label]] = []
    for end in sorted(labels, reverse=True):
        if groups and groups[-1][-1].y - end.y < SAME:
            groups[-1].append(end)
        else:
            groups.append([end])
    moved: list[Label] = []
    for group in groups:
        y, text, color = group[0]
        if moved:
            y = min(y, moved[-1].y - LINE)
        if len(group) > 1:
            color = "black"
            text = ", ".join(end.text for end in group)
        if len(group) > 3:
            text = "all others"
        moved.append(Label(y, text, color))
    return moved


def density(measured: dict, path: Path) -> None:
    """Draw test log-likelihoods against the number of rows to learn from, a panel for each set."""
    records = measured["records"]
    sets = list(dict.fromkeys(record["set"] for record in records))
    title = "Nats per test row, by the number of rows to learn from"
    figure = new_figure(8.6, 4.8, title)
    panels = figure.subplots(2, 3)
    for axes, name in zip(panels.ravel(), sets, strict=True):
        of_set = sorted((r for r in records if r["set"] == name), key=lambda r: r["rows"])
        x = [record["rows"] for record in of_set]
        for kind, color in (("independent", GREY), ("tree", ORANGE)):
            axes.plot(x, [record[kind] for record in of_set], marker="o", markersize=4, color=color)
        ours = [record["default"]["value"] for record in of_set]
        axes.plot(x, ours, marker="o", markersize=5, color=BLUE)
        for record in of_set:
            for kind, mark in (("hidden tree", "^"), ("scikit-learn", "s")):
                if kind in record:
                    y = record[kind]["value"]
                    axes.plot(
                        record["rows"], y, mark, markersize=5, color="black", fillstyle="none"
                    )
        axes.set_xscale("log")
        axes.set_xlim(70, 30_000)
        axes.set_xticks([100, 1_000, 10_000], ["100", "1,000", "10,000"])
        axes.xaxis.set_minor_locator(NullLocator())
        label(axes, f"{name}, {of_set[0]['columns']} columns")
    marks: Any = (
        ("default run", "o", BLUE, "full"),
        ("tree", "o", ORANGE, "full"),
        ("independent columns", "o", GREY, "full"),
        ("hidden tree", "^", "black", "none"),
        ("scikit-learn at its best", "s", "black", "none"),
    )
    handles = [
        Line2D([], [], marker=mark, color=color, linestyle="", fillstyle=fill, label=name)
        for name, mark, color, fill in marks
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=5, fontsize=SMALL)
    save_figure(figure, path)


def obvious(measured: dict, path: Path) -> None:
    """Draw how far default runs of 0/1 rows are above the best of three models that are exact."""
    title = "Nats per test row above the best of independent columns, a tree and a mixture"
    above_the_best(measured, path, title)


def tables(measured: dict, path: Path) -> None:
    """Draw how far default runs of tables are above the best of four other models."""
    title = "Nats per held-out row above the best of four other models"
    above_the_best(measured, path, title)


def above_the_best(measured: dict, path: Path, title: str) -> None:
    """Draw differences with their intervals, a line for each set."""
    records = sorted(measured["records"], key=lambda record: record["above"]["value"])
    figure = new_figure(7.6, 0.26 * len(records) + 1.2, title)
    axes = figure.subplots()
    for place, record in enumerate(records):
        above = record["above"]
        axes.plot([above["low"], above["high"]], [place, place], color=BLUE, linewidth=1.5)
        axes.plot(above["value"], place, "o", color=BLUE, markersize=5)
    axes.axvline(0.0, color="black", linewidth=1.0)
    axes.set_xscale("symlog", linthresh=1.0, linscale=1.0)
    axes.set_xticks([-1, -0.5, 0, 0.5, 1, 2, 5, 10], ["−1", "−½", "0", "½", "1", "2", "5", "10"])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlim(-1.5, 14)
    sizes = [f": {r['rows']:,} × {r['columns']}" if "rows" in r else "" for r in records]
    names = [record["set"] + size for record, size in zip(records, sizes, strict=True)]
    axes.set_yticks(range(len(records)), names)
    label(axes, "")
    axes.grid(axis="y", visible=False)
    save_figure(figure, path)


PICTURES = {
    "race": race,
    "growth": growth,
    "choosing": choosing,
    "bars": bars,
    "density": density,
    "obvious": obvious,
    "tables": tables,
}


def main() -> None:
    """Draw one picture, or all."""
    if sys.argv[1:]:
        name, source, target = sys.argv[1:]
        PICTURES[name](json.loads(Path(source).read_text()), Path(target))
        return
    for name, draw in PICTURES.items():
        record = json.loads((DOCS / "measured" / f"{name}.json").read_text())
        draw(record, DOCS / "pictures" / f"{name}.png")


if __name__ == "__main__":
    main()
