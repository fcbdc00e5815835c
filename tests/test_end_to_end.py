"""Parts that a user may add, through all that users do: train, score, sample, save, load, draw."""

import os
import subprocess
import sys
import textwrap

import equinox as eqx
import jax
import numpy as np

import harmonium as hm
from harmonium import plot
from harmonium.evaluation.moments import states_of
from harmonium.io.storage import load, save
from test_how_to import follow


def used(rbm, fitted, rows, folder, **picture) -> hm.LogZ:
    """Score, sample, save, load and draw a model; return its annealed log Z."""
    samples = hm.sample(rbm, 200, key=jax.random.key(2))
    rbm.visible.validate(samples)
    save(rbm, folder / "model.safetensors")
    again = load(folder / "model.safetensors")
    assert eqx.tree_equal(again, rbm)
    plot.filters(again, **picture)
    plot.weight_histogram(again)
    plot.learning_curves(fitted.history)
    plot.samples_beside_data(samples, rows, **picture)
    plot.means(samples, rows, states=states_of(again.visible))
    return hm.log_z(again, method=hm.Annealed(), key=jax.random.key(3))


def test_a_masked_lattice(tmp_path):
    width = 3
    places = np.indices((width, width)).reshape(2, -1)
    pattern = abs(places[:, :, None] - places[:, None, :]).sum(0) <= 1
    rows = np.random.default_rng(0).integers(0, 2, (200, width**2)).astype(float)
    rows[:, 1] = rows[:, 0]
    rbm = hm.initialize(
        hm.Bernoulli(9), hm.Bernoulli(9), rows, key=jax.random.key(0), pattern=pattern
    )
    recipe = hm.Recipe(momentum=0.9, decay=1e-4)
    fitted = hm.fit(rbm, rows, key=jax.random.key(1), optimizer=recipe, epochs=1_000)
    assert int(fitted.state.updates) >= 1_000
    for model in (fitted.rbm, fitted.state.rbm):
        assert (np.asarray(model.dense_weights)[~pattern] == 0).all()
    summary = used(fitted.rbm, fitted, rows, tmp_path, image_shape=(width, width))
    exact = hm.log_z(fitted.rbm, method=hm.Enumerated()).value
    assert summary.converged
    # One in twenty intervals misses; twice as wide a one, four standard errors, hardly ever does.
    assert abs(summary.value - exact) < summary.high - summary.low


def test_a_layer_by_the_page_alone(tmp_path):
    """In a copy of the package with what the page tells to write, and nothing else."""
    follow("how_to_add_a_layer.md", tmp_path)
    script = textwrap.dedent(
        """
        import jax, numpy as np, pathlib
        import harmonium as hm
        from test_end_to_end import used

        rng = np.random.default_rng(0)
        rows = 1.0 - 2.0 * rng.beta(1.0, 2.0, (400, 2))
        rows[:, 1] = 0.5 * rows[:, 1] + 0.5 * rows[:, 0]
        rbm = hm.initialize(hm.layers.Rotor(2), hm.Bernoulli(3), rows, key=jax.random.key(0))
        fitted = hm.fit(rbm, rows, key=jax.random.key(1), epochs=100, batch_size=100)
        assert not fitted.diverged, fitted.message
        rbm = fitted.rbm
        found = used(rbm, fitted, rows, pathlib.Path("."))

        # Z by the trapezoidal rule over both visible units, in float64
        grid = np.linspace(-1.0, 1.0, 1_501)
        v = np.stack(np.meshgrid(grid, grid, indexing="ij"), -1).reshape(-1, 2)
        with jax.enable_x64(True):
            double = jax.tree.map(lambda x: jax.numpy.asarray(np.asarray(x), float), rbm)
            minus_f = -np.asarray(double.free_energy(jax.numpy.asarray(v)))
        weight = np.where((grid == grid[0]) | (grid == grid[-1]), 0.5, 1.0) * (grid[1] - grid[0])
        log_weights = np.log(np.outer(weight, weight)).ravel()
        quadrature = np.logaddexp.reduce(minus_f + log_weights)
        print(found, quadrature)
        assert found.converged
        assert found.low <= quadrature <= found.high
        exact = hm.log_z(rbm, method=hm.Enumerated()).value
        assert abs(exact - quadrature) < 2e-3
        """
    )
    (tmp_path / "script.py").write_text(script)
    paths = [tmp_path / "src", tmp_path / "tests"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, paths))}
    command = [sys.executable, "script.py"]
    ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-2000:] + ran.stderr[-3000:]
