"""Options, by themselves and as they are stored in the folder of a run."""

import json
from dataclasses import asdict

import pytest

from harmonium.data import splits
from harmonium.errors import InputError, ModelFileError
from harmonium.runs import options
from harmonium.runs.options import SEEDS, check_count
from harmonium.runs.train_options import RunConfig
from harmonium.transforms import precision


def test_precisions_are_those_of_fit_which_is_imported_later():
    assert ("auto", *precision.PRECISIONS) == options.PRECISIONS


def test_uses_of_grey_levels_are_those_of_the_rows_which_are_imported_later():
    assert options.BINARIZE == splits.BINARIZE


def test_options_come_back_from_their_file(tmp_path):
    config = RunConfig(source="digits", hidden=3, epochs=7, lr=1, scale=16, states=3)
    file = tmp_path / "config.json"
    file.write_text(config.to_json())
    assert RunConfig.read(file) == config
    assert json.loads(file.read_text()) == asdict(config)


def test_options_of_a_later_version_are_left_out(tmp_path):
    file = tmp_path / "config.json"
    file.write_text('{"source": "bars", "unheard_of": 1}')
    before = {"penalty": 0.0, "keep": "last", "groups": False, "window": 0}
    assert RunConfig.read(file) == RunConfig(source="bars", **before, may_be_mixture=False)


def test_options_of_an_earlier_version_mean_what_they_meant(tmp_path):
    """There were no penalties then, and a run ended with its last model."""
    file = tmp_path / "config.json"
    file.write_text('{"source": "bars", "hidden": 3}')
    read = RunConfig.read(file)
    assert (read.penalty, read.keep) == (0.0, "last")
    file.write_text(RunConfig(source="bars").to_json())
    assert RunConfig.read(file) == RunConfig(source="bars")


@pytest.mark.parametrize(
    "text",
    ["", "{", "null", "3", '"source"', "[]", "{}", '{"source": 5}', "\xff", '{"hidden": 3}']
    + [f'{{"source": "bars", "hidden": {value}}}' for value in ("0", "1.5", "true", '"3"', "null")]
    + [f'{{"source": "bars", "lr": {value}}}' for value in ("0", "true", "NaN", "1e999", "[]")]
    + [f'{{"source": "bars", "seed": {value}}}' for value in ("-1", "4294967296", "0.0")]
    + ['{"source": "bars", "method": ["pcd"]}', '{"source": "bars", "validation": 1}'],
)
def test_a_damaged_file_is_refused_in_one_line(tmp_path, text):
    file = tmp_path / "config.json"
    file.write_bytes(text.encode("latin-1"))
    with pytest.raises(ModelFileError, match=r"config.json: expected .*; got .*\.$") as caught:
        RunConfig.read(file)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [1, 2**31 - 1])
def test_counts_that_are_taken(value):
    check_count("--k", value)


REFUSED = [0, -1, 2**31, 1.0, True, None, "3", 10**400, 10**5000]


@pytest.mark.parametrize("value", REFUSED, ids=range(len(REFUSED)))
def test_counts_that_are_refused(value):
    with pytest.raises(InputError, match="--k: expected a whole number of at") as caught:
        check_count("--k", value)
    assert len(str(caught.value)) < 150


@pytest.mark.parametrize("value", [-1, 2**32, 0.0, False, None])
def test_seeds_that_are_refused(value):
    with pytest.raises(InputError, match="--seed: expected a whole number from 0"):
        check_count("--seed", value, 0, SEEDS - 1)
