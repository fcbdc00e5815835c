"""The tables and the picture of docs/decisions/scaling.md, from scaling.json and gpu.json."""

import json
from pathlib import Path

from reporting import table, with_minus, write_into
from scaling_model import NAMES, Accelerator, Manner, Work, best, enough, link, meshes, predicted

DOCS = Path(__file__).parents[1] / "docs"
LARGE = Work(10**6, 10**5, 2_048, 2_048)
OF_A_DEVICE = {"rows": "128 rows", "few rows": "16 rows", "hidden units": "256 hidden units"}
RUNS = ((8, 2_048), (64, 2_048), (1_024, 2_048), (1_024, 16_384))  # accelerators, rows
PEAK = Accelerator(operations=989e12, bandwidth=3.35e12)  # as published
NEIGHBOURS = 6  # of a unit in a cubic lattice
P_BITS = 1e12  # flips a second, "over a trillion" (Aadit et al. 2026)


def counted(record: dict, recipe: str, precision: str) -> dict:
    """Return what was counted in the compiled update of a recipe and a precision."""
    wanted = (recipe, precision)
    return next(
        entry for entry in record["memory"] if (entry["recipe"], entry["precision"]) == wanted
    )


def manners(record: dict) -> dict[str, Manner]:
    """Return how an update holds and sends its arrays: as it is, and as it might be."""
    counts = counted(record, "plain", "bfloat16")
    now = Manner(passes=counts["moved"], states=counts["states"])
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
    results = []
    for devices, rows in RUNS:
        work = LARGE._replace(batch=rows, chains=rows)
        for name, manner in manners(record).items():
            prediction = best(devices, work, Accelerator(), manner)
            prediction["published"] = best(devices, work, PEAK, manner)["total"]
            results.append({"devices": devices, "batch": rows, "manner": name} | prediction)
    return results


# Tables


def milliseconds(seconds: float) -> str:
    """Return a time with three figures."""
    value = 1e3 * seconds
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def percent(values: list[float]) -> str:
    """Return a median share, with the lowest and the highest."""
    median, low, high = (with_minus(f"{100 * value:.0f}") for value in values)
    return f"{median} % ({low} – {high})"


def engineering(value: float) -> str:
    """Return a number in powers of ten: 3.0·10⁹."""
    power = len(f"{value:.0f}") - 1
    raised = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{value / 10**power:.1f}·10{raised}"


def weak(record: dict, kind: str) -> str:
    """Return the table of weak scaling over devices or processes."""
    entries = {
        (entry["shared"], entry["devices"], entry["how"]): entry
        for entry in record["records"]
        if entry["kind"] == kind
    }
    if not entries:
        return "*Not in this record: `python benchmarks/scaling.py` measures it.*"
    head = ["a device has", kind, "an update, ms", "the same on one device, ms", "rows a second"]
    lines = [[*head, "lost, wall clock", "lost, CPU time"]]
    for (name, n, how), entry in entries.items():
        if how == "exchange" or (how == "whole" and n > 1):
            continue
        rows = {"rows": 128 * n, "few rows": 16 * n, "hidden units": 128}[name]
        seconds = entry["seconds"][0]
        whole = ""
        lost = ["", ""]
        if n > 1:
            whole = milliseconds(entries[name, n, "whole"]["seconds"][0])
            lost = [percent(entry["lost"]), percent(entry["lost_cpu"])]
        pace = f"{rows / seconds:,.0f}"
        lines.append([OF_A_DEVICE[name], str(n), milliseconds(seconds), whole, pace, *lost])
    return table(lines)


def exchanged(record: dict) -> str:
    """Return the table of what updates send, by the program and by the formula."""
    lines = [["mesh", "k", "in the program", "bytes", "by the formula"]]
    for entry in record["exchanges"]:
        work = Work(*entry["work"])
        mesh = f"data={work.data}, hidden={work.columns}"
        numbers = (f"{entry['bytes']:,}", f"{entry['formula']:,}")
        lines.append([mesh, str(work.k), ", ".join(entry["kinds"]), *numbers])
    return table(lines)


def held(record: dict) -> str:
    """Return the table of bytes a weight."""
    head = ["recipe", "precision", "state", "new state", "temporary", "moved"]
    lines = [[*head, "operations", "by the formula", "bytes a unit"]]
    for entry in record["memory"]:
        sizes = [
            f"{entry[name]:.1f}" for name in ("state", "result", "temporary", "moved", "operations")
        ]
        last = [f"{entry['formula']:.1f}", f"{entry['states']:.1f}"]
        lines.append([entry["recipe"], entry["precision"], *sizes, *last])
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
            cost = fit["costs"][place]
            error = fit["errors"][place]
            if error is None:
                cells.append("not seen")
                continue
            value = cost / scale
            if unit != "µs":  # a rate, the inverse of a cost
                value = 1.0 / cost / scale
            spread = value * error / cost
            rounded = (float(f"{value:.3g}"), float(f"{spread:.2g}"))
            cells.append("{:,g} ± {:,g} {}".format(*rounded, unit))
        lines.append([words, *cells])
    residual = [f"{100 * fit['typical_residual']:.0f} %" for fit in record["fits"]]
    lines.append(["typical residual", *residual])
    return table(lines)


def held_out(record: dict) -> str:
    """Return the table of predictions of the largest size."""
    lines = [["", "a device has", "measured, ms", "predicted, ms", "error"]]
    for fit in record["fits"]:
        for entry in fit["held_out"]:
            error = entry["predicted"] / entry["measured"] - 1.0
            times = [milliseconds(entry[key]) for key in ("measured", "predicted")]
            where = f"{entry['devices']} {fit['kind']}"
            percentage = with_minus(f"{100 * error:+.0f} %")
            lines.append([where, OF_A_DEVICE[entry["shared"]], *times, percentage])
    return table(lines)


def mesh_in_words(prediction: dict) -> str:
    """Return a mesh in the order of its axes."""
    axes = [f"data={prediction['data']}", f"hidden={prediction['hidden']}"]
    if not prediction["rows_first"]:
        axes.reverse()
    return ", ".join(axes)


def large(record: dict) -> str:
    """Return the table of predictions for the large model."""
    head = ["accelerators", "rows", "manner", "mesh", "GB each", "an update, ms"]
    head += ["products", "memory", "gradient", "inputs", "rows a second", "by published rates, ms"]
    lines = [head]
    for prediction in record["predictions"]:
        used = (prediction["weights"] + prediction["states"]) / 1e9
        first = [f"{prediction['devices']:,}", f"{prediction['batch']:,}", prediction["manner"]]
        first += [mesh_in_words(prediction), f"{used:,.0f}"]
        if not prediction["fits"]:
            lines.append([*first, "does not fit", *[""] * 6])
            continue
        parts = [milliseconds(value) for value in prediction["seconds"].values()]
        rate = f"{prediction['batch'] / prediction['total']:,.0f}"
        total = milliseconds(prediction["total"])
        published = milliseconds(prediction["published"])
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
    for prediction in record["predictions"]:
        if prediction["fits"] and prediction["batch"] == LARGE.batch:
            rows = prediction["left"] * 8 / LARGE.visible
            left = f"{prediction['left'] / 1e9:.0f}"
            lines.append([f"{prediction['devices']:,}", prediction["manner"], left, f"{rows:,.0f}"])
    return table(lines)


def flips(record: dict) -> str:
    """Return the table of flips, sweeps and multiply-adds a second."""
    lines = [["", "model", "sweeps of a chain a second", "flips", "multiply-adds"]]

    def line(where: str, model: str, visible: int, hidden: int, sweeps: float) -> None:
        rates = (sweeps, sweeps * (visible + hidden), sweeps * 2.0 * visible * hidden)
        lines.append([where, model, *(engineering(rate) for rate in rates)])

    for entry in record["flips"]:
        n = entry["visible"]
        m = entry["hidden"]
        sweeps = entry["chains"] / entry["seconds_a_sweep"][0]
        line(f"two cores, {entry['precision']}", f"{n:,}×{m:,}", n, m, sweeps)
    gpu = json.loads((DOCS / "measured" / "gpu.json").read_text())
    wide = gpu["race"][1]
    line("one H100, while training", "784×500", 784, 500, 512.0 * wide["per_second"])
    rate = gpu["limits"]["tflops"]["bfloat16"] * 1e12 / 2  # multiply-adds a second
    line("one H100, computed", "8,192×8,192", 8192, 8192, rate / (2.0 * 8192**2))
    n = LARGE.visible
    m = LARGE.hidden
    line("one H100, computed; it would not fit", "10⁶×10⁵", n, m, rate / (2.0 * n * m))
    published = [engineering(P_BITS / 10**6), engineering(P_BITS), engineering(P_BITS * NEIGHBOURS)]
    lines.append(["10⁶ p-bits, published", "cubic lattice, 6 neighbours", *published])
    return table(lines)


def when(record: dict) -> str:
    """Return the computer and the date in words."""
    loads = (record["load_before"], record["load_after"])
    words = (
        f"{record['computer']}; {record['versions']}; {record['date']}; {record['rounds']} rounds;"
        f" load of the computer before and after: {loads[0]} and {loads[1]}."
    )
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
        bars = []
        for work, rows_first in meshes(devices, LARGE._replace(batch=rows, chains=rows)):
            prediction = predicted(work, Accelerator(), manner, rows_first)
            # The order of the axes means nothing where all devices are along one of them.
            if prediction["left"] > 0 and (rows_first or min(work.data, work.columns) > 1):
                mesh = {"data": work.data, "hidden": work.columns, "rows_first": rows_first}
                bars.append((mesh_in_words(mesh), prediction))
        start = [0.0] * len(bars)
        for (kind, words), color in zip(names.items(), COLORS, strict=False):
            widths = [1e3 * prediction["seconds"][kind] for _, prediction in bars]
            axes.barh(range(len(bars)), widths, left=start, height=0.7, color=color)
            if axes is panels[0]:  # once in the legend
                axes.containers[-1].set_label(words)
            start = [a + b for a, b in zip(start, widths, strict=True)]
        axes.set_ylim(-0.6, 8.6)
        axes.set_yticks(range(len(bars)), [words for words, _ in bars], fontsize=SMALL)
        axes.invert_yaxis()
        label(axes, f"{rows:,} rows and chains an update", "milliseconds an update")
        axes.grid(axis="y", visible=False)
    legend_below(figure, 4)
    save_figure(figure, path)
