"""The page on physics: all its Python runs, in order and unchanged, and recovers what is known."""

import re

import numpy as np
import pytest

from answers import run_page


def test_the_python_runs(capsys):
    assert run_page("docs/physics.md") == 4
    out = capsys.readouterr().out

    def numbers(start):
        line = next(line for line in out.splitlines() if line.startswith(start))
        return [float(text) for text in re.findall(r"-?\d+\.\d+", line)]

    drawn, error, exact = numbers("energy")
    assert abs(drawn - exact) < 4.5 * error
    beta, near, _ = numbers("β")
    assert near == pytest.approx(beta, rel=0.05)
    assert abs(numbers("other pairs")[0]) < 0.02
    _, low, high, true = numbers("entropy")
    assert low - 0.1 < true < high + 0.1  # the model's own entropy is near that of the lattice
    couplings = numbers("couplings")
    np.testing.assert_allclose(couplings[:2], couplings[2:], atol=1e-4)
    assert np.mean(numbers("largest overlap")) > 0.85
    assert numbers("found β")[0] == pytest.approx(2.5, rel=0.02)
    ours, exact = numbers("log-likelihood")
    assert ours == pytest.approx(exact, abs=0.1)
