"""Figures that stand on several pages agree, with each other and with docs/claims.json."""

import importlib
import json
import re
from pathlib import Path

import pytest

import harmonium as hm

ROOT = Path(__file__).parents[1]
CLAIMS = json.loads((ROOT / "docs" / "claims.json").read_text())
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS = {
    str(page.relative_to(ROOT)): " ".join(page.read_text().split())  # lines may break anywhere
    for page in PAGES
    if not {"_build", "reference", "notebooks"} & set(page.parts)
}
README = TEXTS["README.md"]


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["what"])
def test_a_figure_is_the_same_wherever_it_stands(claim):
    for phrase in claim["phrases"]:
        figures = {
            (page, match) for page, text in TEXTS.items() for match in re.findall(phrase, text)
        }
        assert figures, f"no page says: {phrase}"
        assert {value for _, value in figures} == {claim["value"]}, figures


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim["what"])
def test_a_figure_has_its_source(claim):
    source = claim["source"]
    if "/" in source:
        assert (ROOT / source).exists()
    if source.startswith("benchmarks/"):
        assert {"computer", "date", "versions"} <= claim.keys()


def test_the_readmes_ratios_are_those_of_the_table():
    # | train 64x16 b10 k1 | 53,361 | **3.90** (scikit-learn) | **2.28** (TensorFlow, XLA) | 45 % |
    row = r"\| train [\dxbk ]+ \| [\d,.]+ \| \*\*([\d.]+)\*\* \([^)]*\) \| \*\*([\d.]+)\*\*"
    table = [
        tuple(map(float, ratios))
        for ratios in re.findall(row, TEXTS["docs/decisions/speed_in_detail.md"])
    ]
    package, loop = zip(*table, strict=True)
    assert len(table) == 14
    assert "in fourteen training workloads" in README
    assert f"{min(package):.1f} to {max(package):.0f} times the speed" in README
    assert f"and {min(loop):.1f} to {max(loop):.1f} times that of the best loop" in README


def test_what_can_be_counted_is_counted():
    assert len(hm.training.METHOD_NAMES) == 14
    assert "fourteen ways to learn" in README
    for program, what in (("", "the NumPy version"), ("_tensorflow", "the TensorFlow version")):
        lines = (ROOT / "examples" / f"from_scratch{program}.py").read_text().splitlines()
        (claim,) = [claim for claim in CLAIMS if claim["what"] == f"lines of {what}"]
        assert claim["value"] == str(len(lines)), program


def test_a_perplexity_is_that_of_its_nats_per_word():
    # the cell "−5.109 in [−5.127, −5.100] (165)": a log-likelihood per word and e^(−it)
    cell = r"−([\d.]+)(?: in \[[^\]]*\])? \((\d+)\)"
    cells = re.findall(cell, TEXTS["docs/words.md"])
    assert len(cells) > 8
    for nats, perplexity in cells:
        low, high = (2.718281828 ** (float(nats) + d) for d in (-0.0006, 0.0006))
        assert round(low) <= int(perplexity) <= round(high), (nats, perplexity)


def measured(name):
    record = json.loads((ROOT / "docs" / "measured" / f"{name}.json").read_text())
    assert {"program", "date", "computer", "versions"} <= record.keys()
    assert (ROOT / record["program"]).exists()
    return record["records"]


def test_the_mnist_table_is_that_of_the_records():
    for record in measured("mnist"):
        score = record["test"]
        value, low, high = (
            f"{score[key]:.2f}".replace("-", "−") for key in ("value", "below", "above")
        )
        row = rf"\| {record['updates']:,}[^|]*\| {record['seconds']:,} s \| \**{value}\** \|"
        row += rf" {low} to {high} \| {'yes' if score['converged'] else 'no'} \|"
        assert re.search(row, TEXTS["docs/results.md"]), record


def minus(*values):
    return [f"{value:.2f}".replace("-", "−") for value in values]


def test_the_tables_of_rows_of_0_and_1_are_those_of_the_records():
    details = TEXTS["docs/decisions/measured_in_detail.md"]
    for record in measured("density"):
        default = record["default"]
        cells = f"{record['set']}: {record['rows']:,} × {record['columns']}"
        value, low, high = minus(*(default[end] for end in ("value", "low", "high")))
        others = " | ".join(minus(record["independent"], record["tree"]))
        times = f"{record['seconds']} + {record['scoring']}"
        assert f"| {cells} | {others} | **{value}** [{low}, {high}] | {times} |" in details, record
        if "hidden tree" in record:
            peers = minus(record["hidden tree"]["value"], record["scikit-learn"]["value"])
            row = f"| {cells} | **{value}** | {record['seconds']} | {' | '.join(peers)} |"
            assert row in TEXTS["docs/results.md"], record
    for record in measured("obvious"):
        cells = rf"\| {record['set']}: {record['rows']:,} × {record['columns']}"
        others = minus(*(record[name] for name in ("independent", "tree", "mixture")))
        (value,) = minus(record["default"]["value"])
        above, low, high = minus(*(record["above"][end] for end in ("value", "low", "high")))
        row = "".join(rf" \| (\*\*)?{other}(\*\*)?" for other in [*others, value])
        assert re.search(rf"{cells}{row}[^|]*\| {above} \[{low}, {high}\] \|", details), record


def test_the_table_of_tables_is_that_of_the_records():
    for record in measured("tables"):
        row = rf"\| {record['set']}, {record['seeds']} seeds?"
        for model in ("independent", "tree", "copula", "mixture", "default"):
            value = minus(record[model])[0] if model in record else ""
            row += rf" \| (\*\*)?{value}(\*\*)?"
        above, low, high = minus(*(record["above"][end] for end in ("value", "low", "high")))
        row += rf" \| {above} \[{low}, {high}\] \|"
        row = row.replace(r" \| (\*\*)?(\*\*)? ", r" \| ")
        assert re.search(row, TEXTS["docs/decisions/measured_in_detail.md"]), record


def test_the_table_of_speeds_is_that_of_the_records():
    for record in measured("race"):
        speed = record["per_second"]
        cells = [record["workload"], f"{speed:,.0f}" if speed >= 100 else f"{speed:.1f}"]
        for kind in ("package", "loop"):
            best = record[kind]
            cells.append("none" if best is None else f"**{best['ratio']:.2f}** ({best['name']})")
        cells.append("" if record["ceiling"] is None else f"{100 * record['ceiling']:.0f} %")
        row = " ".join(f"| {' | '.join(cells)} |".split())
        assert row in TEXTS["docs/decisions/speed_in_detail.md"], record


def test_the_table_of_speeds_in_keras_is_that_of_the_records():
    shown = {
        "Keras interface, no metrics": "the Keras interface, on TensorFlow",
        "TensorFlow loop by hand": "a hand-written TensorFlow loop",
        "hm.fit": "`hm.fit`",
    }
    large, small = (record["contestants"] for record in measured("keras_throughput"))
    rows = ["|---|---|---|"]
    for contestant, title in shown.items():
        cells = [title]
        for speed in (large[contestant], small[contestant]):
            ratio = "1" if contestant == "hm.fit" else f"{speed['ratio_to_core']:.2f}"
            three_digits = float(f"{speed['rows_per_second']:.3g}")
            cells.append(f"{three_digits:,.0f} ({ratio})")
        rows.append(f"| {' | '.join(cells)} |")
    assert " ".join(rows) in TEXTS["docs/keras.md"]


def test_the_table_of_penalties_is_that_of_the_records():
    rows = ["|---|---|---|---|"]
    for record in measured("penalties"):
        name = record["penalty"]
        cells = [name if name == "none" else f"`{name}`"]
        cells.append(f"{100 * record['weights at 0']:.0f} %" if record["weights at 0"] else "0")
        cells += minus(record["training"], record["held out"])
        rows.append(f"| {' | '.join(cells)} |")
    assert " ".join(rows) in TEXTS["docs/practice.md"]


def test_the_table_of_growth_is_that_of_the_records():
    for record in measured("growth"):
        times = record["milliseconds"]
        factors = ("0.25", "0.5", "1", "2", "4", "8", "16")
        cells = [f"{times[factor]:.2f}" if factor in times else "" for factor in factors]
        row = " ".join(f"| {record['size']} | {' | '.join(cells)} |".split())
        assert row in TEXTS["docs/decisions/speed_in_detail.md"], record


def test_the_table_of_methods_is_that_of_the_records():
    for record in measured("choosing"):
        row = rf"\| {record['method']} "
        for cell in record["log_likelihood"].values():
            if "why" in cell:
                row += rf"\| ({cell['why']}|–) "
            else:
                spread = "" if cell["spread"] is None else f" ± {cell['spread']:.2f}"
                row += rf"\| −{-cell['mean']:.2f}{spread}( \([^)]*\))? "
        assert re.search(row + r"\|", TEXTS["docs/decisions/measured_in_detail.md"]), record


def test_the_table_of_bars_is_that_of_the_records():
    shown = {"FPCD-1": "fast PCD-1", "PT-1": "PT-1, 8 models", "PTT-1": "PTT-1, 8 models"}
    of_rate = {(record["method"], record["rate"]): record for record in measured("bars")}
    for method in {method for method, _ in of_rate}:
        low = of_rate[method, 0.01]
        high = of_rate[method, 0.1]
        ends = [low["end"], high["highest"], high["end"]]
        slow, best, end = (f"−{-mean:.2f} ± {error:.2f}" for mean, error in ends)
        row = f"| {shown.get(method, method)} | {slow} | {best} | {high['at']:,} | {end} |"
        assert row in TEXTS["docs/decisions/measured_in_detail.md"], row


def test_the_table_of_a_gpu_is_that_of_the_records():
    records = json.loads((ROOT / "docs" / "measured" / "gpu.json").read_text())
    text = TEXTS["docs/benchmarks.md"]
    small, wide = records["race"]
    assert (
        f"| harmonium, updates a second | {small['per_second']:,} | {wide['per_second']:,} |"
        in text
    )
    for name in ("CUDA graph, bfloat16", "CUDA graph"):
        cells = []
        for record in (small, wide):
            contestant = record["contestants"][name]
            interval = f"{contestant['lowest']:.2f} – {contestant['highest']:.2f}"
            cells.append(f"{contestant['ratio']:.2f} ({interval})")
        assert " | ".join(cells) in text, name
    ratios = [record["contestants"]["rbms"] for record in (small, wide)]
    cells = [f"{r['ratio']:.0f} ({r['lowest']:.0f} – {r['highest']:.0f})" for r in ratios]
    assert f"| times as fast as rbms | {' | '.join(cells)} |" in text
    long = records["mnist"][1]
    assert f"{long['updates']:,} updates take **{long['seconds']:.1f} seconds**" in text


def test_the_tables_of_scaling_are_those_of_the_record(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    page = importlib.import_module("scaling_page")
    record = json.loads((ROOT / "docs" / "measured" / "scaling.json").read_text())
    text = (ROOT / "docs" / "decisions" / "scaling.md").read_text("utf-8")
    assert measured("scaling") == record["records"]
    assert page.predictions(record) == record["predictions"]
    for name, table in page.tables(record).items():
        assert f"<!-- measured: {name} -->\n{table}\n" in text, name


def test_the_table_of_deep_models_is_that_of_the_records():
    for record in measured("deep"):
        cells = [f"{record['set']}: {record['rows']:,} × {record['columns']}"]
        for model in ("RBM", "DBM", "DBN"):
            score = record[model]
            value, low, high = minus(*(score[end] for end in ("value", "low", "high")))
            doubt = "" if score.get("converged", True) else ", not converged"
            units = " and ".join(map(str, score["hidden"]))
            cells.append(f"{value} [{low}, {high}]{doubt} ({units})")
        assert f"| {' | '.join(cells)} |" in TEXTS["docs/deep.md"], record


def test_the_errors_after_fine_tuning_are_those_of_the_records():
    titles = {
        "random": "random weights",
        "belief": "deep belief network",
        "machine": "deep Boltzmann machine",
    }
    rows = ["|---|---|---|"]
    for record in measured("fine_tuning"):
        layers = "–".join(map(str, (784, *record["sizes"])))
        cells = [titles[record["start"]], layers, f"{100 * record['error']:.2f} %"]
        rows.append(f"| {' | '.join(cells)} |")
    assert " ".join(rows) in TEXTS["docs/deep.md"]


def test_the_table_of_filters_is_that_of_the_records():
    page = TEXTS["docs/images.md"]
    records = measured("filters")
    for record in records:
        low, high = minus(record["low"], record["high"])
        ends = low if low == high else f"{low} to {high}"
        cells = [record["model"], f"{record['parameters']:,}", f"{record['hidden']:,}", ends]
        cells.append("yes" if record["converged"] else "no")
        assert (f"| {' | '.join(cells)} |" in page) == (record["set"] == "images"), record
    alignment = {r["model"]: minus(r["value"])[0] for r in records if r["set"] == "alignment"}
    words = f"16 filters of 8 sites reach {alignment['16 filters of 8, stride 1']} nats"
    words += f", 10 dense hidden units {alignment['dense 10']} and 200 of them"
    assert f"{words} {alignment['dense 200']}" in page


def test_the_figures_of_series_are_those_of_the_records():
    page = TEXTS["docs/conditional.md"]
    chain, text = (
        {r["model"]: minus(r["log p"])[0] for r in measured("series") if r["series"] == name}
        for name in ("chain", "text")
    )
    assert f"log p of the next row is {chain['conditional RBM']} nats" in page
    assert f"(without hidden units {chain['no hidden units']}; one" in page
    assert f"for each spin {chain['autoregression']}; an RBM" in page
    ends = f"without the past {chain['static RBM']}; the chain itself {chain['the chain itself']})"
    assert ends in page
    assert text["conditional RBM"] == text["autoregression"]
    assert f"(both {text['conditional RBM']};" in page


def test_the_table_of_deep_machines_is_that_of_the_records():
    titles = {
        "kept": "small weights, kept states",
        "mean-field": "small weights",
        "doubled": "doubled",
        "deepened": "a trained RBM",
    }
    rows = ["|---|---|---|---|---|---|"]
    for record in measured("deep_mnist"):
        value, low, high = minus(*(record[end] for end in ("value", "low", "high")))
        bounds = minus(record["bound"], record["bound of all"])
        below = str(record.get("epochs below", "–"))
        cells = [titles[record["run"]], below, f"{record['updates']:,}", f"{value} [{low}, {high}]"]
        rows.append(f"| {' | '.join([*cells, *bounds])} |")
    assert " ".join(rows) in TEXTS["docs/deep.md"]


def test_the_table_of_clusters_is_that_of_the_records():
    starts = {"small random weights": "small random weights", "rank=1": "`rank=1`"}
    rows = ["|---|---|---|---|---|---|"]
    for record in measured("clusters"):
        settled = "never" if record["settled"] is None else f"{record['settled']:,}"
        masses = [f"{record[place]:.3f}" for place in ("in chains", "in model")]
        cells = [starts[record["start"]], record["method"], settled, *masses]
        rows.append(f"| {' | '.join([*cells, minus(record['nats'])[0]])} |")
    assert " ".join(rows) in TEXTS["docs/practice.md"]
