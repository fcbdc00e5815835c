"""Damaged files: every reader returns a value or raises an error of ours, and writes nothing."""

import itertools
import re
import tempfile
from pathlib import Path

import pytest

pytest.importorskip("hypothesis")
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hostile.readers import READERS, refusal_of
from registry import ALL

EDGES = [0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
NUMBERS = [*map(str, EDGES), "-1", "1e400", "NaN", "9" * 30, "1" * 5000, "0.5", "null", '""', "[]"]
TEXTS = ["\x1b[2J", "\0", "\x85", "\ud7ff", "'", '"', "\n", "{", "[" * 300, ",", "\t", ">", "#"]
KINDS = ("bit", "cut", "lost", "doubled", "moved", "number", "word", "text")
WHOLE = {"derandomize": True, "deadline": None, "database": None}
SHARE = 1 if ALL else 2  # `make laws` draws all examples, other tests half of them
CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]


@st.composite
def damaged(draw: st.DrawFn, valid: bytes) -> bytes:
    """Draw a valid file with some damage: bits, numbers, pieces lost, doubled or moved."""
    content = valid
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(
            st.sampled_from(["bit", "cut", "lost", "doubled", "moved", "number", "word", "text"])
        )
        place = draw(st.integers(0, max(0, len(content) - 1)))
        end = place + draw(st.sampled_from([1, 2, 4, 8, 40, len(content)]))
        if kind == "bit":
            flipped = bytes(
                byte ^ 1 << draw(st.integers(0, 7)) for byte in content[place : place + 1]
            )
            content = content[:place] + flipped + content[place + 1 :]
        elif kind == "cut":
            content = content[:place]
        elif kind == "lost":
            content = content[:place] + content[end:]
        elif kind == "doubled":
            content = (
                content[:end] + content[place:end] * draw(st.sampled_from([1, 3])) + content[end:]
            )
        elif kind == "moved":
            to = draw(st.integers(0, len(content)))
            content = content[:to] + content[place:end] + content[to:]
        elif kind == "number":
            spans = [match.span() for match in itertools.islice(re.finditer(rb"\d+", content), 200)]
            if spans:
                first, last = draw(st.sampled_from(spans))
                content = content[:first] + draw(st.sampled_from(NUMBERS)).encode() + content[last:]
        elif kind == "word":
            width = draw(st.sampled_from([1, 2, 4, 8]))
            order = draw(st.sampled_from(["little", "big"]))
            word = (draw(st.sampled_from(EDGES)) % 256**width).to_bytes(width, order)
            content = content[:place] + word + content[place + width :]
        else:
            content = content[:place] + draw(st.sampled_from(TEXTS)).encode() + content[place:]
    return content


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.file)
def test_valid_content_is_read(reader, tmp_path):
    assert refusal_of(reader, reader.example(), tmp_path) is None


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.file)
def test_damaged_content_is_read_or_refused(reader, tmp_path):
    valid = reader.example()

    @settings(max_examples=reader.examples // SHARE, suppress_health_check=CHECKS, **WHOLE)
    @given(damaged(valid))
    def check(content):
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            refusal_of(reader, content, Path(folder))

    check()


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.file)
def test_random_bytes_are_read_or_refused(reader, tmp_path):
    valid = reader.example()
    starts = st.sampled_from([valid[:n] for n in (0, 2, 4, 8, 12, 16)])

    @settings(max_examples=reader.examples // (4 * SHARE), suppress_health_check=CHECKS, **WHOLE)
    @given(starts, st.binary(max_size=200))
    def check(start, rest):
        with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
            refusal_of(reader, start + rest, Path(folder))

    check()
