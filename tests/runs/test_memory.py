"""The memory of the computer, and errors that say that it ran out."""

import os

import numpy as np
import pytest

from harmonium._base import files as _files
from harmonium._base.files import memory_there
from harmonium.runs.failures import memory_error


def test_the_memory_of_this_computer_is_plausible():
    there = memory_there()
    assert there is None or there > 2**28


def test_a_container_may_have_less(monkeypatch, tmp_path):
    limit = tmp_path / "limit"
    none = tmp_path / "none"
    limit.write_text("1000000\n")
    none.write_text("max\n")
    monkeypatch.setattr(_files, "LIMITS", (str(none), str(limit), str(tmp_path / "missing")))
    assert memory_there() == 1_000_000


def test_a_system_may_not_say(monkeypatch):
    monkeypatch.setattr(_files, "LIMITS", ())
    for error in (ValueError, OSError, AttributeError):

        def unknown(name, error=error):
            raise error(name)

        monkeypatch.setattr(os, "sysconf", unknown, raising=False)
        assert memory_there() is None


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8.00GiB. [x]", "8.00 GiB"),
        ("RESOURCE_EXHAUSTED: Out of memory allocating 7680000000 bytes.", "7.15 GiB"),
        ("RESOURCE_EXHAUSTED: Failed to allocate request for 1.5GiB (1610612736B)", "1.5 GiB"),
        ("RESOURCE_EXHAUSTED: out of memory while trying to allocate 8589934592", "8.00 GiB"),
    ],
)
def test_what_was_asked_for_is_said(text, amount):
    message = str(memory_error(RuntimeError(text)))
    expected = f"got too little memory when {amount} more were requested; lower --hidden, --batch"
    assert expected in message


def test_numpys_own_error_is_known_and_others_are_not():
    with pytest.raises(MemoryError) as caught:
        np.empty(2**60, np.uint8)
    assert "when 1.00 EiB more were requested" in str(memory_error(caught.value))
    assert "too little memory; lower" in str(memory_error(MemoryError()))
    assert memory_error(ValueError("wrong")) is None
