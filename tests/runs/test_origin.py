"""Which files a run folder that comes from others can make a command read and show."""

import json
import shutil
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

import harmonium as hm
from harmonium.runs.compare import compare
from harmonium.runs.display import Display, PatientConsole
from harmonium.runs.evaluate import EvaluationConfig, evaluate
from harmonium.runs.folder import RunFolder
from harmonium.runs.report import report
from harmonium.runs.rows import own_rows
from harmonium.runs.sample import picture_shape
from harmonium.runs.train import resume, train
from harmonium.runs.train_options import RunConfig

QUIET = Display(PatientConsole(file=StringIO()))
COMMANDS = {
    "report": lambda source: report("theirs", None, QUIET, source),
    "evaluate": lambda source: evaluate(
        EvaluationConfig(run="theirs", quick=True, source=source), QUIET
    ),
    "compare": lambda source: compare(["theirs", "theirs-2"], None, source),
    "resume": lambda source: resume("theirs", 2, QUIET, source=source),
}


def table(word, number, rows=60):
    """Return a CSV of words and numbers."""
    draw = np.random.default_rng(number)
    cells = zip(draw.choice([f"{word}1", f"{word}2"], rows), draw.normal(size=rows), strict=True)
    return "name,size\n" + "".join(f"{name},{size:.3f}\n" for name, size in cells)


@pytest.fixture(scope="module")
def source_run(tmp_path_factory):
    """Return a folder with a run on a table, and another file."""
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        Path("own.csv").write_text(table("own", 0))
        Path("secret.csv").write_text(table("own", 1))
        np.save("bits.npy", np.random.default_rng(0).integers(0, 2, (60, 8, 2)))
        options = {"source": "own.csv", "hidden": 2, "epochs": 1, "validation": 0.2}
        train(RunConfig(**options), "run", False, QUIET)
        train(RunConfig(**(options | {"source": "bits.npy"})), "bits", False, QUIET)
    return folder


@pytest.fixture(autouse=True)
def theirs(source_run, tmp_path, monkeypatch):
    """Copy the run into an empty folder as one that somebody else has sent."""
    monkeypatch.chdir(tmp_path)
    for name in ("own.csv", "secret.csv", "bits.npy"):
        shutil.copy(source_run / name, name)
    for name in ("theirs", "theirs-2"):
        shutil.copytree(source_run / "run", name)
        changed(name, folder=str(tmp_path))
    shutil.copytree(source_run / "bits", "bits")
    changed("bits", folder=str(tmp_path))


def changed(run, **options):
    file = Path(run, "config.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | options))


@pytest.mark.parametrize("name", COMMANDS)
def test_a_run_on_a_file_of_the_user_needs_no_word(name):
    COMMANDS[name](None)


@pytest.mark.parametrize("name", COMMANDS)
def test_another_file_is_not_used(name):
    for run in ("theirs", "theirs-2"):
        changed(run, source=str(Path("secret.csv").absolute()))
    with pytest.raises(hm.InputError, match="got other rows"):
        COMMANDS[name](None)
    assert not [page for page in Path().rglob("*.html") if "secret" in page.read_text("utf-8")]


@pytest.mark.parametrize("name", COMMANDS)
def test_without_hashes_only_a_file_that_the_user_names_is_used(name):
    for run in ("theirs", "theirs-2"):
        Path(run, "rows.json").unlink()
    with pytest.raises(hm.InputError, match=r"run.s folder; got none.*--source own\.csv"):
        COMMANDS[name](None)
    shutil.move("own.csv", "moved.csv")
    COMMANDS[name]("moved.csv")


@pytest.mark.parametrize("part", ["train", "validation"])
def test_each_part_of_the_rows_has_its_hash(part):
    """Who knows one row of a file must not get the others, as held-out rows."""
    known = json.loads(Path("theirs/rows.json").read_text())
    del known[part]
    Path("theirs/rows.json").write_text(json.dumps(known))
    with pytest.raises(hm.InputError, match="got other rows"):
        own_rows(RunFolder("theirs"))


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"train": 5}', '{"validation": "ab"}'])
def test_a_damaged_file_of_hashes_is_none(content):
    Path("theirs/rows.json").write_text(content)
    with pytest.raises(hm.InputError, match=r"other rows|--source"):
        own_rows(RunFolder("theirs"))


def test_names_of_columns_do_not_come_from_a_file_either():
    Path("theirs/columns.json").unlink()
    with pytest.raises(hm.InputError, match="expected the rows that theirs began with"):
        own_rows(RunFolder("theirs"))


def test_rows_in_the_folder_of_the_run_are_its_own():
    shutil.copy("own.csv", "theirs/own.csv")
    Path("theirs/rows.json").unlink()
    changed("theirs", source="theirs/own.csv")
    assert len(own_rows(RunFolder("theirs")).parts) == 2
    Path("theirs/own.csv").unlink()
    Path("theirs/own.csv").symlink_to(Path("own.csv").absolute())
    with pytest.raises(hm.InputError, match="--source"):
        own_rows(RunFolder("theirs"))


def test_a_picture_takes_no_shape_from_an_unknown_file():
    assert picture_shape("bits", 16) == (8, 2)
    Path("bits/rows.json").unlink()
    assert picture_shape("bits", 16) == (4, 4)


def test_a_run_knows_the_shape_of_its_pictures_without_its_source():
    Path("bits.npy").unlink()
    assert picture_shape("bits", 16) == (8, 2)
    known = json.loads(Path("bits/rows.json").read_text())
    assert known["counts"] == {"train": 48, "validation": 12}
    Path("bits/rows.json").write_text(json.dumps(known | {"image_shape": [3, 3]}))
    assert picture_shape("bits", 16) == (4, 4)  # no picture of 16 pixels


def test_a_folder_of_an_earlier_version_has_hashes_only():
    known = json.loads(Path("bits/rows.json").read_text())
    del known["counts"], known["image_shape"]
    Path("bits/rows.json").write_text(json.dumps(known))
    assert picture_shape("bits", 16) == (8, 2)
    assert set(own_rows(RunFolder("bits")).parts) == {"train", "validation"}


def test_a_built_in_set_needs_no_hash():
    train(RunConfig(source="bars", hidden=2, epochs=1), "built-in", False, QUIET)
    Path("built-in/rows.json").unlink()
    assert own_rows(RunFolder("built-in")).name == "bars"


def test_a_source_is_named_once():
    with pytest.raises(hm.InputError, match="--source: expected"):
        EvaluationConfig(run="theirs", data="own.csv", source="own.csv")
