"""The options of text files, in every command that reads a table."""

import contextlib
import csv
import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from answers import strict
from harmonium.cli import main
from harmonium.errors import InputError
from harmonium.runs.train_options import RunConfig

QUESTION = "In your opinion, which?"
SMALL = "--epochs 1 --hidden 2 --chains 20 --batch 30 --out run"
TOLD = ("--separator", "!", "--header", "2", "--missing", "unknown")


def rows():
    rng = np.random.default_rng(0)
    lines = []
    for i in range(60):
        answer = ["yes, both", "no"][rng.integers(2)]
        x = f"{rng.normal(3 if answer == 'no' else 6):.2f}"
        lines.append([answer, "unknown" if i % 9 == 0 else x, str(rng.integers(1, 4))])
    return lines


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A run on a table whose separator, names and missing cells were told."""
    folder = tmp_path_factory.mktemp("finished")
    with contextlib.chdir(folder), pytest.MonkeyPatch.context() as patch:
        patch.setattr("harmonium.runs.train.rows_to_show", lambda *_: None)
        patch.setattr("harmonium.runs.train.reported", lambda *given: given[2])
        lines = [[QUESTION, "x", "k|l"], *rows()]
        text = "My table\n" + "\n".join("!".join(line) for line in lines) + "\n"
        Path("odd.txt").write_text(text)
        with Path("usual.csv").open("w", newline="") as file:
            csv.writer(file).writerows(lines)
        with pytest.raises(SystemExit) as ended:
            main(["train", "odd.txt", *TOLD, *SMALL.split()])
        assert not ended.value.code
    return folder


@pytest.fixture
def run(finished, monkeypatch):
    monkeypatch.chdir(finished)


def test_a_run_keeps_how_its_file_is_read(run):
    config = RunConfig.read("run/config.json")
    stored = (config.header, config.separator, config.missing, config.skip)
    assert stored == (2, "!", ["unknown"], 0)
    assert "--header 2 --separator '!' --missing unknown" in config.command
    assert RunConfig.read("run/config.json") == config
    columns = json.loads(Path("run/columns.json").read_text())["columns"]
    assert [column["kind"] for column in columns] == ["category", "continuous", "discrete"]


def test_later_commands_read_as_the_run_did(run, cli):
    gaps = sum(row[1] == "unknown" for row in rows())
    assert f"x  {gaps} filled" in cli("impute odd.txt run --out new.csv --sweeps 5 --overwrite").out
    title, *filled = [line.split("!") for line in Path("new.csv").read_text().splitlines()]
    assert title == [QUESTION, "x", "k|l"]
    pairs = zip(chain(*rows()), chain(*filled), strict=True)
    assert all(a in (b, "unknown") for a, b in pairs)
    assert "unknown" not in Path("new.csv").read_text()
    assert strict(cli("score odd.txt run --json").out)["rows"] == 60
    assert strict(cli("evaluate run --quick --json").out)["status"] == "done"


def test_later_commands_read_as_they_are_told(run, cli):
    usual = ("--header", "1", "--separator", "comma")
    refused = cli("score", "usual.csv", "run")
    assert refused.status == 2
    assert strict(cli("score", "usual.csv", "run", *usual, "--json").out)["rows"] == 60
    scored = cli("evaluate", "run", "usual.csv", "--quick", "--json", *usual)
    assert strict(scored.out)["status"] == "done"
    drawn = cli("sample", "run", "-n", "1", "--sweeps", "5", "--given", "usual.csv", *usual)
    assert len(drawn.out.splitlines()) == 61
    filled = cli("impute", "usual.csv", "run", *usual, "--out", "c.csv", "--overwrite")
    assert filled.status == 0
    assert Path("c.csv").read_text().startswith(f'"{QUESTION}",x,k|l\n')


def test_info_reads_a_file_as_told(run, cli):
    description = cli("info", "odd.txt", *TOLD).out
    assert f"{QUESTION}  category" in description
    assert "15% missing" in description or "12% missing" in description
    left = cli("info", "odd.txt", "--separator", "!", "--skip", "2", "--header", "none").out
    assert "60 rows × 3 columns" in left
    assert "column 3" in left


def test_names_and_values_of_questions_are_quoted(run, cli):
    given = f'"{QUESTION}"="yes, both"'
    answer = cli("ask", "run", f'"k|l" | {given}', "--sweeps", "10").out
    assert answer.startswith("k|l (")
    drawn = cli("sample", "run", "-n", "3", "--given", given, "--sweeps", "5").out
    assert drawn.count('"yes, both"') == 3
    refused = cli("ask", "run", QUESTION)
    assert "write it in quotes" in refused.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("info", "odd.txt", "--header", "x"), '--header: expected a whole number, or "none"'),
        (("info", "odd.txt", "--header", "0"), "--header: expected the number of the line"),
        (("train", "odd.txt", "--separator", "ab"), "--separator: expected one character"),
        (("train", "odd.txt", "--skip", "-1"), "--skip: expected a whole number of lines"),
        (("train", "odd.txt", "--missing", ""), "--missing: expected words"),
        (("train", "digits", "--skip", "1"), "digits: expected no header"),
        (("evaluate", "run", "--header", "1"), "--header: expected a text file as DATA; got none"),
        (("train", "*.npy", "--skip", "1"), "files that are read during training"),
    ],
)
def test_options_that_make_no_sense_are_one_line(run, cli, words, message):
    np.save("rows.npy", np.eye(4))
    before = sorted(Path().rglob("*"))
    ended = cli(*words)
    assert ended.status == 2
    assert message in ended.err
    assert ended.err.count("\n") == 1
    assert sorted(Path().rglob("*")) == before


def test_columns_are_named_in_quotes_for_kinds_too():
    from harmonium.cli.train import kinds_of_columns

    kinds = kinds_of_columns([f'"{QUESTION}"=category', "a=b=date"], ["x", '"c, d"'])
    left_out = {"x": "left out", "c, d": "left out"}
    assert kinds == {QUESTION: "category", "a=b": "date"} | left_out


def test_a_damaged_config_is_refused():
    for damage in ({"header": "second"}, {"separator": 5}, {"missing": 3}, {"skip": -1}):
        with pytest.raises(InputError):
            RunConfig(source="t.csv", **damage)
