"""Runs side by side: the paired difference, its interval, and what cannot be compared."""

import json
import shutil

import numpy as np
import pytest
from rich.console import Console

import harmonium as hm
from harmonium.runs.compare import compare
from harmonium.runs.display import Display
from harmonium.runs.train import train
from harmonium.runs.train_options import RunConfig


def trained(folder, **options):
    defaults = {"source": "bars", "hidden": 4, "chains": 8, "epochs": 3, "batch": 8}
    train(RunConfig(**(defaults | options)), str(folder), False, Display(Console(quiet=True)))
    return str(folder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [
        trained(folder / "short"),
        trained(folder / "long", epochs=200, lr=0.2),
        trained(folder / "other", source="shifter"),
    ]


def test_differences_are_those_of_log_p_row_by_row(runs):
    best, other = compare(runs[:2], None)
    assert (best.run, other.run) == (runs[1], runs[0])
    assert (best.behind, best.behind_low, best.behind_high) == (0.0, 0.0, 0.0)
    rows = hm.bars_and_stripes(4)
    log_p = [-hm.free_energies(hm.load(r), rows) - hm.log_z(hm.load(r)).value for r in runs[:2]]
    apart = log_p[1] - log_p[0]
    assert other.behind == pytest.approx(best.value - other.value, abs=1e-4)
    assert other.behind == pytest.approx(apart.mean(), abs=1e-4)
    half = 1.96 * apart.std(ddof=1) / np.sqrt(len(rows))  # log Z is exact here
    assert other.behind_high - other.behind == pytest.approx(half, abs=1e-3)


def test_the_interval_has_the_error_of_both_log_z(runs, tmp_path):
    for name, run in zip("ab", runs[:2], strict=True):
        shutil.copytree(run, tmp_path / name)
        summary = json.loads((tmp_path / name / "summary.json").read_text())
        z = summary["log_z"]
        z["low"] = z["value"] - 1.96  # a standard error of 1
        z["high"] = z["value"] + 1.96
        (tmp_path / name / "summary.json").write_text(json.dumps(summary))
    _, other = compare([str(tmp_path / name) for name in "ab"], None)
    _, exact = compare(runs[:2], None)
    half, of_rows = (run.behind_high - run.behind for run in (other, exact))
    assert half == pytest.approx(np.hypot(of_rows, 1.96 * np.sqrt(2)), rel=1e-4)


def test_a_page_is_written(runs, tmp_path):
    compare(runs[:2], str(tmp_path / "page.html"))
    assert "2 runs" in (tmp_path / "page.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("chosen", "words"),
    [([0], "expected two or more runs"), ([0, 2], "expected the rows that .* was scored on")],
)
def test_what_cannot_be_compared_is_refused(runs, chosen, words, tmp_path):
    page = tmp_path / "page.html"
    with pytest.raises(hm.InputError, match=words):
        compare([runs[k] for k in chosen], str(page))
    assert not page.exists()


def test_a_run_without_a_score_is_refused(runs, tmp_path):
    shutil.copytree(runs[0], tmp_path / "part")
    (tmp_path / "part" / "summary.json").unlink()
    with pytest.raises(hm.InputError, match="a run without a score"):
        compare([runs[0], str(tmp_path / "part")], None)


def test_a_run_that_goes_on_is_left_out_among_others(runs, tmp_path):
    shutil.copytree(runs[0], tmp_path / "part")
    (tmp_path / "part" / "summary.json").unlink()
    compared = compare([*runs[:2], str(tmp_path / "part")], None)
    assert {run.run for run in compared} == set(runs[:2])


def test_the_source_of_runs_on_the_same_rows_is_read_once(runs, monkeypatch):
    reads = []
    original = compare.__globals__["own_rows"]

    def counted(folder, source=None):
        reads.append(folder.path)
        return original(folder, source)

    monkeypatch.setattr("harmonium.runs.compare.own_rows", counted)
    compare(runs[:2], None)
    assert len(reads) == 1


def test_rows_with_weights_count_as_that_many(runs, monkeypatch):
    """Held-out rows may be weighted, as sequences are: the difference is that of the scores."""
    weights = np.arange(1.0, len(hm.bars_and_stripes(4)) + 1)
    original = compare.__globals__["own_rows"]

    def weighted(folder, source=None):
        rows = original(folder)
        parts = {k: hm.Dataset(np.asarray(p.rows()), weights) for k, p in rows.parts.items()}
        return rows._replace(parts=parts)

    monkeypatch.setattr("harmonium.runs.compare.own_rows", weighted)
    _, other = compare(runs[:2], None)
    log_p = [-hm.free_energies(hm.load(r), hm.bars_and_stripes(4)) for r in runs[:2]]
    z = [hm.log_z(hm.load(r)).value for r in runs[:2]]
    apart = (log_p[1] - z[1]) - (log_p[0] - z[0])
    assert abs(other.behind) == pytest.approx(abs(apart @ weights / weights.sum()), abs=1e-3)


def test_documents_of_different_lengths_have_a_log_z_each(tmp_path):
    """Long documents have a larger log Z: with one for all, its spread would count as theirs."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.ones(6), 2)
    rows = [rng.multinomial(rng.integers(2, 40), topics[k % 2]) for k in range(60)]
    source = tmp_path / "counts.npy"
    np.save(source, np.array(rows))
    given = {"source": str(source), "visible": "replicated_softmax", "validation": 0.0}
    runs = [
        trained(tmp_path / name, hidden=hidden, epochs=epochs, **given)
        for name, hidden, epochs in (("little", 2, 1), ("more", 3, 60))
    ]
    compared = compare(runs, None)
    log_p = [_log_p_of_each_row(hm.load(run.run), np.array(rows)) for run in compared]
    apart = log_p[0] - log_p[1]
    half = 1.96 * apart.std(ddof=1) / np.sqrt(len(rows))  # log Z is exact here
    other = compared[1]
    assert other.behind == pytest.approx(apart.mean(), abs=1e-3)
    assert other.behind_high - other.behind == pytest.approx(half, abs=1e-3)


def _log_p_of_each_row(rbm, rows):
    return np.array([hm.log_likelihood(rbm, row[None]).value for row in rows])
