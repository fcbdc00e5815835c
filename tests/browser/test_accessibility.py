"""Pages are for everybody: axe finds nothing, and the keyboard reaches everything."""

from pathlib import Path

import axe_core_python
import pytest

import harmonium as hm
from harmonium.report import page_of

AXE = (Path(axe_core_python.__file__).parent / "axe.min.js").read_text("utf-8")
PAGES = ["bars", "table", "sequences", "lesson", "comparison"]
REACHABLE = """() => Array.from(document.querySelectorAll(
    'a[href], button, select, input, summary, canvas[tabindex], [tabindex]'))
  .filter((each) => each.tabIndex >= 0 && each.checkVisibility() &&
    !(each.type === 'radio' && !each.checked))
  .map((each, k) => (each.dataset.place = k)).length"""
FOCUSED = "() => document.activeElement.dataset.place ?? null"


@pytest.fixture(scope="module")
def lesson():
    """A page in which models learn."""
    return hm.watch_learning(hm.bars_and_stripes(3), image_shape=(3, 3), hidden=4).text


@pytest.fixture(scope="module")
def comparison():
    """A page of two runs."""
    run = {"run": "a", "value": -9.0, "low": -9.1, "high": -8.9, "converged": True, "updates": 10}
    run |= {"behind": 0.0, "behind_low": 0.0, "behind_high": 0.0, "seconds": 3.0, "weights": 12}
    other = run | {"run": "b", "behind": 1.0, "behind_low": 0.9, "behind_high": 1.1}
    history = [{"seconds": t, "log_likelihood": -10.0 + 0.1 * t} for t in range(5)]
    content = {"kind": "comparison", "title": "two runs", "rows": "50 test rows"}
    runs = [entry | {"command": "harmonium train bars"} for entry in (run, other)]
    return page_of(content | {"runs": runs, "histories": [history, history]}, "two runs")


def violations(page):
    page.evaluate(f"{AXE}; undefined")
    problems = page.evaluate("() => axe.run()")["violations"]
    return [(problem["id"], problem["nodes"][0]["html"][:120]) for problem in problems]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", PAGES)
def test_axe_finds_nothing(opened, request, kind, scheme):
    page = opened(request.getfixturevalue(kind), color_scheme=scheme)
    assert violations(page) == []


def test_axe_finds_nothing_while_a_run_goes_on(opened, going):
    with going() as watch:
        page = opened(watch.url, expected="ERR_CONNECTION")
        page.get_by_text("compiling").wait_for()
        assert violations(page) == []


@pytest.mark.parametrize("kind", PAGES)
def test_the_keyboard_reaches_everything(opened, request, kind):
    page = opened(request.getfixturevalue(kind))
    count = page.evaluate(REACHABLE)
    reached = set()
    for _ in range(count + 5):
        page.keyboard.press("Tab")
        reached.add(page.evaluate(FOCUSED))
    assert reached >= {str(k) for k in range(count)}
