"""Reports in a real browser: clicks, drags and keys do what the page says, and nothing fails."""

import re

import numpy as np
import pytest

import harmonium as hm
from harmonium.report import Rows, page_of, report_content


def click(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def state(page):
    """Return what the numbers line says: sweeps, E and F."""
    return page.get_by_text(re.compile(r"sweeps; E =")).inner_text()


@pytest.mark.parametrize("kind", ["bars", "table", "sequences"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_every_report_opens_and_dreams(opened, request, kind, scheme, width):
    size = {"width": width, "height": 900}
    page = opened(request.getfixturevalue(kind), color_scheme=scheme, viewport=size)
    heads = page.locator("h2").all_inner_texts()
    assert heads[:3] == ["How good it is", "Play with the model", "Learning curves"]
    click(page, "Dream")
    page.wait_for_timeout(300)
    click(page, "Pause")
    assert int(state(page).split()[0].replace(",", "")) > 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(media="print")
    assert not page.get_by_role("button", name="Dream").is_visible()


def test_pixels_that_are_painted_stay_and_the_rest_completes(opened, bars):
    page = opened(bars)
    stage = page.locator("canvas.stage")
    box = stage.bounding_box()
    y = box["y"] + box["height"] / 8
    page.mouse.move(box["x"] + 5, y)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * 0.45, y, steps=8)  # two pixels of the first line
    page.mouse.up()
    assert page.get_by_text("2 pinned (orange)").is_visible()
    for _ in range(6):
        click(page, "Half-sweep")
    pixels = page.evaluate(
        "() => Array.from(document.querySelector('canvas.stage').getContext('2d')"
        ".getImageData(0, 0, 4, 1).data)"
    )
    greens = [pixels[4 * i + 1] for i in range(4)]
    assert greens[2:] == [255, 255]  # the other two pixels of the line are on too
    click(page, "Unpin all")
    assert page.get_by_text("nothing pinned").is_visible()


def test_the_keyboard_alone_pins_pixels_and_runs_the_chains(opened, bars):
    page = opened(bars)
    page.locator("canvas.stage").focus()
    for key in ("ArrowDown", "ArrowRight", "1", "ArrowRight", "0", "ArrowLeft"):
        page.keyboard.press(key)
    assert page.get_by_text("2 pinned (orange)").is_visible()
    page.keyboard.press("Delete")
    assert page.get_by_text("1 pinned (orange)").is_visible()
    page.get_by_role("button", name="Dream").focus()
    page.keyboard.press("Enter")
    page.wait_for_timeout(200)
    assert page.get_by_role("button", name="Pause").is_visible()


def test_half_sweeps_walk_from_a_row_of_data(opened, bars):
    page = opened(bars)
    click(page, "A row of data")
    assert page.get_by_text("the positive phase. Half-sweeps").is_visible()
    click(page, "Half-sweep")
    assert page.get_by_text("h ~ p(h | v)").is_visible()
    before = state(page)
    click(page, "Half-sweep")
    assert page.get_by_text("v ~ p(v | h)").is_visible()
    assert state(page).split()[0] == str(int(before.split()[0]) + 1)


def test_heating_goes_up_and_ends_at_one(opened, bars):
    page = opened(bars)
    click(page, "Heat and cool")
    page.wait_for_timeout(700)
    assert float(page.locator("output").inner_text()) > 1.05
    page.locator("output", has_text="1.00").wait_for(timeout=20_000)


def test_a_hidden_unit_shows_its_weights_and_the_rows_that_drive_it(opened, bars):
    page = opened(bars)
    page.locator("canvas.hidden-units").click(position={"x": 36, "y": 10})
    assert page.get_by_role("heading", name="Hidden unit 2").is_visible()
    assert page.get_by_text("rows of data that drive it most").is_visible()
    page.get_by_label("hidden unit", exact=True).fill("4")
    page.keyboard.press("Tab")
    assert page.get_by_role("heading", name="Hidden unit 4").is_visible()


def test_a_click_on_a_filter_chooses_its_unit_and_one_on_a_sample_loads_it(opened, bars):
    page = opened(bars)
    page.locator("#filters canvas").click(position={"x": 10, "y": 10})
    assert page.get_by_role("heading", name="Hidden unit").is_visible()
    page.locator("#samples-beside-data canvas").nth(1).click(position={"x": 10, "y": 10})
    assert page.get_by_text("v is the picture that you chose.").is_visible()


def test_letters_that_are_typed_stay(opened, sequences):
    page = opened(sequences)
    page.locator("button.letter").nth(2).click()
    for key in ("g", "ArrowRight", "c"):
        page.keyboard.press(key)
    assert page.get_by_text("2 sites pinned").is_visible()
    click(page, "Dream")
    page.wait_for_timeout(200)
    letters = page.locator("button.letter").all_inner_texts()
    assert letters[2:4] == ["G", "C"]
    logo = page.locator("svg.logo text").all_text_contents()
    assert {"G", "C"} <= set(logo)


def test_a_table_answers_what_it_is_told(opened, table):
    page = opened(table)
    names = page.locator(".field .name").all_inner_texts()
    assert "<script>alert(1)</script>" in names  # text, and nothing else
    field = page.locator(".field", has_text="<script>")
    texts = field.locator("svg text").all_text_contents()
    at_first = [float(x.removesuffix(" %")) for x in texts if x.endswith(" %")]
    assert 97 <= sum(at_first) <= 103  # per cent, before anything is pressed
    field.locator("select").select_option(label="cow")
    click(page, "Dream")
    page.wait_for_timeout(500)
    shown = field.locator("svg text").all_text_contents()
    assert "100 %" in shown
    page.locator(".field", has_text="mass").locator("input").fill("600")
    page.keyboard.press("Tab")
    page.wait_for_timeout(200)


def test_the_first_sweeps_are_fast_enough_to_watch(opened):
    """At 784 × 500: at least 20 frames a second have a sweep; here with room for a busy machine."""
    rng = np.random.default_rng(0)
    weights = rng.normal(0, 0.05, (784, 500))
    rbm = hm.RBM.from_arrays(weights, np.full(784, -2.0), np.full(500, -1.0))
    rows = (rng.random((50, 784)) < 0.2).astype(np.uint8)
    content = report_content(rbm, Rows(rows, rows), title="wide", image_shape=(28, 28))
    page = page_of(content, "wide")
    assert len(page) < 3_000_000
    sweeps = opened(page).evaluate(
        "() => { const model = page_report.modelOf(page_main.shown.content.model);"
        " const random = new page_random.Random(1); const chain = model.chain(random);"
        " const start = performance.now(); let n = 0;"
        " while (performance.now() - start < 500) { model.sweep(chain, random); n += 1; }"
        " return n / (performance.now() - start) * 1000; }"
    )
    assert sweeps > 20


def test_a_method_tells_of_its_chains(opened):
    """Known numbers have titles, others their own name; a run without any has no such section."""
    rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(2), np.zeros((4, 2)))
    rows = np.eye(4)
    summary = {"status": "done", "log_likelihood": None, "message": "no score was asked for"}
    history = [
        {"epoch": i, "update": i, "reconstruction": 0.1, "acceptance": 0.5, "hops_made": 3.0}
        for i in range(5)
    ]
    plain = [{"epoch": 1, "update": 1, "reconstruction": 0.1}]
    for records, titles in ((history, ["Swaps accepted", "Hops made"]), (plain, [])):
        content = report_content(
            rbm, Rows(rows, rows), title="run", summary=summary, history=records
        )
        page = opened(page_of(content, "run"))
        heads = page.locator("h2").all_inner_texts()
        assert ("Chains" in heads) == bool(titles)
        for title in titles:
            assert page.locator("#chains figcaption", has_text=title).count() == 1
