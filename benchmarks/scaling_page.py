"""The tables and the picture of docs/scaling.md, from docs/measured/scaling.json and gpu.json."""

import json
import platform
import re
from pathlib import Path

from scaling_model import NAMES, Accelerator, Manner, Work, best, enough, link, meshes, predicted
from three_ways_page import table, write_into

DOCS = Path(__file__).parents[1] / "docs"
LARGE = Work(10**6, 10**5, 2_048, 2_048)
RUNS = ((8, 2_048), (64, 2_048), (1_024, 2_048), (1_024, 16_384))  # accelerators, rows
PEAK = Accelerator(operations=989e12, bandwidth=3.35e12)  # as published
NEIGHBOURS = 6  # of a unit in a cubic lattice
P_BITS = 1e12  # flips a second, "over a trillion" (Aadit et al. 2026)


def processor() -> str:
    """Return the processor's name."""
    info = Path("/proc/cpuinfo")
    models = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    return models[0] if models else platform.processor() or platform.machine()


def counted(record: dict, recipe: str, precision: str) -> dict:
    """Return what was counted in the compiled update of a recipe and a precision."""
    wanted = (recipe, precision)
    return next(each for each in record["memory"] if (each["recipe"], each["precision"]) == wanted)


def manners(record: dict) -> dict[str, Manner]:
    """Return how an update holds and sends its arrays: as it is, and as it might be."""
    found = counted(record, "plain", "bfloat16")
    now = Manner(passes=found["moved"], states=found["states"])
    lean = now._replace(held=20.0)  # 4 of state and 4 of result less: the input is given up
    least = now._replace(held=14.0, shared=8.0, gradient=2.0, inputs=2.0, scattered=True)
    return {
        "as it is": now,
        "old state given up": lean,
        "and all exchanges in bfloat16": lean._replace(gradient=2.0, inputs=2.0),
        "and W's state shared along data": least,
    }


def predictions(record: dict) -> list[dict]:
    """Return the best mesh for each number of accelerators, of rows, and each manner."""
    found = []
    for devices, rows in RUNS:
        work = LARGE._replace(batch=rows, chains=rows)
        for name, manner in manners(record).items():
            one = best(devices, work, Accelerator(), manner)
            one["published"] = best(devices, work, PEAK, manner)["total"]
            found.append({"devices": devices, "batch": rows, "manner": name} | one)
    return found


# Tables


def milliseconds(seconds: float) -> str:
    """Return a time with three figures."""
    value = 1e3 * seconds
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def percent(values: list[float]) -> str:
    """Return a median share, with the lowest and the highest."""
    mid, low, high = (f"{100 * value:.0f}".replace("-", "−") for value in values)
    return f"{mid} % ({low} – {high})"


def engineering(value: float) -> str:
    """Return a number in powers of ten: 3.0·10⁹."""
    power = len(f"{value:.0f}") - 1
    raised = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value / 10**power:.1f}·10{raised}"


def weak(record: dict, kind: str) -> str:
    """Return the table of weak scaling over devices or processes."""
    found = {
        (each["shared"], each["devices"], each["how"]): each
        for each in record["records"]
        if each["kind"] == kind
    }
    if not found:
        return "*Not in this record: `python benchmarks/scaling.py` measures it.*"
    head = [
        "a device has",
        kind,
        "an update, ms",
        "the same on one device, ms",
        "rows a second",
        "lost, wall clock",
        "lost, CPU time",
    ]
    names = {"rows": (128, "128 rows"), "few rows": (16, "16 rows"), "hidden units": (0, "")}
    lines = [head]
    for (name, n, how), each in found.items():
        if how == "exchange" or (how == "whole" and n > 1):
            continue
        whole = found[name, n, "whole"]["seconds"][0]
        rows = 128 if name == "hidden units" else names[name][0] * n
        label = names[name][1] or "256 hidden units"
        shares = [percent(each[key]) for key in ("lost", "lost_cpu")] if n > 1 else ["", ""]
        times = [milliseconds(each["seconds"][0]), milliseconds(whole) if n > 1 else ""]
        lines.append([label, str(n), *times, f"{rows / each['seconds'][0]:,.0f}", *shares])
    return table(lines)


def exchanged(record: dict) -> str:
    """Return the table of what updates send, by the program and by the formula."""
    lines = [["mesh", "k", "in the program", "bytes", "by the formula"]]
    for each in record["exchanges"]:
        work = Work(*each["work"])
        mesh = f"data={work.data}, hidden={work.columns}"
        numbers = (f"{each['bytes']:,}", f"{each['formula']:,}")
        lines.append([mesh, str(work.k), ", ".join(each["kinds"]), *numbers])
    return table(lines)


def held(record: dict) -> str:
    """Return the table of bytes a weight."""
    head = ["recipe", "precision", "state", "new state", "temporary", "moved"]
    lines = [[*head, "operations", "by the formula", "bytes a unit"]]
    for each in record["memory"]:
        sizes = [
            f"{each[name]:.1f}" for name in ("state", "result", "temporary", "moved", "operations")
        ]
        last = [f"{each['formula']:.1f}", f"{each['states']:.1f}"]
        lines.append([each["recipe"], each["precision"], *sizes, *last])
    return table(lines)


def constants(record: dict) -> str:
    """Return the table of fitted constants: rates, with their errors."""
    units = {
        "operations": ("operations a second", 1e9, "GFLOP/s"),
        "memory": ("memory", 1e9, "GB/s"),
        "link": ("exchanges", 1e9, "GB/s"),
        "exchange": ("each exchange, for each device", 1e-6, "µs"),
        "update": ("each update", 1e-6, "µs"),
    }
    lines = [["", *(f"between {fit['kind']}" for fit in record["fits"])]]
    for place, name in enumerate(NAMES):
        words, scale, unit = units[name]
        cells = []
        for fit in record["fits"]:
            cost, error = fit["costs"][place], fit["errors"][place]
            if error is None:
                cells.append("not seen")
                continue
            value = 1.0 / cost / scale if scale > 1 else cost / scale
            spread = value * error / cost
            value, spread = float(f"{value:.3g}"), float(f"{spread:.2g}")
            cells.append(f"{value:,g} ± {spread:,g} {unit}")
        lines.append([words, *cells])
    residual = [f"{100 * fit['typical_residual']:.0f} %" for fit in record["fits"]]
    lines.append(["typical residual", *residual])
    return table(lines)


def held_out(record: dict) -> str:
    """Return the table of predictions of the largest size."""
    lines = [["", "a device has", "measured, ms", "predicted, ms", "error"]]
    for fit in record["fits"]:
        for each in fit["held_out"]:
            error = each["predicted"] / each["measured"] - 1.0
            times = [milliseconds(each[key]) for key in ("measured", "predicted")]
            where = f"{each['devices']} {fit['kind']}"
            words = {"rows": "128 rows", "few rows": "16 rows", "hidden units": "256 hidden units"}
            sign = f"{100 * error:+.0f} %".replace("-", "−")
            lines.append([where, words[each["shared"]], *times, sign])
    return table(lines)


def mesh_in_words(each: dict) -> str:
    """Return a mesh in the order of its axes."""
    axes = [f"data={each['data']}", f"hidden={each['hidden']}"]
    return ", ".join(axes if each["rows_first"] else axes[::-1])


def large(record: dict) -> str:
    """Return the table of predictions for the large model."""
    head = ["accelerators", "rows", "manner", "mesh", "GB each", "an update, ms"]
    head += ["products", "memory", "gradient", "inputs", "rows a second", "by published rates, ms"]
    lines = [head]
    for each in record["predictions"]:
        used = (each["weights"] + each["states"]) / 1e9
        first = [f"{each['devices']:,}", f"{each['batch']:,}", each["manner"]]
        first += [mesh_in_words(each), f"{used:,.0f}"]
        if not each["fits"]:
            lines.append([*first, "does not fit", *[""] * 6])
            continue
        parts = [milliseconds(value) for value in each["seconds"].values()]
        rate = f"{each['batch'] / each['total']:,.0f}"
        total, published = milliseconds(each["total"]), milliseconds(each["published"])
        lines.append([*first, total, *parts, rate, published])
    return table(lines)


def rule() -> str:
    """Return the table of rows and hidden units that a device needs, by the link."""
    chip = Accelerator()
    links = {
        "within a node, NVLink": chip.inside,
        "between nodes, eight adapters of a node at once": link(chip, 64, 1),
        "between nodes, one adapter": chip.outside,
    }
    lines = [["the devices of an axis are", "GB/s of a device", "rows or hidden units of a device"]]
    for words, rate in links.items():
        lines.append([words, f"{rate / 1e9:.0f}", f"{enough(chip, rate):,.0f}"])
    return table(lines)


def dataset(record: dict) -> str:
    """Return the table of how many rows of data fit beside the model."""
    lines = [["accelerators", "manner", "left on each, GB", "rows of 10⁶ bits that fit there"]]
    for each in record["predictions"]:
        if each["fits"] and each["batch"] == LARGE.batch:
            rows = each["left"] * 8 / LARGE.visible
            left = f"{each['left'] / 1e9:.0f}"
            lines.append([f"{each['devices']:,}", each["manner"], left, f"{rows:,.0f}"])
    return table(lines)


def flips(record: dict) -> str:
    """Return the table of flips, sweeps and multiply-adds a second."""
    lines = [["", "model", "sweeps of a chain a second", "flips", "multiply-adds"]]

    def line(where: str, model: str, visible: int, hidden: int, sweeps: float) -> None:
        rates = (sweeps, sweeps * (visible + hidden), sweeps * 2.0 * visible * hidden)
        lines.append([where, model, *(engineering(rate) for rate in rates)])

    for each in record["flips"]:
        n, m = each["visible"], each["hidden"]
        where = f"two cores, {each['precision']}"
        line(where, f"{n:,}×{m:,}", n, m, each["chains"] / each["seconds_a_sweep"][0])
    gpu = json.loads((DOCS / "measured" / "gpu.json").read_text())
    wide = gpu["race"][1]
    line("one H100, while training", "784×500", 784, 500, 512.0 * wide["per_second"])
    rate = gpu["limits"]["tflops"]["bfloat16"] * 1e12 / 2
    n, m = LARGE.visible, LARGE.hidden
    line("one H100, computed", "8,192×8,192", 8192, 8192, rate / (2.0 * 8192**2))
    work = rate / (2.0 * n * m)
    line("one H100, computed; it would not fit", "10⁶×10⁵", n, m, work)
    published = [engineering(P_BITS / 10**6), engineering(P_BITS), engineering(P_BITS * NEIGHBOURS)]
    lines.append(["10⁶ p-bits, published", "cubic lattice, 6 neighbours", *published])
    return table(lines)


def when(record: dict) -> str:
    """Return the computer and the date in words."""
    loads = (record["load_before"], record["load_after"])
    words = f"{record['computer']}; {record['versions']}; {record['date']}; {record['rounds']}"
    words += f" rounds; load of the computer before and after: {loads[0]} and {loads[1]}."
    if max(loads) > 4.0:
        words += " **Other programs were running: the times of this run are not to be relied on.**"
    return words


def tables(record: dict) -> dict[str, str]:
    """Return all that the page has from the record, by its marker."""
    return {
        "when": when(record),
        "devices": weak(record, "devices"),
        "processes": weak(record, "processes"),
        "sent": exchanged(record),
        "held": held(record),
        "constants": constants(record),
        "held out": held_out(record),
        "rule": rule(),
        "large": large(record),
        "data": dataset(record),
        "flips": flips(record),
    }


def write(page: Path, record: dict) -> None:
    """Write the tables into the page, between their markers."""
    for name, text in tables(record).items():
        write_into(page, name, text)


def draw(record: dict, path: Path) -> None:
    """Draw the predicted time of an update for each mesh, by what it is spent on."""
    from harmonium.plot.base import COLORS, SMALL, label, legend_below, new_figure, save_figure

    title = "An update of 10⁶ × 10⁵ units on 1,024 accelerators, by mesh: prediction"
    figure = new_figure(9.6, 4.0, title)
    panels = figure.subplots(1, 2)
    names = {
        "products": "products",
        "memory": "passes over W",
        "gradient": "exchange of the gradient",
        "inputs": "exchange of inputs",
    }
    manner = manners(record)["as it is"]
    for axes, (devices, rows) in zip(panels, RUNS[-2:], strict=True):
        found = []
        for work, first in meshes(devices, LARGE._replace(batch=rows, chains=rows)):
            one = predicted(work, Accelerator(), manner, first)
            if one["left"] > 0 and (first or min(work.data, work.columns) > 1):
                about = {"data": work.data, "hidden": work.columns, "rows_first": first}
                found.append((mesh_in_words(one | about), one))
        start = [0.0] * len(found)
        for (kind, words), color in zip(names.items(), COLORS, strict=False):
            widths = [1e3 * one["seconds"][kind] for _, one in found]
            about = words if axes is panels[0] else None  # once in the legend
            axes.barh(range(len(found)), widths, left=start, height=0.7, color=color, label=about)
            start = [a + b for a, b in zip(start, widths, strict=True)]
        axes.set_ylim(-0.6, 8.6)
        axes.set_yticks(range(len(found)), [words for words, _ in found], fontsize=SMALL)
        axes.invert_yaxis()
        label(axes, f"{rows:,} rows and chains an update", "milliseconds an update")
        axes.grid(axis="y", visible=False)
    legend_below(figure, 4)
    save_figure(figure, path)
