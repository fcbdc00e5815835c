"""Names and cells of files reach a terminal as text: nothing in them steers it."""

import io
import re
import sys

import numpy as np
import pytest
from rich.progress import Progress, TextColumn
from rich.table import Table

import harmonium as hm
from harmonium.cli.terminal import Shown, print_data, shown_text
from harmonium.errors import printable, printable_lines
from harmonium.runs.display import Display, PatientConsole

ESC = "\x1b"
CSI = "\x9b"
TURN = "\u202e"
CELLS = [f"{ESC}]0;title\x07", f"{CSI}31m", f"{TURN}evil", "[red]x[/red]", "line\nkind  model"]
NAMES = [f"a{ESC}[31m", f"b{TURN}", "[bold]c", f"d\r\nkind  model{CSI}2J"]
STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
COMMANDS = [
    "info table.parquet",
    "info run",
    "info run/model.safetensors",
    "sample run -n 5",
    "sample run -n 5 --out drawn.csv --overwrite",
    "impute holes.parquet run --out filled.csv --overwrite",
    "score table.parquet run --out scores.csv --overwrite",
    "evaluate run --quick",
    "compare run run",
    "export run model.npz --overwrite",
    "report run",
    "resume run",
    "train table.parquet --out run",
    f"ask run b{TURN}",
    f"ask run {NAMES[0]}",
    f"ask run no{ESC}[31m",
    f"info no{ESC}[31m",
    f"train no{CSI}31m.csv",
    f"sample run --given no{TURN}=1",
    f"no{ESC}such",
    f"info --no{ESC}such",
]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """Return a folder with a table of hostile names and cells, and a run on it."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    from harmonium.runs.train import train
    from harmonium.runs.train_options import RunConfig

    folder = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    rows = 60
    cells = [
        rng.choice(CELLS, rows),
        rng.normal(size=rows),
        rng.choice([f"x{CSI}2J", "y"], rows),
        rng.choice(["p", "q"], rows),
    ]
    table = dict(zip(NAMES, map(pa.array, cells), strict=True))
    parquet.write_table(pa.table(table), folder / "table.parquet")
    holes = table | {NAMES[2]: pa.array([None, *cells[2][1:].tolist()])}
    parquet.write_table(pa.table(holes), folder / "holes.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        config = RunConfig(source="table.parquet", hidden=2, epochs=1)
        train(config, "run", False, Display(PatientConsole(file=io.StringIO())))
    return folder


@pytest.mark.parametrize("words", COMMANDS, ids=ascii)
def test_no_command_passes_on_what_steers_a_terminal(words, hostile, cli, monkeypatch):
    monkeypatch.chdir(hostile)
    monkeypatch.setattr(Shown, "isatty", lambda stream: True, raising=False)
    _, out, err = cli(*words.split(" "))
    assert not STEERS.findall(out), ascii(out)
    assert not STEERS.findall(err), ascii(err)
    assert out + err
    if words.startswith("info"):
        assert not re.search("^kind  model", out, re.MULTILINE)


def test_rows_for_a_program_are_as_they_are(capsys):
    with shown_text():
        print_data(f"a{ESC},b\n")
        print(f"a{ESC},b")
    assert capsys.readouterr().out == f"a{ESC},b\na?,b\n"


def test_a_console_keeps_its_own_colours_and_takes_none_from_text():
    out = io.StringIO()
    console = PatientConsole(file=out, force_terminal=True, color_system="standard", width=200)
    table = Table(f"head{ESC}[31m", style="green")
    table.add_row(f"cell{CSI}31m [red]x[/red]")
    console.print(table)
    with Progress(TextColumn("{task.description}", markup=False), console=console) as progress:
        progress.add_task(f"task{ESC}[31m")
    Display(console).say(f"said{ESC}[31m\nsecond :smile:")
    text = out.getvalue()
    assert f"{ESC}[32m" in text  # the table's own green
    for words in ("head?[31m", "cell?31m [red]x[/re", "task?[31", "said?[31m?second :smile:"):
        assert words in text
    assert f"{ESC}[31m" not in text
    assert CSI not in text


def test_a_live_display_writes_below_what_cleans_text(monkeypatch):
    raw = io.StringIO()
    raw.isatty = lambda: True
    monkeypatch.setattr(sys, "stdout", raw)
    monkeypatch.setenv("TERM", "xterm")
    from harmonium.cli.base import display

    with shown_text(), display(as_json=False) as live:
        print(f"printed{ESC}]0;title\x07{CSI}2J")
        live.say("said")
    assert f"{ESC}[" in raw.getvalue()  # the cursor moves
    assert "printed" in raw.getvalue()
    assert f"{ESC}]" not in raw.getvalue()
    assert CSI not in raw.getvalue()


def test_errors_in_python_say_names_as_text():
    with pytest.raises(hm.InputError) as caught:
        raise hm.InputError(f"{ESC}[2J{CSI}x{TURN}: expected\nmore.")
    assert str(caught.value) == "?[2J?x?: expected more."  # one line, whatever is in it


def test_letters_that_steer_nothing_stay():
    for text in ("Größe", "\u0646\u0645\u06cc\u200c\u062f\u0627\u0646\u0645", "日本", "👩\u200d🔬"):
        assert printable(text) == text
    assert printable("1\u202f000\u00a0€\u3000x") == "1 000 € x"
    assert printable("a\tb\nc\u2028d\ufeff") == "a?b?c?d?"
    assert printable_lines("a\tb\nc\rd") == "a\tb\nc?d"
