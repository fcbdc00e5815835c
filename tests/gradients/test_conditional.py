"""The gradient of log p(y | u); tests/layers/test_conditional.py holds it against enumeration."""

import pytest

import harmonium as hm

EXAMPLES = [hm.gradients.ConditionalLikelihood()]


def test_it_is_described():
    method = hm.gradients.ConditionalLikelihood
    assert method(sweeps=3).about.title == "conditional likelihood, 3 sweeps"
    assert method(rows=10).about.title == "conditional likelihood, a chain for each row"
    assert method(is_exact=True).about.title == "conditional likelihood, exact gradient"
    with pytest.raises(hm.InputError, match="ConditionalLikelihood sweeps"):
        method(sweeps=0)
