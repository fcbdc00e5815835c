"""The help texts, which a new user reads first."""

import re

import pytest

import harmonium
from harmonium.cli.app import app

COMMANDS = [command.name for command in app.registered_commands if not command.hidden]


@pytest.mark.parametrize("words", ["--help", *(f"{name} --help" for name in COMMANDS)])
def test_help_fits_eighty_columns_and_ends_with_0(cli, words):
    status, out, err = cli(words)
    assert (status, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert out.startswith("Usage: harmonium")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_examples_of_itself(cli, name):
    _, out, _ = cli(f"{name} --help")
    examples = re.findall(r"^    harmonium (\w+)", out.partition("Examples:")[2], re.MULTILINE)
    assert examples.count(name) >= 2
    assert set(examples) <= {name, "train"}  # some begin with the run that they need


def test_help_after_the_source_shows_every_option_with_its_default(cli):
    status, out, _ = cli("train x --help")
    assert status == 0
    wanted = "hidden method k chains epochs batch lr seed binarize precision out overwrite json"
    for option in wanted.split():
        assert f"--{option}" in out
    text = " ".join(out.split())
    for default in ("pcd", "1", "500", "200", "0", "stochastic", "auto"):
        assert f"[default: {default}]" in text


def test_help_without_an_argument(cli):
    status, out, err = cli()
    assert (status, err) == (0, "")
    assert all(f"\n  {name}" in out for name in COMMANDS)
    assert "..." not in out.partition("Commands:")[2]  # no line is cut


@pytest.mark.parametrize("words", ["", "train ", "evaluate "])
def test_a_short_form(cli, words):
    assert cli(f"{words}-h") == cli(f"{words}--help")


def test_version(cli):
    assert cli("--version") == (0, f"harmonium {harmonium.__version__}\n", "")
