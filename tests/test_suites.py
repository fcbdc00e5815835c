"""The suites that changes elsewhere leave out: what they name is there."""

import re
import subprocess

import suites

MAKEFILE = (suites.ROOT / "Makefile").read_text()


def test_every_file_and_test_is_there():
    named = [place for suite in suites.SUITES.values() for place in (*suite.files, *suite.tests)]
    assert not [place for place in named if not (suites.ROOT / place).exists()]


def test_every_target_is_in_the_makefile():
    targets = {suite.target for suite in suites.SUITES.values()} - {""}
    rules = [name.replace("%", "[a-z]+") for name in re.findall(r"^([\w%-]+):", MAKEFILE, re.M)]
    assert not [name for name in targets if not any(re.fullmatch(rule, name) for rule in rules)]


def test_a_suite_runs_again_where_one_of_its_files_has_changed(tmp_path, monkeypatch):
    part = tmp_path / "part"
    part.mkdir()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / ".gitignore").write_text("made.py\n")
    (part / "module.py").write_text("x = 1\n")
    suite = suites.Suite(("part",))
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    monkeypatch.setattr(suites, "RECORD", tmp_path / "suites.json")
    monkeypatch.setattr(suites, "SUITES", {"part": suite})
    assert suites.unchanged() == set()
    suites.main("record")
    (part / "made.py").write_text("")
    assert suites.unchanged() == {"part"}
    (part / "module.py").write_text("x = 2\n")
    assert suites.unchanged() == set()
