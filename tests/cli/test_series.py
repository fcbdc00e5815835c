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
