"""A page: what is in it, and what is not, whatever the names of columns are."""

import base64
import hashlib
import html
import json
import re

import numpy as np
import pytest

import harmonium as hm
from harmonium.report import Rows, model_content, page_of, report_content
from harmonium.report.encoding import encoded, halved
from harmonium.report.page import script_of
from harmonium.tables import Frame, RawColumn, columns_of

HOSTILE = ["</script><script>alert(1)</script>", "<!--", "\"'&\u2028", "x" * 1_000_000]
ROWS = hm.bars_and_stripes(2)


def content(**more):
    rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
    return report_content(rbm, Rows(ROWS, 1 - ROWS), title="bars", image_shape=(2, 2), **more)


def data_in(page):
    return json.loads(re.search(r'type="application/json">(.*?)</script>', page, re.DOTALL)[1])


@pytest.mark.parametrize("name", HOSTILE, ids=["tags", "comment", "quotes", "long"])
def test_text_of_the_user_stays_text(name):
    page = page_of(content(about=[name]), title=name)
    assert data_in(page)["about"] == [name]
    assert page.count("<script") == 2
    assert "<!--" not in page.split("<style>")[1]
    assert f"<title>{name}" not in page or "<" not in name


def test_the_policy_allows_this_script_and_this_style_alone():
    page = page_of(content(), title="bars")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]
    script = page.rsplit("<script>", 1)[1].split("</script>")[0]
    style = page.split("<style>")[1].split("</style>")[0]
    for name, text in (("script", script), ("style", style)):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")


def test_the_script_has_every_module_after_those_that_it_needs():
    modules = re.findall(r"^const page_(\w+) = ", script_of(), re.MULTILINE)
    assert modules[-1] == "main"
    assert modules.index("layers") < modules.index("model") < modules.index("player")
    assert not re.search(r"^(import|export) ", script_of(), re.MULTILINE)


def test_arrays_are_bytes_where_that_is_exact_and_weights_have_16_bits():
    assert encoded([[0, 255]])["kind"] == "u8"
    assert encoded([0.5, np.nan])["kind"] == "f32"
    assert encoded([-1.0])["kind"] == "f32"
    large = np.array([1e30, -3.0, 0.0])
    decoded, rounded = halved(large)
    assert decoded["kind"] == "f16"
    np.testing.assert_allclose(rounded, large, rtol=1e-3, atol=1e-7 * 1e30)


def test_what_16_bits_change_is_told():
    exact = content()["model"]["rounding"]  # of zeros
    assert exact.endswith("differences of log p between rows do not change.")
    weights = np.random.default_rng(0).normal(size=(4, 3))
    rounded = model_content(hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), weights), np.eye(4))
    assert re.search(r"change by [\de.-]+ nats at most\.$", rounded["rounding"])


def test_the_score_is_text_for_those_who_have_no_javascript():
    score = {"value": -9.0, "low": -9.1, "high": -8.9, "rows": "test", "n_rows": 50}
    score |= {"converged": False, "method": "annealed <both ways>"}
    page = page_of(content(summary={"log_likelihood": score}, command="harmonium train <x>"), "t")
    plain = re.search("<noscript>(.*?)</noscript>", page)[1]
    assert "-9 nats per row, in [-9.1, -8.9], of 50 test rows" in plain
    assert "do not quote it" in plain
    assert "train &lt;x&gt;" in plain
    assert "&lt;both ways&gt;" in plain


def test_columns_of_a_table_have_labels_or_a_scale():
    words = {"pet": ["cat", "dog", "dog"] * 20, "mass": list(np.linspace(1.0, 40.0, 60))}
    types = {"pet": object, "mass": float}
    frame = Frame(tuple(RawColumn(k, np.array(x, types[k])) for k, x in words.items()))
    columns = columns_of(frame)
    codes = columns.encode(frame, "rows")
    rbm = hm.RBM(columns.layer, hm.Bernoulli(2), np.zeros((columns.layer.size, 2)))
    columns_shown = report_content(rbm, Rows(codes, codes), title="pets", columns=columns)[
        "columns"
    ]
    by_name = {column["name"]: column for column in columns_shown}
    assert by_name["pet"]["labels"] == ["cat", "dog"]
    cells = by_name["mass"]["scale"]["cells"]
    assert cells == sorted(cells)
    assert (round(cells[0]), round(cells[-1])) == (1, 40)


def test_a_model_too_large_for_its_numbers_has_a_page():
    rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.full((4, 3), 1e30))
    content = report_content(rbm, Rows(ROWS, ROWS), title="large", image_shape=(2, 2))
    assert "large" in page_of(content, "large")


def test_a_page_to_play_with_is_shown_and_saved(tmp_path):
    rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
    page = hm.play(rbm, ROWS, image_shape=(2, 2), title="2 × 2")
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text("utf-8") == page.text
    shown = page._repr_html_()
    assert shown.startswith("<iframe title=")
    assert 'sandbox="allow-scripts"' in shown
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1]) == page.text


def test_rows_that_do_not_fit_are_refused():
    rbm = hm.RBM(hm.Bernoulli(4), hm.Bernoulli(3), np.eye(4, 3))
    with pytest.raises(hm.InputError, match="got 7 in row 0"):
        hm.play(rbm, np.full((3, 4), 7))
