"""Checks of rows that need the model."""

import numpy as np
import pytest

import harmonium as hm
from harmonium.runs.checks import refuse_misfit
from registry import random_rbm


def test_a_value_far_down_is_named_by_its_row(monkeypatch):
    monkeypatch.setattr("harmonium.data.parts.rows_at_once", lambda width: 7)
    rbm = random_rbm(hm.Bernoulli(6), hm.Bernoulli(2), 0)
    rows = np.zeros((40, 6))
    refuse_misfit(rows, rbm, "rows.npy", "mend it")
    rows[31, 5] = 1.5
    with pytest.raises(hm.InputError, match=r"got 1\.5 at row 31, column 5 .*; mend it"):
        refuse_misfit(rows, rbm, "rows.npy", "mend it")
