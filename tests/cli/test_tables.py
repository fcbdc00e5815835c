"""From a table as people have it to its model, filled cells and new rows."""

import contextlib
import csv
import io
import json
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest

import harmonium as hm
from answers import strict
from harmonium.cli import main
from harmonium.likelihood.missing.marginal import Limits

RUN = "--hidden 4 --chains 20 --batch 50 --out run"


def written(path):
    """Write a table whose columns depend on each other, with gaps, a constant and an identifier."""
    rng = np.random.default_rng(0)
    lines = [["id", "species", "mass", "legs", "seen", "planet", "note"]]
    for i in range(120):
        is_cat = rng.random() < 0.5
        mass = f"{rng.normal(4 if is_cat else 3_000, 0.5 if is_cat else 300):.1f}"
        day = f"2024-0{1 + rng.integers(9)}-1{rng.integers(10)}"
        gap = rng.random() < 0.1
        row = [i + 1, "cat" if is_cat else "cow", "" if gap else mass, rng.integers(3, 5), day]
        lines.append([*row, "Earth", f"no. {i}"])
    with path.open("w", newline="") as file:
        csv.writer(file).writerows(lines)
    return lines


@pytest.fixture
def table(tmp_path):
    return written(tmp_path / "animals.csv")


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run on the table that has learned it, which tests must not change, and what it printed."""
    folder = tmp_path_factory.mktemp("finished")
    out = io.StringIO()
    written(folder / "animals.csv")
    inside = contextlib.chdir(folder)
    captured = contextlib.redirect_stdout(out)
    with inside, captured, pytest.raises(SystemExit) as ended:
        main(f"train animals.csv {RUN} --epochs 300".split())
    assert not ended.value.code
    return folder, out.getvalue()


def read(path):
    with Path(path).open(newline="") as file:
        return list(csv.reader(file))


@pytest.fixture
def run(finished, table):
    """A copy of the run beside the table, and what it printed."""
    folder, out = finished
    shutil.copytree(folder / "run", "run")
    return out


def test_what_was_inferred_is_printed_and_kept(run):
    for words in (
        "id       key         an identifier: it counts the rows",
        "species  category    cat, cow",
        "legs     discrete    3, 4",
        "seen     date        2024-",
        "planet   left out    always Earth",
        "note     key         an identifier: 120 different texts of one form",
    ):
        assert words in run
    assert "missing" in next(line for line in run.splitlines() if line.startswith("  mass"))
    columns = json.loads(Path("run/columns.json").read_text())["columns"]
    assert [column["name"] for column in columns] == [
        "id",
        "species",
        "mass",
        "legs",
        "seen",
        "planet",
        "note",
    ]
    assert "Columns: data beside samples" in Path("run/report.html").read_text()
    assert "missing values by annealing" in run or "exact" in run


def test_new_rows_look_like_those_of_the_table(cli, table, run):
    _, out, _ = cli("sample run -n 30 --sweeps 20 --out new.csv")
    assert "30 rows written to new.csv" in out
    names, *rows = read("new.csv")
    assert names == table[0]
    assert {row[1] for row in rows} <= {"cat", "cow"}
    assert {row[3] for row in rows} <= {"3", "4"}
    assert {row[5] for row in rows} == {"Earth"}
    assert [row[0] for row in rows] == [str(number) for number in range(121, 151)]
    assert [row[6] for row in rows] == [f"no. {number}" for number in range(120, 150)]
    assert all(len(row[4]) == 10 and row[4].startswith("2024-0") for row in rows)
    printed = cli("sample run -n 2 --sweeps 20 --given species=cat,legs=4").out.splitlines()
    assert [line.split(",")[1] + line.split(",")[3] for line in printed[1:]] == ["cat4"] * 2
    exact = cli("sample run -n 2 --sweeps 20 --given mass=3000.55").out.splitlines()
    assert [line.split(",")[2] for line in exact[1:]] == ["3000.55"] * 2
    assert (
        strict(cli("sample run -n 30 --sweeps 20 --json").out)["values"]["planet"] == ["Earth"] * 30
    )


def test_rows_are_drawn_within_told_ranges(cli, table, run):
    given = "mass=2000..3500,seen=2024-03-01..,species=cow"
    cli(f"sample run -n 40 --sweeps 20 --given {given} --out new.csv")
    names, *rows = read("new.csv")
    assert names == table[0]
    assert len(rows) == 40
    assert {row[1] for row in rows} == {"cow"}
    assert all(2000 <= float(row[2]) <= 3500 for row in rows)
    assert all(row[4] >= "2024-03-01" for row in rows)
    _, out, _ = cli("ask", "run", "species | mass=1000..", "--sweeps", "20")
    probability = {line.split()[0]: float(line.split()[1]) for line in out.splitlines()[1:]}
    assert probability["cow"] > 0.9


def test_unusual_rows_are_found_with_their_reasons(cli, table, run):
    odd = [list(row) for row in table]
    odd[7][1] = "cat"
    odd[7][2] = 3500
    with Path("odd.csv").open("w", newline="") as file:
        csv.writer(file).writerows(odd)
    _, out, _ = cli("score odd.csv run --out scores.csv --seed 1")
    assert "  row 7: " in out
    first = next(line for line in out.splitlines() if line.startswith("  row "))
    assert first.startswith("  row 7: ")
    assert "mass=3500" in first
    names, *rows = read("scores.csv")
    assert names == ["id", "note", "row", "log_p", "least_expected"]  # by which one finds it
    assert len(rows) == len(table) - 1
    assert min(rows, key=lambda row: float(row[3]))[2] == "7"
    scores = strict(cli("score animals.csv run --json").out)
    assert scores["rows"] == len(table) - 1
    assert len(scores["least_probable"]) == 10


def test_columns_are_predicted_from_the_others(cli, table, run):
    columns = strict(cli("evaluate run animals.csv --quick --json").out)["columns"]["columns"]
    by_name = {column["name"]: column for column in columns}
    assert list(by_name) == ["species", "mass", "legs", "seen"]
    assert by_name["species"]["correct"] > 0.9
    assert by_name["mass"]["log_p"] > by_name["mass"]["alone"]
    out = cli("evaluate run animals.csv --quick").out
    assert "given the others" in out


def test_hidden_units_are_told_in_words(cli, run):
    out = cli("info run").out
    assert "unit " in out
    assert "species c" in out


def test_missing_cells_are_filled_and_all_others_stay(cli, table, run):
    _, out, _ = cli("impute animals.csv run --out filled.csv")
    gaps = sum(row[2] == "" for row in table[1:])
    assert f"mass  {gaps} filled, standard deviation" in out
    filled = read("filled.csv")
    assert filled[0] == table[0]
    for old, new in zip(table[1:], filled[1:], strict=True):
        assert all(str(a) == b or a == "" for a, b in zip(map(str, old), new, strict=True))
        assert new[2] != ""
    cli("impute animals.csv run --out three.csv --draws 3")
    drawn = read("three.csv")
    assert drawn[0] == ["imputation", *table[0]]
    assert [row[0] for row in drawn[1:]] == ["1"] * 120 + ["2"] * 120 + ["3"] * 120
    assert (
        strict(cli("impute animals.csv run --out j.csv --json").out)["columns"][0]["missing"]
        == gaps
    )


def test_the_kind_of_guess_is_chosen(cli, table, run):
    filled = {}
    for guess in ("mean", "median", "mode", "draw"):
        assert cli(f"impute animals.csv run --out {guess}.csv --as {guess}").status == 0
        filled[guess] = read(f"{guess}.csv")
        assert len(filled[guess]) == len(table)
        assert filled[guess][0] == table[0]
        assert all(row[2] != "" for row in filled[guess][1:])
    assert filled["draw"] != filled["mean"]
    assert cli("impute animals.csv run --out m.csv -m 2").status == 0
    assert len(read("m.csv")) == 1 + 2 * (len(table) - 1)


def test_a_guess_that_is_unknown_or_does_not_fit_is_refused(cli, run):
    outcome = cli("impute animals.csv run --out x.csv --as best")
    assert outcome.status == 2
    assert "--as: expected one of mean, median, mode, draw; got 'best'" in outcome.err
    outcome = cli("impute animals.csv run --out x.csv --as median -m 3")
    assert outcome.status == 2
    assert "--as median: expected no --draws" in outcome.err
    assert not Path("x.csv").exists()


def test_cells_that_are_there_stay_as_they_stand(cli, table, run):
    """Digits, spaces, the mark of a missing cell and the separator are those of the file."""
    odd = [[*row] for row in table]
    odd[1][2] = "4.50"
    odd[2][2] = "3"
    odd[3][2] = " 5.0"
    odd[4][2] = "?"
    with Path("odd.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=";").writerows(odd)
    assert cli("impute odd.csv run --out filled.csv").status == 0
    before = Path("odd.csv").read_text()
    after = Path("filled.csv").read_text()
    for old, new in zip(before.splitlines(), after.splitlines(), strict=True):
        for a, b in zip(old.split(";"), new.split(";"), strict=True):
            assert a == b or (a in ("", "?") and float(b) > 0)
    assert cli("impute odd.csv run --out two.csv --draws 2").status == 0
    drawn = Path("two.csv").read_text().splitlines()
    assert len(drawn) == 1 + 2 * (len(odd) - 1)
    assert drawn[1] == "1;" + before.splitlines()[1]
    assert cli("impute odd.csv run --out filled.tsv").status == 0
    assert Path("filled.tsv").read_text().startswith("id\tspecies\t")


def test_columns_that_the_run_left_out_stay_as_they_are_and_are_named(cli, table, run):
    odd = [[*row, "TRUE" if i % 9 == 0 else ""] for i, row in enumerate(table)]
    odd[0][-1] = "internal"
    odd[1][2] = ""
    odd[2][5] = ""
    odd[3][6] = "NA"
    odd[4][0] = ""
    with Path("odd.csv").open("w", newline="") as file:
        csv.writer(file).writerows(odd)
    _, out, _ = cli("impute odd.csv run --out filled.csv")
    [line] = [line for line in out.splitlines() if line.startswith("not modelled")]
    for said in (
        "id (1 empty; an identifier: it counts the rows)",
        "planet (1 empty; always Earth)",
        "note (1 empty; an identifier: 120 different texts of one form)",
        f"internal ({120 - 120 // 9:,} empty; not a column of the run)",
    ):
        assert said in line
    before = read("odd.csv")
    after = read("filled.csv")
    changed = {
        place
        for old, new in zip(before, after, strict=True)
        for place, (a, b) in enumerate(zip(old, new, strict=True))
        if a != b
    }
    assert changed == {2}
    assert "not modelled" not in cli("impute animals.csv run --out f.csv").out


def test_a_question_is_answered(cli, run):
    _, out, err = cli("ask", "run", "species, mass | legs=4", "--sweeps", "50")
    assert err == ""
    lines = out.splitlines()
    assert lines[0].startswith("species (")
    shares = [float(line.split()[1]) for line in lines[1:3]]
    assert sum(shares) == pytest.approx(1.0, abs=2e-3)
    assert [line.split()[0] for line in lines[4:9]] == ["5%", "25%", "50%", "75%", "95%"]
    answers = strict(cli("ask run legs --json").out)["answers"]
    assert answers[0]["values"] == ["3", "4"]
    assert sum(answers[0]["shares"]) == pytest.approx(1.0)
    columns = hm.tables.load_columns("run")
    [answer] = hm.ask(hm.load("run"), columns, "legs", key=jax.random.key(0), sweeps=50)
    assert answer.shares == pytest.approx(answers[0]["shares"], abs=0.1)


def test_chains_that_have_not_converged_are_told(cli, run, monkeypatch):
    monkeypatch.setattr("harmonium.likelihood.missing.completing.sums_for", lambda *_: Limits(0, 0))
    monkeypatch.setattr("harmonium.samplers.population.ENOUGH_FAMILIES", 10_000)
    monkeypatch.setattr("harmonium.samplers.population.SHARE_OF_CHAINS", 10.0)
    monkeypatch.setattr("harmonium.likelihood.missing.completing.ROUNDS", 1)
    for command in (
        "ask run legs --sweeps 4",
        "sample run -n 3 --sweeps 4",
        "impute animals.csv run --out told.csv --overwrite --sweeps 4",
    ):
        done = cli(f"{command} --json")
        assert "harmonium: Not converged: " in done.err
        record = strict(done.out)
        record = record["answers"][0] if "answers" in record else record
        assert record["converged"] is False
        assert record["message"].startswith("Not converged: ")
        refused = cli(f"{command} --must-converge")
        assert (refused.status, refused.err) == (3, done.err)


def test_a_run_goes_on_and_is_scored_on_another_file(cli, table, run, no_report):
    again = cli("resume run --epochs 302 --json")
    assert strict(again.out)["status"] == "done"
    turned = [[row[j] for j in (3, 2, 1, 4, 5, 0, 6)] for row in table]  # order is repaired by name
    with Path("other.csv").open("w", newline="") as file:
        csv.writer(file).writerows(turned)
    first, other = (
        strict(cli(f"evaluate run {data} --quick --json --chains 64").out)["log_likelihood"][
            "value"
        ]
        for data in ("animals.csv", "other.csv")
    )
    assert first == pytest.approx(other, abs=0.2)


def test_kinds_can_be_told(cli, table, no_report, no_score):
    edited = {"columns": [{"name": "mass", "kind": "left out"}]}
    Path("mine.json").write_text(json.dumps(edited))
    options = "--as legs=continuous --drop seen --columns mine.json"
    ended = cli(f"train animals.csv {RUN} --epochs 2 {options}")
    kinds = {
        column["name"]: column
        for column in json.loads(Path("run/columns.json").read_text())["columns"]
    }
    assert kinds["legs"]["kind"] == "continuous"
    assert kinds["seen"]["kind"] == "left out"
    mass = next(line for line in ended.out.splitlines() if line.startswith("  mass"))
    assert mass.split()[1:7] == ["left", "out", "left", "out", "as", "requested"]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("train animals.csv --as legs", "--as: expected NAME=KIND; got 'legs'"),
        (
            "train animals.csv --as wings=discrete",
            "column 'wings': expected a column of animals.csv",
        ),
        ("train animals.csv --as species=date", "column 'species': expected dates; got words"),
        ("train animals.csv --columns no.json", "no.json: expected a readable file; got no such"),
        ("train animals.csv --visible potts", "expected a number in every cell with --visible"),
        ("impute animals.csv run --out filled.npy", "--out filled.npy: expected a name ending in"),
        (
            "impute fewer.csv run --out filled.csv",
            "fewer.csv: expected 4 columns, matched by name; got no",
        ),
        (
            "impute animals.csv model.npz --out f.csv",
            "model.npz: expected the folder of a run on a",
        ),
        ("sample run --given wings=2", "--given wings=2: expected NAME=VALUE with a name among"),
        ("sample run --given species=cat..cow", "expected a range of numbers or dates"),
        (
            "sample run --given mass=1e9.. -n 5 --sweeps 9",
            "the range of mass: expected 5 draws within it",
        ),
        ("score animals.csv run --out s.npy", "--out s.npy: expected a name ending in .csv or"),
        ("score animals.csv model.npz", "model.npz: expected the folder of a run on a"),
        ("score strange.csv run", "strange.csv: column 'species': expected one of the 2"),
        ("sample run --given species=dog", "expected one of: cat, cow; got 'dog' for 'species'"),
        ("ask run wings", "QUESTION: expected columns among"),
        ("ask run legs|legs=3", "expected different columns before and after the bar; got 'legs'"),
        ("ask model.npz legs", "model.npz: expected the folder of a run on a"),
        ("sample run --out new.npy", "--out new.npy: expected a name ending in .csv or .tsv"),
        ("evaluate run strange.csv", "strange.csv: column 'species': expected one of the 2"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(cli, run, command, message):
    Path("fewer.csv").write_text("mass,legs\n3.5,4\n,3\n")
    Path("strange.csv").write_text("species,mass,legs,seen\ndog,3.5,4,2024-01-01\ncat,4,3,\n")
    hm.save(hm.RBM.from_arrays(np.zeros((4, 2)), np.zeros(4), np.zeros(2)), "model.npz")
    before = sorted(Path().rglob("*"))
    status, _, err = cli(command)
    assert status == 2
    assert message in err
    assert err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before
