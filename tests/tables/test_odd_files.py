"""Odd files are read as a careful person would, refused clearly, or said to be unclear."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # as for the program beside this test
from odd_files import CASES
from odd_report import FINE, judged


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_odd_file_is_read_as_a_person_would(case, tmp_path):
    verdict, what = judged(case, tmp_path)
    assert verdict in FINE, f"{verdict}: {what}"
