"""What is spread over devices is the same: same seed, same chains, same parameters."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import harmonium as hm

PROGRAM = Path(__file__).with_name("eight_devices.py")
SEVERAL = Path(__file__).with_name("one_of_several.py")


@pytest.fixture(scope="module")
def found():
    """What a process with eight virtual devices finds."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    environment = {"XLA_FLAGS": flags, "JAX_ENABLE_X64": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


@pytest.mark.parametrize("method", ["pcd", "pt"])
def test_same_seed_same_chains_after_a_thousand_updates(found, method):
    for mesh, (apart, same) in found[method].items():
        assert same == 1.0, mesh
        assert apart < 1e-6, mesh


def test_a_run_moves_between_numbers_of_devices(found):
    apart, same = found["moving"]
    assert same == 1.0
    assert apart < 1e-6


def test_sums_annealing_and_scores_are_the_same(found):
    alone, *others = found["scoring"]
    for other in others:
        np.testing.assert_allclose(other, alone, rtol=1e-9)


def test_rows_are_spread_where_they_meet_the_weights(found):
    assert "'data'" in found["spread"]


def test_an_update_sends_what_the_formula_counts(found):
    """One gradient, and the inputs of each sweep: nothing is sent twice, and W never."""
    for counted, formula in found["sent"]:
        assert counted == formula


def test_what_cannot_be_spread_is_refused(found):
    wanted = [
        "mesh: expected at most 8 devices, which JAX has here; got 16",
        "mesh: expected the axes 'data', 'hidden' or both; got 'rows'",
        "mesh: expected sizes of axes, such as {'data': 4}; got 'data=2'",
        "mesh: expected sizes of axes, such as {'data': 4}; got {'data': 0}",
        "batch_size: expected a multiple of 3, the size of the mesh's axis 'data'; got 16",
        "hidden units: expected a multiple of 3, the size of the mesh's axis 'hidden'; got 8",
        "chains: expected a multiple of 8, the size of the mesh's axis 'data'; got 500. Choose 504",
    ]
    for words, message in zip(wanted, found["refused"], strict=True):
        assert message.startswith(words), message


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """What one process finds by itself, in one run for all axes."""
    folder = str(tmp_path_factory.mktemp("alone"))
    run = f"one_of_several.run(None, {folder!r})"
    done = subprocess.run(
        [sys.executable, "-c", f"import json, one_of_several; print(json.dumps({run}))"],
        env=os.environ | {"JAX_ENABLE_X64": "1", "TF_CPP_MIN_LOG_LEVEL": "3"},
        cwd=SEVERAL.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("axis", ["data", "hidden"])
def test_processes_share_a_run(axis, alone, tmp_path):
    """Whatever time each of them takes: what depends on it is decided by the first one's clock."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {"JAX_ENABLE_X64": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    started = []
    for number in range(2):
        command = [sys.executable, str(SEVERAL), str(number), "2", str(port), axis, str(tmp_path)]
        with (tmp_path / f"{number}.err").open("w") as errors:
            streams = {"stdout": subprocess.PIPE, "stderr": errors}
            started.append(subprocess.Popen(command, env=os.environ | environment, **streams))
    try:
        answers = [process.communicate(timeout=300)[0] for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    errors = [(tmp_path / f"{number}.err").read_text()[-2000:] for number in range(2)]
    assert [process.returncode for process in started] == [0, 0], errors
    one, other = (json.loads(answer.splitlines()[-1]) for answer in answers)
    assert one == other
    stored = np.asarray(hm.load(tmp_path / "model.safetensors").weights)
    np.testing.assert_array_equal(stored, np.asarray(one["weights"], np.float32))
    assert one["chains"] == alone["chains"]
    for name in ("weights", "log_likelihood", "annealed"):
        np.testing.assert_allclose(one[name], alone[name], atol=1e-6)


def test_a_mesh_of_one_device_changes_no_bit():
    rows, key = hm.bars_and_stripes(2), jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(2), rows, key=key)
    plain = hm.fit(rbm, rows, key=key, epochs=20)
    given = jax.make_mesh((1, 1), ("hidden", "data"))  # explicit axes are left to XLA as well
    for mesh in (given, {"data": 1, "hidden": 1}):
        one = hm.fit(rbm, rows, key=key, epochs=20, mesh=mesh)
        assert (np.asarray(one.rbm.weights) == np.asarray(plain.rbm.weights)).all()


def test_a_mesh_of_the_users_own_is_left_alone():
    """Its axes may be explicit, along which JAX asks for a choice at every product."""
    rbm = hm.RBM.from_arrays(np.eye(4), np.zeros(4), np.zeros(4))
    with jax.set_mesh(jax.make_mesh((1,), ("data",))):
        assert hm.sample(rbm, 8, key=jax.random.key(0), steps=5).shape == (8, 4)
