"""The file of a search: what it means, and that each mistake in it is named."""

from pathlib import Path

import pytest

import harmonium as hm
from harmonium.runs.tune_spec import read_spec

HEAD = 'source = "bars"\nfolder = "s"\n'


def read(text: str, folder: Path):
    (folder / "spec.toml").write_text(text)
    return read_spec(str(folder / "spec.toml"))


def test_lists_are_a_grid_of_all_combinations_each_once(tmp_path):
    spec = read(HEAD + "[search]\nhidden = [4, 6]\nlr = [0.1, 0.2, 0.3]", tmp_path)
    points = [spec.point(number) for number in range(spec.trials)]
    assert (spec.sampler, spec.trials) == ("grid", 6)
    assert len({tuple(point.items()) for point in points}) == 6
    assert spec.config(points[0]).hidden in (4, 6)


def test_ranges_are_of_the_kind_that_the_option_has(tmp_path):
    search = "[search]\nhidden = {low = 4, high = 8}\nlr = {low = 1, high = 3, log = true}"
    spec = read(f"trials = 3\n{HEAD}{search}", tmp_path)
    assert spec.sampler == "tpe"
    assert spec.search["hidden"] == (4, 8, False, True)
    assert spec.search["lr"] == (1.0, 3.0, True, False)


def test_options_are_those_of_the_command(tmp_path):
    table = '[options]\nhidden-units = "ising"\nas = {age = "continuous"}\ndrop = ["name"]\n'
    spec = read(f"{HEAD}{table}[search]\nseed = [1, 2]", tmp_path)
    config = spec.config({"seed": 2})
    assert config.hidden_units == "ising"
    assert config.kinds == {"age": "continuous", "name": "left out"}
    assert (config.seed, config.split) == (2, 0)  # all seeds have the same held-out rows
    assert config.validation == 0.1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("source = ", "spec.toml: expected a TOML file"),
        ('sorce = "bars"', "spec.toml: sorce: .*did you mean source?"),
        (
            'folder = "s"',
            'spec.toml: source: expected a name; got nothing; write, say, source = "',
        ),
        (HEAD, r"spec.toml: \[search\]: expected options to search; got none"),
        (HEAD + "options = 3", "spec.toml: options: expected a table"),
        (HEAD + "[search]\nhiden = [4]", r"\[search\] hiden: .*did you mean hidden"),
        (HEAD + "[search]\nhidden_units = ['ising']", "did you mean hidden-units"),
        (HEAD + "[search]\nhidden = [4, 0]", r"\[search\] hidden: expected a whole number of at"),
        (HEAD + "[search]\nhidden = [4, 4]", "expected a list of different values"),
        (HEAD + "[search]\nhidden = []", "expected a list of different values"),
        (HEAD + "[search]\nhidden = 4", "expected a list, or {low"),
        (HEAD + "[search]\nhidden = {low = 4, hi = 8}", "expected a list, or {low"),
        (HEAD + "[search]\nhidden = {low = 4.5, high = 8}", "expected whole numbers as low"),
        (HEAD + "[search]\nlr = {low = 0.2, high = 0.1}", "expected low below high"),
        (HEAD + "[search]\npenalty = {low = 0, high = 1, log = true}", "above 0 if log"),
        (HEAD + "[search]\nlr = {low = -0.5, high = 0.5}", "lr: expected a positive number"),
        (HEAD + "[search]\nmethod = {low = 0, high = 1}", "method: expected a list; got a range"),
        (HEAD + "[search]\nmethod = ['pdc']", r"\[search\] method: expected one of pcd, cd"),
        (HEAD + "[search]\nhidden-units = ['isng']", "hidden-units: expected one of bernoulli"),
        (HEAD + "[search]\nhidden-units = [3]", "hidden-units: expected a word; got 3"),
        (HEAD + "[search]\nvalidation = [0.1, 0.2]", "does not change how rows are scored"),
        (HEAD + "[options]\nlr = 0.1\n[search]\nlr = [0.1]", "expected the option in one table"),
        (HEAD + "[options]\nepochs = -1\n[search]\nlr = [0.1]", r"\[options\] epochs: expected a"),
        (
            HEAD + "[options]\nvisible = 'isng'\n[search]\nlr = [0.1]",
            "visible: expected one of auto",
        ),
        (HEAD + "[search]\nlr = {low = 0.1, high = 0.2}", "trials: expected the number of runs"),
        ("trials = 0\n" + HEAD + "[search]\nlr = [0.1]", "trials: expected a whole number of at"),
        ("trials = 2\n" + HEAD + "[search]\nlr = [0.1]", "trials: expected at most 1 trial"),
        ("sampler = 'gp'\n" + HEAD + "[search]\nlr = [0.1]", "sampler: expected one of grid"),
        (
            "sampler = 'grid'\n" + HEAD + "[search]\nlr = {low = 0.1, high = 0.2}",
            "sampler: expected lists only, for a grid; got a range for lr",
        ),
        ("prune = 'mean'\n" + HEAD + "[search]\nlr = [0.1]", "prune: expected true, false or"),
        ("prune = 1\n" + HEAD + "[search]\nlr = [0.1]", "prune: expected true, false or"),
    ],
)
def test_each_mistake_is_named_with_its_key(text, message, tmp_path):
    with pytest.raises(hm.InputError, match=message) as caught:
        read(text, tmp_path)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(hm.InputError, match=r"expected a TOML file.*got no such file"):
        read_spec(str(tmp_path / "none.toml"))
