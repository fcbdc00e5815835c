"""Runs whose files are damaged or belong to another run, and names that are no UTF-8."""

import json
import os
import random
import shutil
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

import harmonium as hm
from harmonium.errors import InputError, ModelFileError
from harmonium.runs.compare import compare
from harmonium.runs.contacts import contacts
from harmonium.runs.folder import RunFolder, check_target
from harmonium.runs.info import info
from harmonium.runs.prepare import prepare, shared_by_devices, usual_batch
from harmonium.runs.rows import own_rows
from harmonium.runs.schema import fits, record_from
from harmonium.runs.summaries import Summary
from harmonium.runs.train import resume, train
from harmonium.runs.train_options import RunConfig
from harmonium.runs.writing import check_target as check_file
from harmonium.tables.columns import entries_of
from runs.test_faults import Lines

SMALL = {"hidden": 3, "chains": 8, "batch": 8, "epochs": 2}


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_sources(folder: Path) -> None:
    rng = np.random.default_rng(0)
    words = rng.choice(["ann", "bob", "eve"], 60)
    numbers = rng.normal(size=60).round(2)
    pairs = zip(words, numbers, strict=True)
    folder.joinpath("t.csv").write_text("who,x\n" + "".join(f"{w},{x}\n" for w, x in pairs))
    sequences = ("".join(rng.choice(list("ACGU-"), 8)) for _ in range(40))
    folder.joinpath("f.fasta").write_text("".join(f">s{i}\n{s}\n" for i, s in enumerate(sequences)))
    np.save(folder / "b.npy", rng.integers(0, 2, (60, 4)))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder with a run on a table, one on an alignment, and one on plain rows."""
    folder = tmp_path_factory.mktemp("trained")
    write_sources(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for source in ("t.csv", "f.fasta", "b.npy"):
            train(RunConfig(source=source, **SMALL), source[0], False, Lines())
    return folder


def copied(trained: Path, name: str) -> Path:
    return Path(shutil.copytree(trained / name, name))


# --- records ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("updates", "14", "expected a whole number or null as updates; got '14'"),
        ("seconds", True, "expected a number or null as seconds; got True"),
        ("notes", {"a": 1}, "expected a list as notes; got an object"),
        ("notes", [1], "expected text as notes[0]; got 1"),
        ("message", None, "expected text as message; got None"),
        ("ensemble", {"mean": 1}, "expected a list as ensemble.models; got nothing"),
        ("log_likelihood", [1], "expected an object or null as log_likelihood; got a list"),
    ],
)
def test_a_field_of_another_type_is_named_with_its_file(trained, name, value, words):
    run = copied(trained, "b")
    summary = json.loads((run / "summary.json").read_text())
    (run / "summary.json").write_text(json.dumps(summary | {name: value}))
    advice = "remove the file, and score the run again with harmonium resume."
    with pytest.raises(ModelFileError) as error:
        RunFolder(run).summary()
    assert str(error.value) == f"{run / 'summary.json'}: {words}; {advice}"
    assert words in info(str(run))["state"]
    with pytest.raises(ModelFileError):
        compare([str(run), str(trained / "b")], None)


def test_fields_of_later_versions_are_passed_over_and_those_of_earlier_ones_have_defaults(trained):
    run = copied(trained, "b")
    written = json.loads((run / "summary.json").read_text())
    whole = RunFolder(run).summary()
    assert asdict(whole) | written == asdict(whole)
    for name in ("notes", "report", "samples_per_second", "seconds"):
        del written[name]
    written["log_z"]["later"] = written["later"] = {"any": [1]}
    (run / "summary.json").write_text(json.dumps(written))
    older = RunFolder(run).summary()
    assert (older.notes, older.seconds, older.log_z) == ([], None, whole.log_z)


@pytest.mark.parametrize("name", ["visible", "hidden_units", "alphabet", "folder", "groups"])
def test_an_option_of_another_type_is_named(trained, name):
    run = copied(trained, "b")
    options = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(options | {name: [1]}))
    with pytest.raises(ModelFileError, match=f"cannot be read .expected .* as {name}; got a lis"):
        RunFolder(run).config()


def test_types_are_told_apart_as_in_json():
    assert fits(3, float)
    assert not fits(3.0, int)
    assert not fits(True, int)
    assert not fits(float("nan"), float)
    assert fits({"a": [1, None]}, dict[str, list[int | None]])
    assert not fits({"a": ["1"]}, dict[str, list[int | None]])
    with pytest.raises(ModelFileError, match=r"it: expected an object; got \[\]; mend it\."):
        record_from(Summary, [], "it", "mend it")


# --- files that belong together ---------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "file", "other"),
    [
        ("t", "columns.json", "t"),
        ("t", "model.safetensors", "f"),
        ("f", "sites.json", "f"),
        ("f", "model.safetensors", "b"),
        ("b", "model.safetensors", "f"),
        ("b", "config.json", "b"),
    ],
)
def test_a_file_of_another_run_is_refused_with_the_names_of_both(trained, run, file, other):
    folder = copied(trained, run)
    content = (trained / other / file).read_bytes()
    if other == run:  # one that was changed
        record = json.loads(content)
        if file == "config.json":
            record["hidden"] = 7
        elif file == "columns.json":
            record["columns"] = record["columns"][:1]
        else:
            record["kept"] = record["kept"][1:]
        content = json.dumps(record).encode()
    (folder / file).write_bytes(content)
    with pytest.raises(InputError) as error:
        all_of(RunFolder(folder))
    message = str(error.value)
    assert "model.safetensors" in message
    assert any(f"{name}.json: expected " in message for name in ("columns", "sites", "config"))


def all_of(folder: RunFolder) -> None:
    """Read what commands read of a run."""
    own_rows(folder)
    folder.sites()


def test_a_damaged_model_does_not_keep_a_run_from_going_on(trained):
    run = copied(trained, "t")
    (run / "model.safetensors").write_bytes(b"damaged")
    assert RunFolder(run).columns() is not None


def test_a_score_of_rows_that_the_source_does_not_have_is_refused(trained):
    run = copied(trained, "b")
    summary = json.loads((run / "summary.json").read_text())
    summary["log_likelihood"]["rows"] = "test"
    (run / "summary.json").write_text(json.dumps(summary))
    with pytest.raises(ModelFileError, match=r"b/config\.json has; got a score of test rows"):
        compare([str(run), str(trained / "b")], None)


def test_an_alignment_of_few_sites_has_fewer_pairs_than_are_shown(trained):
    ranked = contacts(str(trained / "f"), None, None, 8.0, 4, False, Lines())
    assert ranked.pairs == len(ranked.best)


# --- what is written before it is drawn, and names ---------------------------------------


@pytest.mark.parametrize("place", ["rows_to_show", "write_report"])
def test_a_report_that_fails_loses_no_score(monkeypatch, place):
    np.save("b.npy", np.random.default_rng(0).integers(0, 2, (60, 4)))
    before = []

    def fail(*_):
        before.append(Path("run/summary.json").is_file())
        raise ValueError("cannot be drawn")

    monkeypatch.setattr(f"harmonium.runs.train.{place}", fail)
    lines = Lines()
    summary = train(RunConfig(source="b.npy", **SMALL), "run", False, lines)
    assert summary.status == "done"
    assert summary.log_likelihood is not None
    assert before == [place == "write_report"]
    assert lines.said[-1].startswith("  no report: an internal error: ValueError: cannot be drawn")
    assert RunFolder("run").summary().log_likelihood.value == summary.log_likelihood.value


@pytest.mark.skipif(os.name != "posix", reason="names are text elsewhere")
def test_names_that_are_no_utf_8_are_kept_as_they_are():
    source = os.fsdecode(b"b\xff.npy")
    out = os.fsdecode(b"o\xfe")
    try:
        np.save(source, np.random.default_rng(0).integers(0, 2, (60, 4)))
    except OSError:
        pytest.skip("this file system takes UTF-8 alone")
    summary = train(RunConfig(source=source, **SMALL), out, False, Lines())
    assert summary.status == "done"
    assert Path(summary.report).is_file()
    folder = RunFolder(out)
    assert (folder.config().source, folder.summary().run) == (source, out)
    assert own_rows(folder).parts
    hm.save(hm.load(out), os.fsdecode(b"m\xff.npz"))
    assert hm.load(os.fsdecode(b"m\xff.npz")).visible.size == 4


@pytest.mark.skipif(os.name != "posix", reason="links need rights elsewhere")
def test_places_that_cannot_be_written_to_are_refused():
    Path("link").symlink_to("nowhere")
    for name in ("link", "link/run"):
        with pytest.raises(InputError, match=f"{name}: .* got a link to nowhere, which does not"):
            check_target(Path(name), overwrite=True)
    Path("link.csv").symlink_to("nowhere.csv")
    with pytest.raises(InputError, match=r"remove the link link\.csv"):
        check_file("--out", "link.csv", (".csv", ".tsv"), True)
    for check in (lambda name: check_target(Path(name), overwrite=False), prepare_out):
        with pytest.raises(InputError, match="a name without the character NUL"):
            check("a\0b.csv")


def prepare_out(name: str) -> None:
    check_file("--out", name, (".csv", ".tsv"), False)


# --- defaults on several devices ----------------------------------------------------------


def test_defaults_are_numbers_that_the_devices_share(monkeypatch):
    np.save("b.npy", np.random.default_rng(0).integers(0, 2, (60, 4)))
    alone = prepare(RunConfig(source="b.npy", epochs=1)).config
    assert (alone.chains, alone.batch, alone.hidden) == (500, 200, 64)
    monkeypatch.setattr("harmonium.runs.prepare.size_of_axis", lambda axis: 8)
    assert (shared_by_devices(500, "data"), shared_by_devices(64, "hidden")) == (504, 64)
    assert [usual_batch(rows) for rows in (5, 8, 54, 10_000)] == [200, 8, 48, 200]
    monkeypatch.setattr("harmonium.runs.prepare.size_of_axis", lambda axis: 3)
    assert usual_batch(10_000) == 201


def test_a_damaged_file_of_a_run_is_read_or_refused(trained, monkeypatch):
    """A few of what `benchmarks/fuzz_records.py` draws by the thousand."""
    from hostile.records import damaged_file, ending_of

    rng = random.Random(0)
    shutil.copytree(trained, "all")
    monkeypatch.chdir("all")
    words = {"t": ["info"], "f": ["info"], "b": ["info", "compare"]}
    for _ in range(60):
        run = rng.choice(list(words))
        there = [p for p in Path(run).iterdir() if p.suffix in (".json", ".jsonl")]
        file = rng.choice(sorted(there))
        content = file.read_bytes()
        file.write_bytes(damaged_file(content, file.name, rng))
        command = rng.choice(words[run])
        ended = ending_of([command, run, *([str(trained / run)] if command == "compare" else [])])
        assert ended.status in (0, 2), (file, file.read_bytes(), ended)
        file.write_bytes(content)


@pytest.mark.parametrize("name", ["source", "columns", "groups", "folder", "label"])
def test_a_name_with_a_zero_byte_is_refused(name):
    with pytest.raises(InputError, match=rf"{name}: expected text without a zero byte"):
        RunConfig(**{"source": "t.csv", name: "a\0b"})


@pytest.mark.parametrize("entry", [{"name": [1]}, {"name": "x"}, {"kind": "key"}, {"kind": [1]}, 3])
def test_a_column_without_a_name_or_a_kind_is_refused(entry):
    with pytest.raises(InputError, match="expected an object"):
        entries_of({"columns": [entry]}, "columns.json")


# --- checkpoints ------------------------------------------------------------------------


@pytest.mark.parametrize(("value", "is_resumed"), [(-np.inf, True), (np.nan, False)])
def test_a_model_may_be_known_to_be_worse_than_any_but_not_to_be_no_number(
    trained, value, is_resumed
):
    """Where log Z is lost, the model before counts as −∞ if log Z may have been wrong before."""
    run = copied(trained, "b")
    checkpoint = run / "checkpoints" / "last.safetensors"
    with safe_open(checkpoint, "numpy") as file:
        header = json.loads(file.metadata()["harmonium"])
        state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    state[".held_out.earlier_value"] = np.full_like(state[".held_out.earlier_value"], value)
    del header["sha256"]  # which other arrays do not have
    save_file(state, checkpoint, {"harmonium": json.dumps(header)})
    checkpoint.with_name("previous.safetensors").unlink(missing_ok=True)
    if is_resumed:
        assert resume(run, 3, Lines()).status == "done"
    else:
        with pytest.raises(ModelFileError, match="values that are not finite"):
            resume(run, 3, Lines())
