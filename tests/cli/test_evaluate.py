"""What `harmonium evaluate` reports of models, and what it prints where a value is not known."""

import json
import re
import shutil
from pathlib import Path

import jax
import numpy as np
import pytest
from rich.console import Console

import harmonium as hm
from answers import check_estimate, strict
from harmonium.cli.evaluate import print_evaluation
from harmonium.runs.display import Display
from harmonium.runs.evaluate import EvaluationConfig, evaluate
from harmonium.runs.evaluation.pictures import Pictures
from harmonium.runs.evaluation.result import Evaluation
from harmonium.runs.evaluation.target import Target
from harmonium.runs.summaries import LogZSummary

PICTURES = ["log_z.png", "autocorrelations.png", "energies.png", "pca.png", "means.png"]
BLOCKS = "harmonium.runs.evaluation"
KEYS = (
    "run data model status rows log_z log_likelihood pseudo_log_likelihood reconstruction"
    " free_energy_gap columns mixing equilibrium sample_quality pictures pictures_left_out seconds"
)


# --- the whole report --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def run(trained, tmp_path_factory) -> Path:
    """Return a run to evaluate, whose report gets the results."""
    folder = tmp_path_factory.mktemp("evaluated") / "bars"
    shutil.copytree(trained, folder)
    return folder


def test_every_block_of_the_report_is_filled_for_a_run(cli, run):
    status, out, err = cli(f"evaluate {run} --json --pictures figures")
    evaluation = strict(out)
    assert (status, evaluation["status"], list(evaluation)) == (0, "done", KEYS.split())
    rbm = hm.load(run)
    rows = hm.bars_and_stripes(4)
    pseudo = hm.pseudo_log_likelihoods(rbm, rows).mean()
    assert evaluation["pseudo_log_likelihood"]["value"] == pytest.approx(pseudo, rel=1e-5)
    assert evaluation["pseudo_log_likelihood"]["per_unit"] == pytest.approx(pseudo / 16, rel=1e-5)
    error = hm.reconstruction_errors(rbm, rows)
    assert evaluation["reconstruction"]["value"] == pytest.approx(error.mean(), rel=1e-5)
    assert evaluation["reconstruction"]["stderr_rows"] == pytest.approx(error.std(ddof=1) / 32**0.5)
    assert evaluation["reconstruction"]["variance"] == pytest.approx(rows.var(0).mean())
    assert evaluation["free_energy_gap"] == {"not_known": "there are no rows held out"}
    assert evaluation["mixing"]["resolved"]
    assert evaluation["mixing"]["rhat"] < 1.01
    assert evaluation["equilibrium"]["k"] == 1
    assert isinstance(evaluation["equilibrium"]["chains_agree"], bool)
    assert [score["name"] for score in evaluation["sample_quality"]["scores"]][:2] == [
        "means",
        "covariances",
    ]
    assert evaluation["sample_quality"]["samples"] == 1_000
    assert evaluation["sample_quality"]["converged"]
    assert evaluation["pictures"] == [f"figures/{name}" for name in PICTURES[1:]]
    assert evaluation["pictures_left_out"] == {
        "log_z.png": "log Z is exact, so nothing was annealed"
    }
    assert sorted(path.name for path in Path("figures").iterdir()) == sorted(PICTURES[1:])
    assert {"log Z, at most 120 s", "mixing, at most 20 s", "pictures"} <= set(err.splitlines())


def test_the_report_of_a_run_shows_its_evaluation(cli, run):
    Path(run, "report.html").unlink(missing_ok=True)
    assert cli(f"evaluate {run} --quick").status == 0
    assert not Path(run, "report.html").exists()
    assert cli(f"evaluate {run}").status == 0
    page = Path(run, "report.html").read_text("utf-8")
    content = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
    lines = {line[0]: line for section in content["evaluation"]["sections"] for line in section}
    assert "scored on 32 training rows" in content["evaluation"]["heads"]
    assert lines["log Z"][2] == "exact, 16 states"
    assert lines["free-energy gap"][1:] == ["not known", "there are no rows held out."]
    assert cli(f"report {run} --out again.html").status == 0
    assert "scored on 32 training rows" in Path("again.html").read_text("utf-8")
    saved = strict(Path(run, "evaluation.json").read_text())
    assert saved["reconstruction"]["n_rows"] == 32


def test_a_folder_that_cannot_be_written_loses_no_evaluation(cli, run, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    for name in ("chains.mixing", "chains.equilibrium", "samples.drawn_like"):
        monkeypatch.setattr(f"{BLOCKS}.{name}", overflow)
    monkeypatch.setattr("harmonium.runs.folder.write_whole", full)
    status, out, err = cli(f"evaluate {run} --json")
    assert (status, strict(out)["status"]) == (0, "done")
    assert "no report: a file cannot be read or written: No space left on device" in err


def test_a_gaussian_model_with_rows_and_a_folder_for_its_pictures(cli, tmp_path):
    weights = np.random.default_rng(0).normal(size=(3, 40)).astype(np.float32)
    hm.save(hm.RBM(hm.Gaussian(3), hm.Bernoulli(40), 0.1 * weights), "m.safetensors")
    np.savetxt("rows.csv", np.random.default_rng(1).normal(size=(60, 3)), delimiter=",")
    command = "evaluate m.safetensors rows.csv --chains 64 --steps 64 --pictures new/figures"
    status, out, _ = cli(command)
    assert status == 0
    flat = " ".join(out.split())
    assert "pseudo-log-likelihood not known it needs discrete visible units" in flat
    assert "free-energy gap not known there are no rows that the model is known" in flat
    assert "a model alone does not show how it was trained" in flat
    assert re.search(r"^  forward alone +\S+ +biased low$", rstripped(out), re.MULTILINE)
    assert re.search(r"^  AATS +\S+ ± \S+ +\S+ ± ", out, re.MULTILINE)
    assert max(map(len, out.splitlines())) <= 80
    assert sorted(path.name for path in Path("new/figures").iterdir()) == sorted(PICTURES)
    assert all(f"\n  new/figures/{name}\n" in out for name in PICTURES)


def rstripped(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines())


def test_the_free_energy_gap_of_a_run_that_held_rows_out(cli, no_report):
    np.save("bits.npy", np.random.default_rng(0).integers(0, 2, (60, 5)))
    cli("train bits.npy --hidden 3 --chains 8 --batch 8 --epochs 3 --out run")
    gap = strict(cli("evaluate run --quick --json").out)["free_energy_gap"]
    assert (gap["n_rows"], gap["n_learned_from"]) == (6, 54)
    record = json.loads(Path("run/metrics.jsonl").read_text().splitlines()[-1])
    assert gap["value"] == pytest.approx(record["free_energy_gap"], abs=1e-4)
    assert gap["stderr"] == pytest.approx(record["free_energy_gap_stderr"], rel=1e-3)


# --- blocks that fail, and interruptions ------------------------------------------------


def interrupted(*_, **__):
    raise KeyboardInterrupt


def overflow(*_, **__):
    raise ValueError("array must not contain infs\nor NaNs")


def test_a_block_that_fails_loses_no_other(cli, trained, monkeypatch):
    monkeypatch.setattr(f"{BLOCKS}.prediction.pseudo_log_likelihoods", overflow)
    status, out, _ = cli(f"evaluate {trained} --quick")
    assert status == 0
    flat = " ".join(out.split())
    assert "pseudo-log-likelihood not known an internal error" in flat
    assert "ValueError: array must not contain infs." in flat
    assert "reconstruction error 0." in flat


def test_an_interruption_of_log_z_ends_with_130_and_says_nothing(cli, trained, monkeypatch):
    monkeypatch.setattr(f"{BLOCKS}.likelihood.log_likelihood", interrupted)
    status, out, err = cli(f"evaluate {trained} --json")
    assert (status, out) == (130, "")
    assert err.endswith("harmonium: interrupted.\n")


def test_an_interruption_of_a_later_block_leaves_what_was_known(cli, trained, monkeypatch):
    monkeypatch.setattr(f"{BLOCKS}.prediction.reconstruction_errors", interrupted)
    status, out, err = cli(f"evaluate {trained} --json")
    evaluation = strict(out)
    assert (status, evaluation["status"]) == (130, "interrupted")
    check_estimate(evaluation["log_likelihood"])
    assert evaluation["pseudo_log_likelihood"]["n_rows"] == 32
    for name in ("reconstruction", "mixing", "equilibrium", "sample_quality"):
        assert evaluation[name] == {"not_known": "interrupted"}
    assert err.splitlines()[-1].startswith("harmonium: interrupted; the remaining results")
    assert not (trained / "evaluation.json").exists()


def test_a_picture_that_fails_loses_no_other(run, tmp_path, monkeypatch):
    for name in ("chains.mixing", "chains.equilibrium", "samples.sample_quality"):
        monkeypatch.setattr(f"{BLOCKS}.{name}", overflow)
    monkeypatch.setattr("harmonium.plot.energies", overflow)
    wanted = EvaluationConfig(run=str(run), pictures=str(tmp_path / "figures"))
    evaluation = evaluate(wanted, Display(Console(quiet=True)))
    assert [Path(path).name for path in evaluation.pictures.written] == PICTURES[3:]
    assert list(evaluation.pictures.left_out) == PICTURES[:3]
    assert "ValueError" in evaluation.pictures.left_out["energies.png"]


# --- log Z and the rows -----------------------------------------------------------------


@pytest.mark.parametrize("layer", [hm.Ising(5), hm.Potts(5, states=3), hm.Gaussian(5)])
def test_evaluate_reads_rows_as_the_visible_units_take_them(cli, layer):
    weights = np.full((layer.size, 4), 0.1, np.float32)
    hm.save(hm.RBM(layer, hm.Bernoulli(4), weights), "m.safetensors")
    rows = hm.sample(hm.load("m.safetensors"), 9, key=jax.random.key(0), sampler=hm.Gibbs(1))
    np.savetxt("rows.csv", rows, delimiter=",", fmt="%.9g")
    evaluation = strict(cli("evaluate m.safetensors rows.csv --quick --json").out)
    expected = hm.log_likelihood(hm.load("m.safetensors"), rows).value
    assert evaluation["log_likelihood"]["value"] == pytest.approx(expected, abs=1e-5)


def test_evaluate_of_a_run_scores_its_own_rows(cli, trained):
    status, out, err = cli(f"evaluate {trained} --quick --json")
    evaluation = strict(out)
    before = strict((trained / "summary.json").read_text())
    assert status == 0
    assert (
        evaluation["log_likelihood"]["rows"] == "train"
    )  # bars holds every row of its distribution
    assert evaluation["log_likelihood"]["value"] == pytest.approx(before["log_likelihood"]["value"])
    assert evaluation["log_z"] == before["log_z"]
    assert evaluation["rows"]["count"] == 32
    assert "32 rows" in evaluation["rows"]["notes"][0]
    assert err.startswith("log Z, at most 120 s\n")


def test_evaluate_takes_a_folder_a_model_and_an_archive(cli, trained, tmp_path):
    rbm = hm.load(trained)
    arrays = {"W": rbm.weights, "a": rbm.visible.bias, "b": rbm.hidden.bias}
    np.savez(tmp_path / "m.npz", **{name: np.asarray(array) for name, array in arrays.items()})
    values = [
        strict(cli(f"evaluate {model} bars --quick --json").out)["log_likelihood"]["value"]
        for model in (trained, trained / "model.safetensors", "m.npz")
    ]
    assert values == [pytest.approx(values[0])] * 3


def test_evaluate_of_a_model_without_rows_says_what_is_not_known(cli, trained, tmp_path):
    status, out, _ = cli(f"evaluate {trained}/model.safetensors --quick")
    assert status == 0
    assert re.search(r"^log-likelihood +not known +no rows; name them as DATA.", out, re.MULTILINE)
    assert re.search(r"^log Z +\S+ nats +exact, 16 states", out, re.MULTILINE)
    assert "left out by --quick" in out
    evaluation = strict(cli(f"evaluate {trained}/model.safetensors --quick --json").out)
    assert (evaluation["log_likelihood"], evaluation["rows"], evaluation["pictures"]) == (
        None,
        None,
        [],
    )
    assert evaluation["reconstruction"] == {"not_known": "no rows; name them as DATA"}
    assert list(tmp_path.iterdir()) == []
    check_estimate(evaluation["log_z"])


def test_evaluate_annealed_agrees_with_exact(cli, trained):
    command = f"evaluate {trained} --method annealed --chains 64 --steps 200 --quick --json"
    log_z = strict(cli(command).out)["log_z"]
    exact = strict(cli(f"evaluate {trained} --method exact --quick --json").out)["log_z"]
    assert log_z["method"].startswith("annealed both ways, 64 chains × ")
    assert log_z["reverse_estimate"] - log_z["forward_estimate"] == pytest.approx(log_z["gap"])
    assert (exact["forward_estimate"], exact["reverse_estimate"]) == (None, None)
    assert abs(log_z["value"] - exact["value"]) < 0.1
    assert (exact["ess"], exact["low"]) == (None, exact["high"])


def test_evaluate_of_one_row_has_no_spread(cli, trained):
    np.save("one.npy", hm.data.bars_and_stripes()[:1])
    status, out, _ = cli(f"evaluate {trained} one.npy --quick")
    assert status == 0
    assert "±" not in out
    evaluation = strict(cli(f"evaluate {trained} one.npy --quick --json").out)
    assert evaluation["log_likelihood"]["stderr_rows"] is None


def test_evaluate_chooses_rows(cli, trained):
    rows = hm.data.bars_and_stripes()
    np.savez("parts.npz", train=rows, test=rows[:3], valid=rows[:5])
    for part, count in {"auto": 3, "train": 32, "validation": 5, "test": 3}.items():
        evaluation = strict(cli(f"evaluate {trained} parts.npz --rows {part} --quick --json").out)
        assert evaluation["log_likelihood"]["n_rows"] == count


def test_evaluate_reads_grey_levels_as_the_run_did(cli, trained):
    shutil.copytree(trained, "run")
    config = strict(Path("run/config.json").read_text()) | {"binarize": "threshold"}
    Path("run/config.json").write_text(json.dumps(config))
    np.save("grey.npy", np.random.default_rng(0).random((9, 16)).astype(np.float32))
    assert "at least one half count as 1" in cli("evaluate run grey.npy --quick").out
    assert "unchanged" in cli("evaluate run grey.npy --quick --binarize none").out


def test_an_unconverged_estimate_ends_with_3_under_must_converge(cli):
    rng = np.random.default_rng(0)
    arrays = {"W": rng.normal(size=(16, 4)), "a": np.zeros(16), "b": np.zeros(4)}
    np.savez("few.npz", **arrays)
    command = "evaluate few.npz --method annealed --chains 8 --steps 4 --quick"
    status, out, err = cli(command)
    assert status == 0
    assert re.search(r"^  converged +NO ", out, re.MULTILINE)
    assert err.splitlines()[-1].startswith("harmonium: log Z did NOT converge")
    assert cli(f"{command} --must-converge").status == 3


@pytest.mark.parametrize("checked", [False, True])
def test_an_estimate_that_nothing_could_contradict_is_unchecked(capsys, checked):
    words = {"method": "annealed", "message": "", "converged": False, "checked": checked}
    log_z = LogZSummary(value=1.0, low=0.0, high=2.0, **words)
    rbm = hm.RBM(hm.Bernoulli(2), hm.Bernoulli(2), np.zeros((2, 2)))
    target = Target(rbm, EvaluationConfig(run="run"), None, None)
    evaluation = Evaluation(target=target, log_z=log_z, blocks={}, pictures=Pictures(), seconds={})
    assert print_evaluation(evaluation, True, True) == 3
    said = capsys.readouterr().err
    assert ("did NOT converge" in said) == checked
    assert ("is unchecked: name rows as DATA" in said) == (not checked)


def test_train_and_evaluate_score_the_same_draws_of_grey_levels(cli, no_report):
    np.save("grey.npy", np.random.default_rng(0).random((40, 9)).astype(np.float32))
    status, out, _ = cli("train grey.npy --hidden 4 --epochs 3 --seed 5 --out run --json")
    assert status == 0
    trained = strict(out)
    evaluation = strict(cli("evaluate run --quick --json").out)
    for name in ("value", "stderr_rows"):
        assert evaluation["log_likelihood"][name] == trained["log_likelihood"][name]


def test_a_tempered_log_z_has_its_interval_and_says_how_replicas_move(cli):
    rng = np.random.default_rng(0)
    np.savez("some.npz", W=rng.normal(size=(12, 3)), a=np.zeros(12), b=np.zeros(3))
    status, out, _ = cli("evaluate some.npz --method tempered --quick")
    assert status == 0
    exact = hm.log_z(hm.load("some.npz")).value
    low, high = re.search(r"95 % interval +(\S+) to (\S+)", out).groups()
    assert float(low) < exact < float(high)
    line = r"^  converged +yes +Replicas move along the ladder"
    assert re.search(line, out, re.MULTILINE)
    assert "forward alone" not in out
