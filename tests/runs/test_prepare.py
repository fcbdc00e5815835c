"""Making rows, model and method from options."""

import json
from dataclasses import replace

import jax
import numpy as np
import pytest

import harmonium as hm
from harmonium.errors import InputError
from harmonium.runs.prepare import prepare
from harmonium.runs.rows import rows_of_run
from harmonium.runs.train_options import RunConfig
from harmonium.transforms.precision import Timing


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("visible", "rows", "layer"),
    [
        ("auto", [[0, 1], [1, 1]], "Bernoulli(2)"),
        ("auto", [[-1, 1], [1, 1]], "Ising(2)"),
        ("potts", [[0, 1], [2, 1]], "Potts(2, states=3)"),
        ("gaussian", [[0.5, -3.0], [2, 1]], "Gaussian(2)"),
    ],
)
def test_the_layer_that_takes_the_rows(visible, rows, layer):
    np.save("rows.npy", np.array(rows))
    assert str(rows_of_run(RunConfig(source="rows.npy", visible=visible)).visible) == layer


@pytest.mark.parametrize(
    ("binarize", "values", "note"),
    [
        ("threshold", {0.0, 1.0}, "at least one half count as 1"),
        ("stochastic", {0.0, 1.0}, "drawn as 0 or 1"),
        ("none", {0.0, 0.25, 0.5, 1.0}, "used unchanged"),
    ],
)
def test_what_becomes_of_grey_levels(binarize, values, note):
    levels = np.array([[0, 4, 8, 16], [16, 4, 8, 0]] * 9)
    np.save("rows.npy", levels)
    config = RunConfig(source="rows.npy", scale=16, binarize=binarize)
    rows = rows_of_run(config)
    seen = rows.parts["train"].rows(key=jax.random.key(0))
    assert set(np.unique(seen)) == values
    assert note in rows.notes[-1]
    if binarize == "threshold":
        np.testing.assert_array_equal(seen, levels >= 8)


def test_rows_are_held_out_alike_for_the_same_seed():
    np.save("rows.npy", np.arange(240).reshape(60, 4) % 2 * np.eye(4)[np.arange(60) % 4])
    np.save("reals.npy", np.arange(240.0).reshape(60, 4))
    config = {"source": "reals.npy", "visible": "gaussian", "validation": 0.1}
    first, same, other = (prepare(RunConfig(seed=seed, **config)) for seed in (0, 0, 1))
    assert len(first.validation) == 6
    assert first.scored[0] == "validation"
    assert first.fingerprint == same.fingerprint
    assert first.fingerprint != other.fingerprint


def test_a_part_of_0_holds_nothing_out():
    np.save("reals.npy", np.arange(240.0).reshape(60, 4))
    rows = rows_of_run(RunConfig(source="reals.npy", visible="gaussian", validation=0))
    assert set(rows.parts) == {"train"}
    assert not any("too few" in note for note in rows.notes)


def test_the_rows_of_a_file_with_parts():
    train = np.eye(60, 4)
    test = np.ones((3, 4))
    np.savez("parts.npz", train=train, test=test, valid=test[:2])
    prepared = prepare(RunConfig(source="parts.npz"))
    sizes = {name: len(part) for name, part in prepared.rows.parts.items()}
    assert sizes == {"train": 60, "validation": 2, "test": 3}
    assert (prepared.scored[0], len(prepared.scored[1])) == ("test", 3)


def test_the_method_that_the_options_name():
    assert isinstance(
        prepare(RunConfig(source="bars", hidden=4)).plan.method.gradient, hm.Persistent
    )
    cd, exact = ({"source": "bars", "hidden": 4, "method": name} for name in ("cd", "exact"))
    assert isinstance(prepare(RunConfig(**cd)).plan.method.gradient, hm.Contrastive)
    assert isinstance(prepare(RunConfig(**exact)).plan.method.gradient, hm.Exact)
    np.save("wide.npy", np.eye(30))
    with pytest.raises(InputError, match=r"--method exact: expected .* 2\^24 joint states"):
        prepare(RunConfig(source="wide.npy", method="exact", hidden=30))


def test_real_columns_are_learned_standardised_and_the_model_is_of_the_rows():
    x = np.random.default_rng(0).normal(size=(60, 3)) * [0.01, 1.0, 500.0] + [7.0, 0.0, -900.0]
    x[:, 1] = 4.0
    np.save("reals.npy", x)
    prepared = prepare(RunConfig(source="reals.npy", visible="gaussian", hidden=2))
    z = prepared.train.rows()
    rows = prepared.rows.parts["train"].rows()
    np.testing.assert_allclose(z.mean(0), 0.0, atol=1e-4)
    np.testing.assert_allclose(z.std(0), [1.0, 0.0, 1.0], rtol=1e-3)
    assert "in the data's units" in prepared.rows.notes[-1]
    restored = prepared.restored(prepared.rbm)
    volume = hm.log_likelihood(prepared.rbm, z).value - hm.log_likelihood(restored, rows).value
    # U's terms are as large as ½γm² here, 10⁵ nats, and their float32 sum is rounded accordingly
    largest = (0.5 * restored.visible.bias**2 / restored.visible.precision).sum()
    rounding = float(np.finfo(np.float32).eps * largest)
    assert rounding < 0.05
    assert volume == pytest.approx(np.log(prepared.change.scale).sum(), abs=rounding)


@pytest.mark.parametrize(
    ("rows", "options"),
    [
        (np.random.default_rng(0).integers(0, 2, (100, 9)), {}),
        (np.random.default_rng(0).integers(0, 2, (100, 9)).astype(bool), {}),
        (np.random.default_rng(0).integers(0, 256, (100, 3, 3)), {}),
        (np.random.default_rng(0).normal(size=(100, 9)), {"visible": "gaussian"}),
    ],
    ids=["bits", "bools", "pictures", "reals"],
)
def test_a_large_file_stays_on_disk_and_gives_the_same_rows(monkeypatch, rows, options):
    np.save("rows.npy", rows)
    config = RunConfig(source="rows.npy", validation=0.1, **options)
    read = rows_of_run(config)
    prepared = prepare(config)
    monkeypatch.setattr("harmonium.data.readers.LARGE", 1)
    table = hm.open_source("rows.npy", **options)
    assert not table.train.flags.writeable
    assert table.train.dtype == rows.dtype
    mapped = rows_of_run(config)
    assert (mapped.about, mapped.notes) == (read.about, read.notes)
    assert len(mapped.parts["validation"]) == 10
    for name in ("train", "validation"):
        first, second = (
            source.parts[name].rows(key=jax.random.key(0)) for source in (mapped, read)
        )
        np.testing.assert_array_equal(first, second)
    assert prepare(config).fingerprint == prepared.fingerprint


def test_a_run_keeps_the_precision_that_was_chosen(monkeypatch):
    """So that going on elsewhere, where the other one is faster, gives the same model."""
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (200, 64)))
    asked = RunConfig(source="rows.npy", hidden=64, validation=0.0)
    for faster, chosen in (((2.0, 1.0), "bfloat16"), ((1.0, 2.0), "float32")):
        timing = Timing(*faster)
        monkeypatch.setattr(
            "harmonium.transforms.precision.precision_timing", lambda *_, t=timing: t
        )
        config = prepare(asked).config
        assert config.precision == chosen
        monkeypatch.setattr("harmonium.transforms.precision.precision_timing", lambda *_: 1 / 0)
        assert prepare(config).config == config


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        ({}, ("auto", "last")),  # 80 rows are cross-validated
        ({"validation": 0.1}, ("auto", "best")),
        ({"epochs": 3}, (0.0, "last")),
        ({"validation": 0.0}, ("auto", "last")),
        ({"penalty": 0.01}, (0.01, "best")),
        ({"epochs": 3, "penalty": "auto", "keep": "best"}, ("auto", "best")),
        ({"keep": "last"}, ("auto", "last")),
    ],
)
def test_what_holds_off_overfitting_is_chosen_once_and_kept(options, chosen):
    np.save("rows.npy", np.random.default_rng(0).integers(0, 2, (80, 5)))
    config = prepare(RunConfig(source="rows.npy", hidden=2, **options)).config
    assert (config.penalty, config.keep) == chosen
    longer = prepare(replace(config, epochs=9)).config
    assert (longer.penalty, longer.keep) == chosen


def test_a_whole_distribution_has_no_penalty_and_no_best_model():
    config = prepare(RunConfig(source="bars", hidden=2)).config
    assert (config.penalty, config.keep) == (0.0, "last")
    with pytest.raises(InputError, match="--keep best: expected rows that are held out; got none"):
        prepare(RunConfig(source="bars", keep="best"))


def test_columns_of_a_category_are_read_as_one(tmp_path):
    rng = np.random.default_rng(0)
    np.save("rows.npy", np.eye(4, dtype=np.uint8)[rng.integers(0, 4, 200)])
    rows = rows_of_run(RunConfig(source="rows.npy"))
    assert rows.visible.groups == ((0, 1, 2, 3),)
    assert "at most one is on in any row" in rows.notes[-1]
    for options in ({"visible": "bernoulli"}, {"groups": False}):
        config = RunConfig(source="rows.npy", **options)
        assert str(rows_of_run(config).visible) == "Bernoulli(4)"


def test_runs_from_before_there_were_groups_look_for_none(tmp_path):
    options = {"source": "rows.npy", "visible": "auto"}
    (tmp_path / "config.json").write_text(json.dumps(options))
    assert not RunConfig.read(tmp_path / "config.json").groups
