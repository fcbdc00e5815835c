"""Models that learn in a page follow the gradient that Python computes, and answer to clicks."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import harmonium as hm

ROWS = hm.bars_and_stripes(3)
LEARNER = """({ rows, weights, visible, hidden, method, steps }) => {
  const m = hidden.length;
  const states = rows.map((row) => Float32Array.from(row));
  const learner = new page_learning.Learner(states, { method, hidden: m, steps, rate: 1, seed: 3 });
  const { model } = learner;
  const change = (to, from) => Array.from(to, (x, i) => x - from[i]);
  model.change({
    weights: change(weights, model.weights), visible: change(visible, model.visible.bias),
    hidden: change(hidden, model.hidden.bias),
  });
  const before = Array.from(model.weights);
  const likelihood = learner.logLikelihood();
  const cd = () => learner.sampled(states.map((row) => learner.model.chainAt(row)));
  const draws = Array.from({ length: 400 }, cd);
  const mean = (name) => Array.from(
    draws[0][name], (_, i) => draws.reduce((sum, d) => sum + d[name][i], 0) / draws.length);
  learner.update();
  return {
    likelihood, highest: page_learning.highest(states), negative: mean("v"),
    step: change(model.weights, before), visible: change(model.visible.bias, visible),
    hidden: change(model.hidden.bias, hidden),
  };
}"""


@pytest.fixture(scope="module")
def rbm():
    """Return a model with parameters of the order of 1."""
    rng = np.random.default_rng(0)
    return hm.RBM.from_arrays(rng.normal(size=(9, 5)), rng.normal(size=9), rng.normal(size=5))


def learned(page, rbm, **options):
    given = {
        "rows": ROWS.tolist(),
        "weights": np.asarray(rbm.weights).ravel().tolist(),
        "visible": np.asarray(rbm.visible.bias).tolist(),
        "hidden": np.asarray(rbm.hidden.bias).tolist(),
    }
    return page.evaluate(LEARNER, given | {"method": "exact", "steps": 1} | options)


def test_the_exact_gradient_and_likelihood_are_those_of_python(opened, rbm):
    page = opened(hm.watch_learning(ROWS, image_shape=(3, 3)).text)
    shown = learned(page, rbm)
    assert shown["likelihood"] == pytest.approx(hm.log_likelihood(rbm, ROWS).value, abs=1e-4)
    assert shown["highest"] == pytest.approx(-np.log(len(ROWS)) + 2 * np.log(2) * 2 / len(ROWS))
    batch = hm.samplers.Cloud.uniform(jnp.asarray(ROWS, jnp.float32))
    method = hm.Exact()
    state = method.init(rbm, batch, key=jax.random.key(0))
    grads, _, _ = method.estimate(rbm, batch, state, key=jax.random.key(0))
    for name, found_step in (
        ("weights", np.reshape(shown["step"], (9, 5))),
        ("visible", shown["visible"]),
        ("hidden", shown["hidden"]),
    ):
        theirs = grads.weights if name == "weights" else getattr(grads, name).bias
        np.testing.assert_allclose(found_step, -theirs, atol=2e-6)  # they descend


def test_the_negative_phase_of_cd_has_the_means_of_so_many_sweeps(opened, rbm):
    """Means after two sweeps from the rows, against the exact ones, at 10⁻⁴ in all."""
    page = opened(hm.watch_learning(ROWS, image_shape=(3, 3)).text)
    means = np.array(learned(page, rbm, method="cd", steps=2)["negative"])
    states = np.asarray(rbm.hidden.states(jnp.arange(32)), float)
    all_v = ((np.arange(512)[:, None] >> np.arange(9)) & 1).astype(float)
    on = 1 / (1 + np.exp(-(np.asarray(rbm.visible.bias) + states @ np.asarray(rbm.weights).T)))
    down = np.exp(np.log(on) @ all_v.T + np.log1p(-on) @ (1 - all_v).T)  # p(v | h)
    up_of = 1 / (1 + np.exp(-(np.asarray(rbm.hidden.bias) + all_v @ np.asarray(rbm.weights))))
    up = np.exp(np.log(up_of) @ states.T + np.log1p(-up_of) @ (1 - states).T)  # p(h | v)
    start = np.zeros(512)
    np.add.at(start, (ROWS @ (1 << np.arange(9))).astype(int), 1 / len(ROWS))
    p = start @ up @ down @ up @ down
    n = 400 * len(ROWS)
    q = p @ all_v
    assert np.max(np.abs(means - q) / np.sqrt(q * (1 - q) / n)) < 4.6  # 9 means at 10⁻⁴ in all


def said(page):
    """Return the latest log-likelihoods as the page says them, and the number of updates."""
    text = page.get_by_text(re.compile("^After ")).inner_text().replace("−", "-").replace(",", "")
    numbers = [float(x) for x in re.findall(r"-?\d+\.\d\d", text)]
    return int(re.match(r"After (\d+)", text)[1]), numbers


def test_clicks_and_choices_do_what_they_say(opened):
    page = opened(hm.watch_learning(ROWS, image_shape=(3, 3), hidden=6, rate=0.5).text)
    start = said(page)
    assert start[0] == 0
    assert len(set(start[1][:3])) == 1  # the same start for all
    page.get_by_role("button", name="Learn").click()
    page.wait_for_timeout(1_500)
    page.get_by_role("button", name="Pause").click()
    after = said(page)
    assert after[0] > 20
    page.get_by_role("button", name="One update").click()
    assert said(page)[0] == after[0] + 1

    def all_have_learned() -> bool:
        return all(a > b for a, b in zip(said(page)[1][:3], start[1][:3], strict=True))

    for _ in range(20):  # how many updates a second depends on the computer
        page.get_by_role("button", name="Learn").press("Enter")
        page.wait_for_timeout(700)
        page.get_by_role("button", name="Pause").press("Enter")
        if all_have_learned():
            break
    assert all_have_learned()
    page.get_by_label("Sweeps of CD and PCD").select_option("5")
    assert "CD-5" in page.get_by_text(re.compile("^After ")).inner_text()
    page.get_by_label("Hidden units").select_option("3")
    assert said(page)[0] == 0


def test_rows_that_the_page_cannot_learn_are_refused():
    for rows, hidden, words in (
        (np.full((3, 4), 7.0), 4, r"values in \[0, 1\]"),
        (np.array([[0.0, np.nan]]), 4, "missing values"),
        (np.zeros((3, 300)), 4, "at most 256 columns"),
        (ROWS, 13, "1 to 12 units"),
    ):
        with pytest.raises(hm.InputError, match=words):
            hm.watch_learning(rows, hidden=hidden)
