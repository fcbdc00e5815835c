"""A page that follows a run while it trains, and ends with its report."""

import io
import threading
from pathlib import Path

import pytest
from rich.console import Console

from harmonium.runs.display import Display
from harmonium.runs.train import train
from harmonium.runs.train_options import RunConfig
from harmonium.runs.watch import Watch


@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed early"])
def test_a_page_follows_a_run_to_its_report(opened, tmp_path, closed):
    config = RunConfig(source="digits", hidden=16, epochs=300, chains=32)
    said = io.StringIO()
    observed = {}
    with Watch() as watch:

        def run():
            show = Display(Console(file=said))
            observed["summary"] = train(config, str(tmp_path / "run"), False, show, watch)
            threads.append("ended")

        threads = []
        thread = threading.Thread(target=run)
        thread.start()
        page = opened(watch.url)
        page.get_by_text("training: epoch").wait_for(timeout=60_000)
        page.get_by_text("No score: the run has not ended.").wait_for()
        page.get_by_role("button", name="Dream").click()
        if closed:
            page.close()
        else:
            page.get_by_text("The mean log-likelihood of").wait_for(timeout=120_000)
            assert page.get_by_role("progressbar").count() == 0
            assert page.get_by_role("heading", name="Samples beside data").is_visible()
        thread.join()
    assert observed["summary"].status == "done"
    assert Path(observed["summary"].report).is_file()


def test_a_page_says_when_nobody_answers(opened, going):
    with going() as watch:
        page = opened(watch.url, expected="ERR_CONNECTION")
        page.get_by_text("compiling").wait_for()
    page.get_by_text("No answer: the run has ended").wait_for(timeout=20_000)
