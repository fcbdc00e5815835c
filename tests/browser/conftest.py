"""A real browser, Debian's Chromium without a window, that opens pages from the disk."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

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
    errors, contexts = [], []

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
