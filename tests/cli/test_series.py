"""Tables with given columns, and series: from a file to a forecast."""

import contextlib
import csv
import io
import json

import numpy as np
import pytest

import harmonium as hm
from answers import strict
from harmonium.cli import main

QUICK = "--hidden 4 --batch 50 --epochs 60"


def written(path, rows=160):
    """Write a series: dates, an autoregression, a word that follows it, and a count."""
    rng = np.random.default_rng(0)
    x = 0.0
    with path.open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["day", "x", "mood", "count"])
        for day in range(rows):
            date = np.datetime64("2024-01-01") + day
            mood = "high" if rng.random() < 1 / (1 + np.exp(-3 * x)) else "low"
            lines.writerow([date, f"{x:.3f}", mood, rng.poisson(np.exp(0.4 * x))])
            x = 0.8 * x + 0.4 * rng.normal()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run on the series, which tests must not change, and what it printed."""
    folder = tmp_path_factory.mktemp("series")
    written(folder / "series.csv")
    out = io.StringIO()
    inside = contextlib.chdir(folder)
    with inside, contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        main(f"train series.csv --past 2 {QUICK} --out run".split())
    assert not ended.value.code
    return folder, out.getvalue()


def succeeded(ending):
    assert ending.status == 0, ending.err
    return ending.out


def refused(ending):
    assert ending.status == 2
    assert len(ending.err.splitlines()) == 1
    return ending.err


def test_the_past_is_given(finished):
    folder, said = finished
    columns = hm.tables.load_columns(folder / "run")
    assert columns.past == 2
    assert columns.given == tuple(f"{n}_lag{i}" for i in (2, 1) for n in ("x", "mood", "count"))
    rbm = hm.load(folder / "run")
    assert isinstance(rbm.visible, hm.Conditional)
    assert len(rbm.visible.given) == 6
    assert "blocks of successive rows" in said
    assert "the dates of a series" in said
    table = hm.open_source(str(folder / "series.csv"), past=2)
    assert table.train.shape == (158, 9)
    lagged = dict(zip([part.name for part in table.columns.modelled], table.train.T, strict=True))
    np.testing.assert_array_equal(lagged["x_lag1"][1:], lagged["x"][:-1])
    np.testing.assert_array_equal(lagged["mood_lag2"][2:], lagged["mood"][:-2])


def test_the_commands_work_on_a_series(finished, cli, monkeypatch):
    folder, _ = finished
    monkeypatch.chdir(folder)
    out = succeeded(cli("score", "series.csv", "run", "--json"))
    scores = strict(out)
    assert scores["rows"] == 158
    assert "lag" not in json.dumps(scores["least_probable"])
    columns = strict(succeeded(cli("evaluate", "run", "--quick", "--json")))["columns"]
    assert "mood" in json.dumps(columns)
    assert "mood_lag1" not in json.dumps(columns)
    out = succeeded(cli("forecast", "run", "--steps", "3", "--draws", "20", "--json"))
    forecast = strict(out)
    assert [row["step"] for row in forecast["expected"]] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    for row in forecast["expected"]:
        if row["name"] == "mood":
            assert row["value"] in ("high", "low")
        else:
            assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
    out = succeeded(cli("forecast", "run", "series.csv", "--steps", "2", "--out", "futures.csv"))
    assert "intervals hold 90 %" in out
    with (folder / "futures.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 400
    assert set(rows[0]) == {"draw", "step", "x", "mood", "count"}
    succeeded(cli("report", "run"))


def test_given_columns_of_a_table(tmp_path, cli):
    written(tmp_path / "table.csv")
    out = succeeded(
        cli("train", "table.csv", "--given", "x", "--drop", "day", *QUICK.split(), "--out", "run")
    )
    assert "given 1 of 3 units" in out
    for command in (["ask", "run", "mood"], ["ask", "run", "mood | count=1"]):
        err = refused(cli(*command))
        assert "a value of each given column after the bar; got none of x" in err
    assert "--given: expected a value of each given column" in refused(cli("sample", "run"))
    drawn = succeeded(cli("sample", "run", "--given", "x=1", "--count", "5"))
    assert len(drawn.splitlines()) == 6
    assert "high" in succeeded(cli("ask", "run", "mood | x=1"))
    err = refused(cli("forecast", "run"))
    assert "expected a run on a series" in err


def test_plain_numbers_may_be_a_series(tmp_path, cli):
    rows = np.random.default_rng(0).integers(0, 2, (120, 3))
    np.save("spikes.npy", rows)
    out = succeeded(cli("train", "spikes.npy", "--past", "2", *QUICK.split(), "--out", "run"))
    assert "Conditional(Bernoulli(9), given 6 of 9 units)" in out


def test_groups_trees_and_streams(tmp_path, cli):
    """The given columns of 0/1 rows stay given whatever the visible layer becomes."""
    rng = np.random.default_rng(0)
    np.save("bits.npy", np.eye(3, dtype=int)[rng.integers(0, 3, 200)])
    out = succeeded(cli("train", "bits.npy", "--past", "1", *QUICK.split(), "--out", "run"))
    assert "Conditional(Exclusive(6" in out
    tree = ("--past", "1", "--visible", "tree")
    out = succeeded(cli("train", "bits.npy", *tree, *QUICK.split(), "--out", "tree"))
    assert "Conditional(Tree(6" in out
    err = refused(cli("train", "bits.npy", "--past", "1", "--window", "100", "--out", "stream"))
    assert "no --given or --past" in err


def test_several_real_targets(tmp_path, cli):
    """Two real targets have a covariance, which training whitens."""
    rng = np.random.default_rng(0)
    kinds = rng.choice(["a", "b"], 120)
    numbers = rng.normal(size=(120, 2)) + (kinds == "a")[:, None]
    rows = [f"{kind},{x:.3f},{y:.3f}" for kind, (x, y) in zip(kinds, numbers, strict=True)]
    (tmp_path / "table.csv").write_text("\n".join(["kind,x,y", *rows]) + "\n")
    out = succeeded(cli("train", "table.csv", "--given", "kind", *QUICK.split(), "--out", "run"))
    assert "MultivariateGaussian(2)" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--past", "500"], "more than 500 rows"),
        (["--past", "-1"], "--past"),
        (["--given", "y"], "given columns among day, x, mood, count"),
        (["--given", "x", "--given", "mood", "--given", "count", "--given", "day"], "at least one"),
    ],
)
def test_bad_options_are_named(tmp_path, cli, options, message):
    written(tmp_path / "table.csv")
    err = refused(cli("train", "table.csv", *options, "--out", "run"))
    assert message in err
    assert not (tmp_path / "run").exists()


def test_an_empty_given_cell_is_named(tmp_path, cli):
    written(tmp_path / "table.csv")
    lines = (tmp_path / "table.csv").read_text().splitlines()
    cells = lines[5].split(",")
    lines[5] = ",".join([cells[0], "", *cells[2:]])
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    err = refused(cli("train", "table.csv", "--given", "x", "--out", "run"))
    assert "got none in column 'x' of row 5" in err


def cut(lines, path, *, at=None, head=None, empty=None):
    """Write some lines of a series to a file, perhaps with an empty cell of x in one of them."""
    chosen = lines[: at and 1 + at] if head is None else [lines[0], *lines[-head:]]
    if empty is not None:
        cells = chosen[empty].split(",")
        chosen[empty] = ",".join([cells[0], "", *cells[2:]])
    path.write_text("\n".join(chosen) + "\n")


def test_a_forecast_needs_the_last_rows_alone(finished, tmp_path, cli):
    folder, _ = finished
    lines = (folder / "series.csv").read_text().splitlines()
    run = str(folder / "run")

    def forecast(path):
        return cli("forecast", run, str(path), "--steps", "2", "--json")

    whole = strict(succeeded(forecast(folder / "series.csv")))
    cut(lines, tmp_path / "two.csv", head=2)
    two = strict(succeeded(forecast(tmp_path / "two.csv")))
    assert two["expected"] == whole["expected"]
    cut(lines, tmp_path / "one.csv", head=1)
    assert "at least 2 rows, from which" in refused(forecast(tmp_path / "one.csv"))
    cut(lines, tmp_path / "gap.csv", head=3, empty=3)
    assert "empty cell in column 'x' of row 3" in refused(forecast(tmp_path / "gap.csv"))
    cut(lines, tmp_path / "earlier.csv", head=3, empty=1)
    succeeded(forecast(tmp_path / "earlier.csv"))
    other = [",".join(line.split(",")[:2]) for line in lines]
    (tmp_path / "other.csv").write_text("\n".join(other) + "\n")
    err = refused(forecast(tmp_path / "other.csv"))
    assert "the columns of the series (x, mood, count); got no column 'mood'" in err


def test_rows_after_an_empty_cell_are_left_out(finished, tmp_path, cli):
    folder, _ = finished
    lines = (folder / "series.csv").read_text().splitlines()
    cut(lines, tmp_path / "series.csv", empty=11)
    table = hm.open_source(tmp_path / "series.csv", past=2)
    assert "2 rows left out, since a cell of the rows before is empty" in " ".join(table.notes)
    assert table.train.shape[0] == 156
    succeeded(cli("score", "series.csv", str(folder / "run"), "--out", "scores.csv"))
    with (tmp_path / "scores.csv").open(newline="") as file:
        numbers = [int(float(row["row"])) for row in csv.DictReader(file)]
    assert numbers == [n for n in range(3, 161) if n not in (12, 13)]


def test_dates_of_a_series_run_forward(tmp_path, cli):
    days = np.arange("2024-01-01", "2024-04-01", dtype="datetime64[D]")
    rows = [f"{day},{i * 7 % 10 / 3:.3f}" for i, day in enumerate(days)]
    files = {
        "forward": rows,
        "backward": rows[::-1],
        "gap": rows[:40] + rows[45:],
        "dates": [row.split(",")[0] for row in rows],
    }
    for name, lines in files.items():
        head = "date" if name == "dates" else "date,x"
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *lines]) + "\n")
    table = hm.open_source(tmp_path / "forward.csv", past=2)
    assert "differ from the usual" not in " ".join(table.notes)
    table = hm.open_source(tmp_path / "gap.csv", past=2)
    assert "1 of 85 steps between the dates in 'date' differ from the usual 1 days" in " ".join(
        table.notes
    )
    err = refused(cli("train", "backward.csv", "--past", "2", "--out", "run"))
    assert "in the order of time; got an earlier date in column 'date' of row 2 than before" in err
    born = [f"{row},{day}" for row, day in zip(rows, days[::-1], strict=True)]
    (tmp_path / "born.csv").write_text("\n".join(["date,x,born", *born]) + "\n")
    assert "differ" not in " ".join(hm.open_source(tmp_path / "born.csv", past=2).notes)
    err = refused(cli("train", "dates.csv", "--past", "2", "--out", "run"))
    assert "a column that can be modelled, besides dates; got only date" in err
    given = ["--given", "date", "--past", "2"]
    err = refused(cli("train", "forward.csv", *given, "--out", "run"))
    assert "which a series leaves out; got 'date'" in err


def test_two_values_have_a_probability(tmp_path, cli):
    rng = np.random.default_rng(0)
    wet = rng.random(120) < 0.3
    x = np.sin(np.arange(120) / 3) + 0.3 * rng.normal(size=120)
    lines = [f"{int(is_wet)},{number:.3f}" for is_wet, number in zip(wet, x, strict=True)]
    (tmp_path / "rain.csv").write_text("\n".join(["wet,x", *lines]) + "\n")
    options = ["--past", "1", "--hidden", "2", "--epochs", "2"]
    succeeded(cli("train", "rain.csv", *options, "--out", "run"))
    forecast = strict(succeeded(cli("forecast", "run", "--steps", "1", "--json")))
    wet, x = forecast["expected"]
    assert wet["value"] in ("0", "1")
    assert wet["probability"] >= 0.5
    assert wet["low"] is None
    assert x["probability"] is None


def test_a_column_without_a_unit_cannot_be_given(tmp_path, cli):
    rows = [f"{i % 3},{i % 7 / 2},same,{'ab'[i % 2]}" for i in range(60)]
    (tmp_path / "table.csv").write_text("\n".join(["x,y,const,label", *rows]) + "\n")
    err = refused(cli("train", "table.csv", "--given", "const", "--out", "run"))
    assert "got 'const', which is left out (always same)" in err
    both = ["--given", "label", "--label", "label"]
    err = refused(cli("train", "table.csv", *both, "--out", "run"))
    assert "either given or set aside" in err
    table = hm.open_source(tmp_path / "table.csv", given="label")
    assert table.columns.given == ("label",)
    assert table.labels is None
