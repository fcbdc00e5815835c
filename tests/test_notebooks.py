"""Results as notebooks show them: tables of text, in which nothing of the user's is HTML."""

import re

import jax
import numpy as np

import harmonium as hm
from harmonium._base.html import curve, table
from harmonium.training.state import CURVES

KEY = jax.random.key(0)
ROWS = hm.bars_and_stripes(2)


def fitted():
    rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(3), ROWS, key=KEY)
    return hm.fit(rbm, ROWS, key=KEY, epochs=20, batch_size=6)


def test_a_fit_shows_its_model_its_numbers_and_a_curve():
    fit = fitted()
    shown = fit._repr_html_()
    assert "RBM(Bernoulli(4) – Bernoulli(3))" in shown
    assert fit.message in shown
    # How many records hold a followed likelihood depends on the time that it takes.
    name = next(name for name in CURVES if name in fit.history[-1])
    drawn = [r for r in fit.history if name in r]
    assert len(drawn) > 2
    assert len(re.search("points='([^']*)'", shown)[1].split()) == len(drawn)


def test_models_scores_and_reports_are_tables():
    rbm = fitted().rbm
    assert "4 × 3" in rbm._repr_html_()
    score = hm.log_likelihood(rbm, ROWS)
    assert f"{score.value:.4f}" in score._repr_html_()
    assert "NO (not converged): do not quote it" in score._replace(converged=False)._repr_html_()
    method = hm.Persistent(hm.Gibbs(1), chains=8)
    report = hm.equilibrium(rbm, method, key=KEY, data=ROWS, seconds=1.0)
    assert report.message.split(";")[0][:20] in report._repr_html_()


def test_text_is_text():
    assert "<b>" not in table("<b>", {"<b>": "<b>"})


def test_a_curve_needs_two_finite_points():
    assert curve("x", [(0.0, 1.0), (1.0, np.nan)]) == ""
    assert curve("x", [(0.0, 1.0), (0.0, 1.0)]).count(",") >= 2
