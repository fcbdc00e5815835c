"""A real browser, Debian's Chromium without a window, and pages of each kind for it."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from rich.console import Console

import harmonium as hm
from harmonium.report import Rows, page_of, report_content
from harmonium.runs.display import Display
from harmonium.runs.train import train
from harmonium.runs.train_options import RunConfig
from harmonium.runs.watch import Watch

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Return the browser; end all tests where there is none."""
    from playwright.sync_api import sync_playwright

    program = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.exit("These tests need Chromium: install it with `apt-get install chromium`.", 1)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def opened(browser, tmp_path) -> Iterator[Callable[..., Any]]:
    """Return a function that opens a page, given as HTML or as an address.

    The test fails if the page reports an error, but for one that has the text `expected`.
    """
    errors = []
    contexts = []

    def open_page(html: str, *, expected: str | None = None, **context: Any) -> Any:
        address = html
        if not html.startswith("http://"):
            file = Path(tmp_path) / "page.html"
            file.write_text(html, encoding="utf-8")
            address = file.as_uri()
        size = {"viewport": {"width": 1200, "height": 900}}
        contexts.append(browser.new_context(**(size | context)))
        page = contexts[-1].new_page()

        def heard(said: Any) -> None:
            if said.type == "error" and not (expected and expected in said.text):
                errors.append(said.text)

        page.on("console", heard)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


SCORE = {
    "value": -9.0,
    "low": -9.1,
    "high": -8.9,
    "rows": "test",
    "n_rows": 50,
    "converged": True,
    "method": "annealed both ways",
}


def report(tmp_path, source, **options):
    """Return the report of a short run."""
    config = RunConfig(source=source, chains=16, epochs=2, batch=20, **options)
    summary = train(config, str(tmp_path / "run"), False, Display(Console(quiet=True)))
    return Path(summary.report).read_text(encoding="utf-8")


@pytest.fixture
def going() -> Callable[[], AbstractContextManager[Watch]]:
    """Return the server of a run that has begun, as a context that ends it."""
    return a_run_that_goes_on


@contextmanager
def a_run_that_goes_on() -> Iterator[Watch]:
    rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(2), np.zeros((4, 2)))
    rows = np.eye(4)
    summary = {"status": "training", "log_likelihood": None, "message": "the run has not ended"}
    with Watch() as watch:
        watch.begin(report_content(rbm, Rows(rows, rows[:0]), title="run", summary=summary))
        yield watch


@pytest.fixture(scope="session")
def bars():
    """The report of a model that surely makes bars: pixels of a row are alike."""
    w = np.kron(np.eye(4), np.full((4, 1), 6.0))
    rbm = hm.RBM.from_arrays(w, np.full(16, -3.0), np.full(4, -12.0))
    samples = hm.sample(rbm, 50, key=jax.random.key(0))
    content = report_content(
        rbm,
        Rows(hm.bars_and_stripes(4), np.asarray(samples)),
        title="bars",
        image_shape=(4, 4),
        summary={"status": "done", "log_likelihood": SCORE, "message": ""},
        history=[{"epoch": i, "update": i, "log_likelihood": -10.0 + 0.1 * i} for i in range(5)],
        command="harmonium train bars",
    )
    return page_of(content, "bars")


@pytest.fixture(scope="session")
def table(tmp_path_factory):
    """The report of a table with hostile names, of words and numbers and gaps."""
    folder = tmp_path_factory.mktemp("table")
    rng = np.random.default_rng(0)
    lines = ['"<script>alert(1)</script>",mass,"quote "" & <b>"']
    for _ in range(200):
        cat = rng.random() < 0.5
        word = "" if rng.random() < 0.1 else ("cat" if cat else "cow")
        lines.append(f"{word},{rng.normal(4 if cat else 600):.2f},{rng.integers(0, 3)}")
    (folder / "pets.csv").write_text("\n".join(lines))
    return report(folder, str(folder / "pets.csv"), hidden=4)


@pytest.fixture(scope="session")
def sequences(tmp_path_factory):
    """The report of an alignment."""
    folder = tmp_path_factory.mktemp("sequences")
    rng = np.random.default_rng(0)
    names = (f">s{i}\n{''.join(rng.choice(list('ACGU'), 8))}" for i in range(60))
    (folder / "rna.fasta").write_text("\n".join(names) + "\n")
    return report(folder, str(folder / "rna.fasta"), hidden=4)
