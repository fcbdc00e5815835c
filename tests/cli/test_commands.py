"""What every command does, prints and writes when nothing goes wrong."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import harmonium as hm
from answers import check_estimate, strict
from harmonium.cli import base
from harmonium.inference.sampling import DrawnRows

SMALL = "--hidden 4 --chains 8 --batch 8 --epochs 3"


# --- train ------------------------------------------------------------------------------


def test_train_leaves_a_whole_run_folder(cli, tmp_path):
    status, out, err = cli(f"train bars {SMALL}")
    assert (status, err) == (0, "")
    run = tmp_path / "runs" / "bars"
    inside = {"config.json", "metrics.jsonl", "model.safetensors", "rows.json"}
    inside |= {"summary.json", "report.html"}
    assert {path.name for path in run.iterdir()} == inside | {"checkpoints"}
    assert strict((run / "config.json").read_text())["hidden"] == 4
    records = [strict(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in records] == [1.0, 2.0, 3.0]
    assert {"update", "samples_per_second", "free_energy", "log_likelihood"} <= records[-1].keys()
    assert {"reconstruction", "pseudo_log_likelihood"} <= records[-1].keys()
    assert hm.load(run).hidden.size == 4
    assert "\x1b" not in out  # a pipe sees no colours
    assert "log-likelihood" in out
    assert "report    runs/bars/report.html\n" in out
    assert out.splitlines()[-1].split(maxsplit=1)[0] == "next"
    assert out.endswith("evaluate runs/bars\n")


def test_a_command_to_type_next_is_found_by_the_shell(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "harmonium"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(program)])
    monkeypatch.setenv("PATH", "/nowhere")
    assert base.typed("evaluate", "my run") == f"{program} evaluate 'my run'"
    monkeypatch.setenv("PATH", str(program.parent))
    assert base.typed("evaluate", "run") == "harmonium evaluate run"


def test_train_json_is_one_object_and_progress_is_on_standard_error(cli, no_report):
    status, out, err = cli(f"train bars {SMALL} --json")
    summary = strict(out)
    assert status == 0
    assert (summary["run"], summary["status"], summary["updates"]) == ("runs/bars", "done", 12)
    assert summary["samples_per_second"] > 0
    check_estimate(summary["log_z"])
    check_estimate(summary["log_likelihood"])
    assert summary["log_likelihood"]["n_rows"] == 32
    assert "epoch 3/3" in err
    assert summary == strict(Path("runs/bars/summary.json").read_text())


def test_the_score_of_a_run_is_that_of_its_model(cli, no_report):
    summary = strict(cli(f"train bars {SMALL} --json").out)
    exact = hm.log_likelihood(hm.load("runs/bars"), hm.data.bars_and_stripes())
    assert summary["log_likelihood"]["value"] == pytest.approx(exact.value, abs=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        "--method cd --k 2",
        "--method exact",
        "--lr 0.01 --seed 4294967295 --precision bfloat16",
        "--binarize none",
    ],
)
def test_train_takes_its_options(cli, no_report, options):
    status, out, _ = cli(f"train bars {SMALL} {options} --json")
    assert status == 0
    assert strict(out)["log_z"]["method"].startswith("exact")


def test_several_seeds_are_trained_side_by_side_and_their_mean_is_told(cli, no_report):
    status, out, _ = cli(f"train bars {SMALL} --ensemble 2")
    assert status == 0
    assert "2 models of RBM(" in out
    (line,) = [line for line in out.splitlines() if "mean of 2 models" in line]
    mean = strict(Path("runs/bars/summary.json").read_text())["ensemble"]["mean"]
    shown = f"{mean['value']:.3f} ± {mean['stderr_models']:.3f} (standard error over seeds)"
    assert shown.replace("-", "−") in line.replace("-", "−")
    assert hm.load("runs/bars").hidden.size == 4


def test_the_default_folder_is_the_next_free_one(cli, no_report, tmp_path):
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "bars-2").write_text("in the way")
    names = [strict(cli(f"train bars {SMALL} --json").out)["run"] for _ in range(3)]
    assert names == ["runs/bars", "runs/bars-3", "runs/bars-4"]


def test_overwrite_replaces_a_run_and_keeps_what_is_not_its_own(cli, no_report, trained):
    shutil.copytree(trained, "mine")
    Path("mine/notes.txt").write_text("keep me")
    Path("mine/report.html").write_text("of the older run")
    status, *_ = cli(f"train bars {SMALL} --seed 1 --out mine --overwrite")
    assert status == 0
    options = strict(Path("mine/config.json").read_text())
    assert (options["seed"], options["epochs"]) == (1, 3)
    assert len(Path("mine/metrics.jsonl").read_text().splitlines()) == 3
    assert Path("mine/notes.txt").read_text() == "keep me"
    assert not Path("mine/report.html").exists()


def test_overwrite_without_out_replaces_the_run_of_that_name(cli, no_report):
    for seed in (1, 2):
        summary = strict(cli(f"train bars {SMALL} --seed {seed} --overwrite --json").out)
        assert summary["run"] == "runs/bars"


def test_an_empty_folder_may_be_the_out(cli, no_report, tmp_path):
    (tmp_path / "new").mkdir()
    assert cli(f"train bars {SMALL} --out new").status == 0


def test_the_command_says_what_it_did_to_grey_levels(cli, no_report, trained):
    levels = np.random.default_rng(0).integers(0, 256, (32, 16))
    np.save("grey.npy", levels.astype(np.uint8))
    _, out, _ = cli(f"train grey.npy {SMALL} --binarize none --json")
    assert "divided by 255" in " ".join(strict(out)["notes"])
    assert "scores of such rows are not probabilities" in " ".join(strict(out)["notes"])
    assert "not a probability" in strict(out)["log_likelihood"]["method"]
    assert "drawn as 0 or 1" in cli(f"evaluate {trained} grey.npy --quick").out


def test_train_knows_other_kinds_of_visible_units(cli, no_report):
    codes = np.random.default_rng(1).integers(0, 3, (60, 5))
    np.savetxt("rows.csv", codes, delimiter=",", fmt="%g")
    summary = strict(cli(f"train rows.csv --visible potts {SMALL} --json").out)
    check_estimate(summary["log_likelihood"])
    assert summary["log_likelihood"]["rows"] == "validation"
    assert hm.load(summary["run"]).visible.states_per_site == 3
    assert "54 rows" in cli(f"evaluate {summary['run']} --quick").out
    assert "codes (3 states)" in cli("info rows.csv --visible potts").out


def test_few_rows_are_all_learned_from_and_the_command_says_so(cli, no_report):
    np.savetxt("few.csv", hm.data.bars_and_stripes(), delimiter=",", fmt="%g")
    summary = strict(cli(f"train few.csv {SMALL} --json").out)
    assert "few: 32 rows, too few to hold any out." in summary["notes"]
    assert (summary["log_likelihood"]["rows"], summary["log_likelihood"]["n_rows"]) == ("train", 32)


# --- resume -----------------------------------------------------------------------------


def test_resume_trains_a_finished_run_for_more_epochs(cli, no_report, trained):
    shutil.copytree(trained, "run")
    status, out, err = cli("resume run --epochs 5 --json")
    summary = strict(out)
    assert (status, summary["status"], summary["updates"]) == (0, "done", 20)
    assert "resuming run after 12 updates" in err
    assert strict(Path("run/config.json").read_text())["epochs"] == 5
    records = Path("run/metrics.jsonl").read_text().splitlines()
    assert [strict(line)["epoch"] for line in records] == [*map(float, range(1, 6))]


@pytest.mark.parametrize("hidden", [4, 24])  # missing values are summed out, or drawn
def test_a_run_on_rows_with_gaps_is_resumed(cli, no_report, hidden):
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (30, 20)).astype(object)
    rows[rng.random(rows.shape) < 0.4] = ""
    np.savetxt("gaps.csv", rows, delimiter=",", fmt="%s")
    assert cli(f"train gaps.csv --hidden {hidden} --batch 10 --epochs 2 --out run").status == 0
    status, out, _ = cli("resume run --epochs 3 --json")
    assert (status, strict(out)["status"], strict(out)["updates"]) == (0, "done", 9)


def test_resume_of_a_finished_run_scores_it_again(cli, no_report, trained):
    shutil.copytree(trained, "run")
    before = strict((trained / "summary.json").read_text())
    summary = strict(cli("resume run --json").out)
    assert summary["log_likelihood"] == before["log_likelihood"]
    assert summary["samples_per_second"] > 0


# --- sample -----------------------------------------------------------------------------


def test_sample_prints_csv(cli, trained):
    status, out, err = cli(f"sample {trained} -n 3 --sweeps 10")
    assert (status, err) == (0, "")
    rows = np.array([line.split(",") for line in out.splitlines()], float)
    assert rows.shape == (3, 16)
    assert set(np.unique(rows)) <= {0.0, 1.0}
    assert cli(f"sample {trained} -n 3 --sweeps 10").out == out
    assert cli(f"sample {trained} -n 3 --sweeps 10 --seed 1").out != out


@pytest.mark.parametrize("name", ["rows.npy", "rows.npz", "rows.csv", "rows.png", "ROWS.NPY"])
def test_sample_writes_a_file_once(cli, trained, tmp_path, name):
    status, out, err = cli(f"sample {trained} -n 4 --sweeps 5 --out {name}")
    assert (status, err, out) == (0, "", f"4 rows written to {name}\n")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    before = (tmp_path / name).read_bytes()
    assert cli(f"sample {trained} -n 4 --sweeps 5 --seed 1 --out {name}").status == 2
    assert (tmp_path / name).read_bytes() == before
    assert cli(f"sample {trained} -n 5 --sweeps 5 --out {name} --overwrite").status == 0
    assert (tmp_path / name).read_bytes() != before


def test_the_forms_of_samples_agree(cli, trained):
    for name in ("rows.npy", "rows.npz", "rows.csv"):
        cli(f"sample {trained} -n 4 --sweeps 5 --out {name}")
    values = strict(cli(f"sample {trained} -n 4 --sweeps 5 --json").out)["values"]
    np.testing.assert_array_equal(np.load("rows.npy"), values)
    with np.load("rows.npz") as archive:
        np.testing.assert_array_equal(archive["samples"], values)
    np.testing.assert_array_equal(np.loadtxt("rows.csv", delimiter=","), values)


def test_real_numbers_survive_the_csv(cli):
    hm.save(hm.RBM(hm.Gaussian(3), hm.Bernoulli(2), np.ones((3, 2), np.float32)), "g.safetensors")
    cli("sample g.safetensors -n 6 --sweeps 3 --out rows.npy")
    text = cli("sample g.safetensors -n 6 --sweeps 3").out
    rows = np.array([line.split(",") for line in text.splitlines()], np.float32)
    np.testing.assert_array_equal(rows, np.load("rows.npy"))


def test_sample_json_with_out_has_no_values(cli, trained):
    status, out, _ = cli(f"sample {trained} -n 4 --sweeps 5 --out rows.npy --json")
    assert status == 0
    record = strict(out)
    assert record.pop("message")
    assert isinstance(record.pop("converged"), bool)
    assert record == {"run": str(trained), "rows": 4, "columns": 16, "out": "rows.npy"}


def test_sample_completes_given_rows(cli, trained):
    half = [",".join([bit] * 8 + ["nan"] * 8) for bit in "10"]
    Path("half.csv").write_text("\n".join(half))
    _, out, _ = cli(f"sample {trained} -n 2 --sweeps 5 --given half.csv --json")
    rows = np.array(strict(out)["values"])
    assert rows.shape == (4, 16)
    assert (rows[:2, :8] == 1).all()
    assert (rows[2:, :8] == 0).all()


# --- info -------------------------------------------------------------------------------


def test_info_of_a_run_a_model_and_data(cli, trained):
    run = strict(cli(f"info {trained} --json").out)
    assert (run["kind"], run["state"]) == ("run", "finished after 12 updates (3 epochs)")
    assert (run["visible"], run["parameters"]) == ("Bernoulli(16)", 16 * 4 + 16 + 4)
    model = strict(cli(f"info {trained}/model.safetensors --json").out)
    assert (model["kind"], model["exact_sum"]) == ("model", "16 states")
    data = strict(cli("info bars --json").out)
    assert (data["kind"], data["rows"][:8]) == ("data", "bars: 32")


def test_info_is_plain_lines(cli, trained):
    status, out, err = cli(f"info {trained}")
    assert (status, err) == (0, "")
    assert "\x1b" not in out
    assert f"run           {trained}\n" in out  # not cut, however long
    assert "options       source = bars\n              visible = auto\n" in out


def test_info_of_a_run_that_a_crash_ended(cli, trained):
    shutil.copytree(trained, "run", ignore=shutil.ignore_patterns("model*", "summary*"))
    status, out, _ = cli("info run")
    assert status == 0
    assert "not finished; continue with: harmonium resume run" in out
    assert "folder without model.safetensors" in out


# --- report and compare -----------------------------------------------------------------


def test_a_report_is_made_again_and_opened(cli, trained, monkeypatch):
    shutil.copytree(trained, "run")
    seen = []
    monkeypatch.setattr("webbrowser.open", seen.append)
    status, out, _ = cli("report run --open")
    assert (status, out) == (0, "run/report.html\n")
    assert seen == [Path("run/report.html").resolve().as_uri()]
    assert "Play with the model" in Path("run/report.html").read_text("utf-8")
    assert cli("report run --out copy.html").out == "copy.html\n"
    status, _, err = cli("report run --out copy.html")
    assert (status, "expected a new file" in err) == (2, True)


def test_runs_are_compared(cli, no_report, trained):
    shutil.copytree(trained, "one")
    cli(f"train bars {SMALL} --seed 1 --out two")
    status, out, err = cli("compare one two --out page.html")
    assert (status, err) == (0, "")
    head, first, second, page = out.splitlines()
    assert head.split()[0] == "run"
    assert {first.split()[0], second.split()[0]} == {"one", "two"}
    assert page == "page.html"
    compared = strict(cli("compare one two --json").out)
    assert compared["runs"][0]["behind"] == 0
    assert cli("compare one").status == 2
    assert cli("compare one two --open").status == 2
    assert cli("report nowhere").status == 2


def test_a_run_finds_its_rows_from_any_folder(cli, no_report, tmp_path, monkeypatch):
    home = tmp_path / "home"
    away = tmp_path / "away"
    home.mkdir()
    away.mkdir()
    np.save(home / "bits.npy", hm.data.bars_and_stripes())
    monkeypatch.chdir(home)
    assert cli(f"train bits.npy {SMALL} --out run --json").status == 0
    here = strict(cli("evaluate run --quick --json").out)["log_likelihood"]["value"]
    monkeypatch.chdir(away)
    np.save(away / "bits.npy", np.ones((32, 16), np.uint8))  # another file of the same name
    there = strict(cli("evaluate", str(home / "run"), "--quick", "--json").out)
    assert there["log_likelihood"]["value"] == here
    assert cli("report", str(home / "run"), "--out", "r.html").status == 0
    assert str(home) not in Path("r.html").read_text("utf-8")
    (home / "bits.npy").unlink()
    for command in ("evaluate", "report"):
        status, _, err = cli(command, str(home / "run"))
        assert status == 2
        assert "expected the rows that" in err
        assert "got other rows" in err


def test_a_report_says_if_its_samples_have_not_converged(cli, trained, tmp_path, monkeypatch):
    def apart(rbm, rows, key):
        return DrawnRows(hm.sample(rbm, len(rows), key=key), False, "Not converged: apart.")

    monkeypatch.setattr("harmonium.runs.report.drawn_like", apart)
    assert cli("report", str(trained), "--out", str(tmp_path / "r.html")).status == 0
    page = (tmp_path / "r.html").read_text("utf-8")
    assert "Samples that are shown: Not converged: apart." in page
