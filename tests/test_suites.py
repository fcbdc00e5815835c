"""The suites that changes elsewhere leave out: what they name is there."""

import re
import subprocess

import pytest

import suites

MAKEFILE = (suites.ROOT / "Makefile").read_text()


def test_every_file_and_test_is_there():
    named = [place for suite in suites.SUITES.values() for place in (*suite.files, *suite.tests)]
    assert not [place for place in named if not (suites.ROOT / place).exists()]


def test_what_reads_all_files_runs_with_every_change():
    files = [f"tests/test_{name}.py" for name in suites.OF_ALL_FILES]
    assert all((suites.ROOT / file).exists() for file in files)
    slow = set(suites.recorded()["seconds"])
    expected = {test for test in slow if test.partition("::")[0] in files}
    assert "tests/test_code_habits.py::test_an_assignment_has_one_value" in expected
    assert suites.dealt(slow, share=0.0) == expected


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
    report = tmp_path / "report.xml"
    report.write_text("<testsuite/>")
    suites.main("record", str(report))
    (part / "made.py").write_text("")
    assert suites.unchanged() == {"part"}
    (part / "module.py").write_text("x = 2\n")
    assert suites.unchanged() == set()


@pytest.fixture
def two_slow_files(tmp_path, monkeypatch):
    """Return the tests of a project: a thousand slow cases in each of two files, two others."""
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    (tmp_path / "tests").mkdir()
    for name in ("a", "b"):
        (tmp_path / f"tests/test_{name}.py").write_text("")
    author = ["-c", "user.name=a", "-c", "user.email=a@b.c"]
    subprocess.run(["git", *author, "commit", "-q", "--allow-empty", "-m", "all"], cwd=tmp_path)
    monkeypatch.setattr(suites, "ROOT", tmp_path)
    monkeypatch.setattr(suites, "RECORD", tmp_path / "suites.json")
    names = {name: suites.Suite((), (f"tests/test_{name}.py",)) for name in "ab"}
    monkeypatch.setattr(suites, "SUITES", names)
    cases = [
        f'<testcase file="tests/test_{name}.py" name="test_slow[{case}]" time="2.0"/>'
        for name in "ab"
        for case in range(1000)
    ]
    report = tmp_path / "report.xml"
    quick = '<testcase file="tests/test_a.py" name="test_quick" time="0.01"/>'
    report.write_text(f"<testsuite>{quick}{''.join(cases)}</testsuite>")
    suites.main("record", str(report))
    tests = [f"tests/test_{name}.py::test_slow[{case}]" for name in "ab" for case in range(1000)]
    return ["tests/test_a.py::test_quick", "tests/test_a.py::test_new", *tests]


def test_a_change_runs_all_quick_and_new_tests_and_a_share_of_slow_ones(two_slow_files):
    chosen = suites.dealt(two_slow_files, share=0.1)
    assert chosen >= {"tests/test_a.py::test_quick", "tests/test_a.py::test_new"}
    assert len(chosen) == 2 + 200
    assert chosen == suites.dealt(two_slow_files, share=0.1)  # the same files, the same tests


def test_slow_tests_of_changed_files_are_four_times_as_likely(two_slow_files):
    (suites.ROOT / "tests/test_b.py").write_text("changed = True\n")
    chosen = suites.dealt(two_slow_files, share=0.1)
    # 40 of a and 160 of b are expected: their standard deviation is below 7.
    assert 120 < sum(test.startswith("tests/test_b") for test in chosen) < 200
