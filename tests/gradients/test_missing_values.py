"""Methods for rows with missing values; tests/missing/test_missing.py tests what they learn."""

import pytest

import harmonium as hm

EXAMPLES = [hm.Marginal(hm.Persistent(hm.Gibbs(100), chains=64)), hm.PerPattern(hm.Gibbs(1))]


def test_its_title_names_the_method_that_learns():
    method = hm.Marginal(hm.Persistent(hm.Gibbs(3)), missing=2)
    assert method.about.title == "PCD-3, missing units summed out"
    assert method.about.sweeps == 3
    assert method.about.follows_likelihood
    assert not hm.Marginal(hm.PseudoLikelihood()).about.follows_likelihood
    assert hm.PerPattern(hm.Gibbs(2)).about.title == "CD-2, one model for each pattern"


def test_arguments_are_checked():
    with pytest.raises(hm.InputError, match="Marginal sweeps"):
        hm.Marginal(hm.Exact(), sweeps=0)
    with pytest.raises(hm.InputError, match="Marginal missing"):
        hm.Marginal(hm.Exact(), missing=0)
