"""A bar in a notebook, a line on a terminal, nothing in a file."""

import io
import sys
import types

import jax
import pytest

import harmonium as hm
from harmonium.training import progress

KEY = jax.random.key(0)
ROWS = hm.bars_and_stripes(2)


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Draw each time, however fast."""
    monkeypatch.setattr(progress, "SECONDS_BETWEEN", 0.0)


def trained():
    rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), ROWS, key=KEY)
    return hm.fit(rbm, ROWS, key=KEY, epochs=12, batch_size=6, callbacks=[hm.ProgressBar("bars")])


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_has_one_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    trained()
    said = sys.stderr.getvalue()
    assert said.count("\n") == 1
    assert said.rsplit("\r", 1)[1].startswith("\033[K100%  bars, epoch 12 of 12, ")
    assert "left" in said.split("\r")[1]
    assert "left" not in said.rsplit("\r", 1)[1]


def test_a_file_has_nothing(capsys):
    trained()
    assert capsys.readouterr() == ("", "")


def test_a_notebook_has_one_bar(monkeypatch, capsys):
    shown = []

    class Place:
        def update(self, html):
            shown.append(html)

    def display(html, display_id):
        assert display_id
        shown.append(html)
        return Place()

    shell = types.SimpleNamespace(kernel=object())
    module = types.SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    parts = types.SimpleNamespace(HTML=str, display=display)
    monkeypatch.setitem(sys.modules, "IPython.display", parts)
    trained()
    assert len(shown) > 1
    assert "value='1.0000'" in shown[-1]
    assert "bars, epoch 12 of 12" in shown[-1]
    assert capsys.readouterr().out == ""


def test_other_computations_show_their_part(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    shown = hm.ProgressBar("log Z")
    for part in (0.0, 0.5, 1.0):
        shown.part(part)
    lines = sys.stderr.getvalue().split("\r\033[K")
    assert lines[1].startswith("  0%  log Z, 0:00")
    assert "left" in lines[2]
    assert lines[3].startswith("100%  log Z")
