"""What is spread over devices is the same: same seed, same chains, same parameters."""

import json
import math
import os
import socket
import subprocess
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import harmonium as hm
from registry import ALL

HERE = Path(__file__).parent
EVERYTHING = ("Gibbs", "exchange", "annealing", "scores")
# Meshes of up to eight virtual devices, and of processes, and what is computed on them; here some
# of all, which `make laws` has.
DEVICES = [({"data": 8}, ["Gibbs", "scores"])]
DEVICES += [({"data": 4, "hidden": 2}, ["exchange", "annealing", "scores"])]
PROCESSES = [({"data": 2}, ["Gibbs", "scores"]), ({"data": 2, "hidden": 2}, ["Gibbs"])]
if ALL:
    meshes = [{axis: size} for axis in ("data", "hidden") for size in (1, 2, 8)]
    meshes += [{"data": data, "hidden": 8 // data} for data in (2, 4)]
    DEVICES = [(mesh, EVERYTHING) for mesh in meshes]
    meshes = [{axis: size} for axis in ("data", "hidden") for size in (2, 4)]
    PROCESSES = [(mesh, EVERYTHING) for mesh in (*meshes, {"data": 2, "hidden": 2})]
LIMIT = 600.0  # seconds, for machines with much else to do
EXACT = {"JAX_ENABLE_X64": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}


@pytest.fixture(scope="module")
def results():
    """Return the results of a process with eight virtual devices."""
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8"
    process = subprocess.run(
        [sys.executable, str(HERE / "eight_devices.py"), json.dumps(DEVICES)],
        env=os.environ | EXACT | {"XLA_FLAGS": flags},
        capture_output=True,
        text=True,
        check=False,
        timeout=LIMIT * len(DEVICES),
    )
    assert process.returncode == 0, process.stderr[-3000:]
    return json.loads(process.stdout)


def check_same(spread, alone):
    """Check that several devices give the results of one."""
    for part, array in spread.items():
        if part == "scores":
            np.testing.assert_allclose(array, alone[part], rtol=1e-9)
        else:
            wanted = alone[part]["parameters"]
            np.testing.assert_allclose(array["parameters"], wanted, rtol=0.0, atol=1e-6)
            assert array["chains"] == alone[part]["chains"]


@pytest.mark.parametrize("number", range(len(DEVICES)), ids=lambda number: str(DEVICES[number][0]))
def test_same_seed_same_chains_after_a_thousand_updates(results, number):
    assert results["spread"][number].keys() == set(DEVICES[number][1])
    check_same(results["spread"][number], results["alone"])


def test_a_run_moves_between_numbers_of_devices(results):
    check_same({"Gibbs": results["moving"]}, results["alone"])


def test_rows_are_spread_where_they_meet_the_weights(results):
    assert "'data'" in results["states"]


def test_an_update_sends_what_the_formula_counts(results):
    """One gradient, and the inputs of each sweep: nothing is sent twice, and W never."""
    for counted, formula in results["sent"]:
        assert counted == formula


def test_meshes_that_cannot_be_used_are_refused(results):
    wanted = [
        "mesh: expected no more devices than JAX finds here (8); got 16",
        "mesh: expected the axes 'data', 'hidden' or both; got 'rows'",
        "mesh: expected sizes of axes, such as {'data': 4}; got 'data=2'",
        "mesh: expected sizes of axes, such as {'data': 4}; got {'data': 0}",
        "batch_size: expected a multiple of 3, the size of the mesh's axis 'data'; got 16",
        "hidden units: expected a multiple of 3, the size of the mesh's axis 'hidden'; got 8",
        "chains: expected a multiple of 8, the size of the mesh's axis 'data'; got 500; choose 504",
    ]
    for words, message in zip(wanted, results["refused"], strict=True):
        assert message.startswith(words), message


@pytest.mark.parametrize(("mesh", "parts"), PROCESSES, ids=str)
def test_processes_share_a_run(mesh, parts, results, tmp_path):
    """Whatever time each of them takes: what depends on it is decided by the first one's clock."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    count = math.prod(mesh.values())
    processes = []
    for number in range(count):
        command = [sys.executable, str(HERE / "one_of_several.py"), str(number), str(count)]
        command += [str(port), str(tmp_path), json.dumps(mesh), *parts]
        with (tmp_path / f"{number}.err").open("w") as errors:
            streams = {"stdout": subprocess.PIPE, "stderr": errors}
            processes.append(subprocess.Popen(command, env=os.environ | EXACT, **streams))
    try:
        answers = [process.communicate(timeout=LIMIT)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    errors = [(tmp_path / f"{number}.err").read_text()[-2000:] for number in range(count)]
    assert [process.returncode for process in processes] == [0] * count, errors
    first, *others = (json.loads(answer.splitlines()[-1]) for answer in answers)
    assert all(other == first for other in others)
    assert first.keys() == set(parts)
    check_same(first, results["alone"])
    for method in first.keys() - {"scores"}:
        stored = jax.tree.leaves(hm.load(tmp_path / f"{method}.safetensors"))
        parameters = np.concatenate([np.asarray(array).ravel() for array in stored])
        np.testing.assert_array_equal(parameters, np.asarray(first[method]["parameters"], "f4"))


def test_a_mesh_of_one_device_changes_no_bit():
    rows = hm.bars_and_stripes(2)
    key = jax.random.key(0)
    rbm = hm.initialize(hm.Bernoulli(4), hm.Bernoulli(2), rows, key=key)
    plain = hm.fit(rbm, rows, key=key, epochs=20)
    given = jax.make_mesh((1, 1), ("hidden", "data"))  # explicit axes are left to XLA as well
    for mesh in (given, {"data": 1, "hidden": 1}):
        sharded = hm.fit(rbm, rows, key=key, epochs=20, mesh=mesh)
        assert (np.asarray(sharded.rbm.weights) == np.asarray(plain.rbm.weights)).all()


def test_a_mesh_of_the_users_own_is_left_alone():
    """Its axes may be explicit, along which JAX asks for a choice at every product."""
    rbm = hm.RBM.from_arrays(np.eye(4), np.zeros(4), np.zeros(4))
    with jax.set_mesh(jax.make_mesh((1,), ("data",))):
        assert hm.sample(rbm, 8, key=jax.random.key(0), steps=5).shape == (8, 4)
