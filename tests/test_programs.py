"""Compiled programs that outlast the process: never a wrong one, never an error, never a word."""

import json
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.compilation_cache import compilation_cache

import harmonium as hm
from harmonium._base import one_thread, program_files, programs
from harmonium._base.programs import UnknownPartError, compiled, described
from harmonium._base.threefry import key_of


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of programs of its own, without JAX's cache, from which programs are not written."""
    monkeypatch.setenv(program_files.VARIABLE, str(tmp_path / "programs"))
    program_files._make_room.cache_clear()
    jax.config.update("jax_enable_compilation_cache", False)
    compilation_cache.reset_cache()
    programs.forget()
    yield tmp_path / "programs"
    jax.config.update("jax_enable_compilation_cache", True)
    compilation_cache.reset_cache()
    program_files._make_room.cache_clear()
    programs.forget()


@compiled
def scaled(x, factor, *, power=2):
    """A function to compile, which notes that it is traced."""
    TRACED.append(factor)
    return {"scaled": x * factor**power, "power": power}


TRACED = []


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """Let functions of this file be known, as those of the package are."""
    packages = programs.KNOWN_PACKAGES | {__name__.partition(".")[0]}
    monkeypatch.setattr(programs, "KNOWN_PACKAGES", packages)
    TRACED.clear()


def run_again(*arguments, **named):
    """Call `scaled` as another process would: without what this one remembers."""
    programs.forget()
    return scaled(*arguments, **named)


# ------------------------------------------------------------------ one process after another

RUN = """
import hashlib, json, sys
import jax, numpy as np
import harmonium as hm
from harmonium.sklearn import BernoulliRBM

compiled = []


def note(event, *_, **__):
    if event.endswith("backend_compile_duration"):
        compiled.append(event)


key = jax.random.key(3)  # JAX's own program
jax.monitoring.register_event_duration_secs_listener(note)
rows = (np.random.default_rng(0).random((60, 12)) < 0.3).astype(np.float32)
model = BernoulliRBM(5, n_iter=3, random_state=0).fit(rows)
scores = model.score_samples(rows)
for _ in range(2):
    model.partial_fit(rows[:10])
rows = np.arange(200).reshape(50, 4) % 3
start = hm.initialize(hm.Potts(4, 3), hm.Gaussian(3), rows, key=key)
fit = hm.fit(start, rows, key=key, epochs=2, validation=np.ones((5, 4)))
drawn = hm.sample(fit.rbm, 7, key=key)
arrays = [*map(np.asarray, jax.tree.leaves((model.rbm_, fit.rbm, fit.state)[:2])), scores, drawn]
digest = hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()
print(json.dumps([len(compiled), digest]))
"""


COMMANDS = """
import contextlib, io, json, sys
import jax
from harmonium.cli import main

compiled = []


def note(event, *_, **__):
    if event.endswith("backend_compile_duration"):
        compiled.append(event)


jax.monitoring.register_event_duration_secs_listener(note)
printed = io.StringIO()
for line in ("train bars --epochs 2 --hidden 4 --out run --overwrite", "sample run -n 10",
             "evaluate run --quick"):
    sys.argv = ["harmonium", *line.split()]
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        with contextlib.suppress(SystemExit):
            main()
scores = [line for line in printed.getvalue().splitlines() if "nats per row" in line]
print(json.dumps([len(compiled), scores]))
"""


def start(folder, code=None, **settings):
    """Start a process that trains, and keeps its programs in the folder."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("JAX_", "TF_CPP"))
    }
    environment |= {program_files.VARIABLE: str(folder)} | settings
    command = [sys.executable, "-c", code or RUN]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, env=environment, text=True, **pipes)


def ended(process):
    """Return the number of compilations in a process, and a digest of what it computed."""
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert not err  # nothing is printed, whatever XLA thinks of the files
    return json.loads(out)


def test_a_later_process_compiles_nothing_and_computes_the_same_bits(tmp_path):
    without, digest = ended(start("off"))
    pair = [start(tmp_path / "programs") for _ in range(2)]  # at once: either may write first
    for process in pair:
        assert ended(process)[1] == digest
    later, digest_later = ended(start(tmp_path / "programs"))
    assert (without > 15, later, digest_later) == (True, 0, digest)
    # Programs that JAX keeps are compiled for as many threads as there are cores.
    by_jax = start("off", JAX_COMPILATION_CACHE_DIR=str(tmp_path / "jax"))
    assert ended(by_jax)[1] == digest


def test_later_commands_compile_nothing_and_print_the_same(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, scores = ended(start(tmp_path / "programs", COMMANDS))
    later, scores_later = ended(start(tmp_path / "programs", COMMANDS))
    assert (first > 20, later, scores_later) == (True, 0, scores)
    assert scores


def test_what_comes_from_jaxs_own_cache_is_not_written_again(tmp_path):
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    _, digest = ended(start(tmp_path / "first", **cache))
    _, digest_second = ended(start(tmp_path / "second", **cache))
    assert len(list((tmp_path / "first").iterdir())) > 15
    assert not (tmp_path / "second").exists()
    assert digest == digest_second


# ------------------------------------------------------------------ the file of a program


def test_a_program_is_read_from_its_file(folder):
    x = jnp.arange(3.0)
    first = run_again(x, 2.0)
    assert len(TRACED) == 1
    (file,) = folder.iterdir()
    assert file.name.startswith("scaled-")
    assert file.stat().st_mode & 0o077 == 0  # the user's own
    again = run_again(x, 2.0)
    assert len(TRACED) == 1  # not traced
    assert again["power"] == 2
    assert again["scaled"].tolist() == first["scaled"].tolist() == [0.0, 4.0, 8.0]
    assert not again["scaled"].committed  # as what JAX computes elsewhere
    assert again["scaled"].aval == x.aval  # or all that take it would be compiled anew


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"",
        lambda content: content[: len(content) // 2],
        lambda content: content[:-100] + bytes(100),
        lambda content: b"harmonium program 0\n" + content.partition(b"\n")[2],
        lambda content: content[:40] + b"\x00" + content[41:],
    ],
)
def test_a_damaged_file_is_as_good_as_none(folder, damage):
    x = jnp.arange(3.0)
    run_again(x, 2.0)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    for _ in range(2):  # the second time it is written again
        assert run_again(x, 2.0)["scaled"].tolist() == [0.0, 4.0, 8.0]
        assert len(TRACED) == 2


def test_the_file_of_another_program_is_not_used(folder):
    x = jnp.arange(3.0)
    run_again(x, 2.0)
    (file,) = folder.iterdir()
    run_again(x, 3.0)
    other = next(entry for entry in folder.iterdir() if entry != file)
    file.write_bytes(other.read_bytes())
    assert run_again(x, 2.0)["scaled"].tolist() == [0.0, 4.0, 8.0]


def test_a_program_that_fails_when_it_first_runs_is_compiled(folder, monkeypatch):
    def failing(*_):
        raise jax.errors.JaxRuntimeError("NOT_FOUND: a part of the program")

    monkeypatch.setattr(program_files, "read", lambda *_: (failing, [programs._Place(0)]))
    assert run_again(jnp.arange(3.0), 2.0)["scaled"].tolist() == [0.0, 4.0, 8.0]


@pytest.mark.parametrize("obstacle", ["a file", "no permission", "no parent"])
def test_a_folder_that_cannot_be_written_is_left_alone(folder, monkeypatch, obstacle):
    if obstacle == "a file":
        folder.write_text("mine")
    elif obstacle == "no permission":
        folder.mkdir(mode=0o500)
    else:
        monkeypatch.setenv(program_files.VARIABLE, "/dev/null/programs")
    assert run_again(jnp.arange(3.0), 2.0)["scaled"].tolist() == [0.0, 4.0, 8.0]
    if obstacle == "a file":
        assert folder.read_text() == "mine"


def test_nothing_is_written_where_the_cache_is_off(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    for name in ("off", "OFF"):
        monkeypatch.setenv(program_files.VARIABLE, name)
        assert not program_files.are_kept()
        run_again(jnp.arange(3.0), 2.0)
    assert not list(tmp_path.iterdir())


def test_the_folder_is_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv(program_files.VARIABLE)
    assert program_files.are_kept()
    if sys.platform == "linux":
        assert program_files.folder() == tmp_path / "harmonium" / "programs"
    with monkeypatch.context() as without_home:
        without_home.setattr("platformdirs.user_cache_dir", lambda *_, **__: "~/.cache/harmonium")
        assert not program_files.are_kept()
    monkeypatch.setenv(program_files.VARIABLE, "~/elsewhere")
    assert program_files.folder() == Path.home() / "elsewhere"


def test_the_files_that_were_not_used_for_longest_are_removed(folder, monkeypatch):
    folder.mkdir()
    for age in range(7):
        (folder / f"program-{age}").write_bytes(bytes(100))
        os.utime(folder / f"program-{age}", (0, 1_000 - age))
    (folder / "precision.json").write_text("{}")
    os.utime(folder / "precision.json", (0, 0))
    monkeypatch.setattr(program_files, "MOST_BYTES", 400)
    program_files._make_room()
    assert {file.name for file in folder.iterdir()} == {
        "precision.json",
        *(f"program-{age}" for age in range(4)),
    }


# ------------------------------------------------------------------ what a program depends on


def names(**changed):
    """Return the name of a program's file, made anew."""
    program_files._surroundings.cache_clear()
    return program_files.name_of("f", "description")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("harmonium._base.program_files.digest_of_package", lambda: "another version"),
        ("harmonium._base.program_files.processor", lambda: "without AVX-512"),
        ("harmonium._base.program_files.cores", lambda: 64),
        ("jax.__version__", "0.99"),
        ("jaxlib.__version__", "0.99"),
        ("optax.__version__", "0.99"),
        ("sys.version", "3.99"),
    ],
)
def test_another_version_or_computer_has_other_files(monkeypatch, place, value):
    name = names()
    assert names() == name
    monkeypatch.setattr(place, value)
    changed = names()
    monkeypatch.undo()
    assert changed != name
    assert names() == name


def test_other_flags_and_settings_have_other_files(monkeypatch):
    name = names()
    monkeypatch.setenv("XLA_FLAGS", os.environ.get("XLA_FLAGS", "") + " --xla_cpu_max_isa=AVX2")
    assert names() != name
    monkeypatch.undo()
    assert names() == name
    with jax.enable_x64(True):
        assert names() != name
    with jax.default_matmul_precision("highest"):
        assert names() != name


def test_what_is_fixed_and_the_types_of_arrays_have_programs_of_their_own(folder):
    x = np.arange(3, dtype=np.float32)
    calls = [
        ((x, 2.0), {}),
        ((x, 2), {}),  # 2 == 2.0
        ((x, True), {}),
        ((x, 1), {}),  # 1 == True
        ((x, 2.0), {"power": 3}),
        ((x[:2], 2.0), {}),
        ((x.astype(np.int32), 2.0), {}),
        ((x, np.float32(2.0)), {}),
        ((x, jnp.asarray(2.0)), {}),  # weak
        ((x, jnp.asarray(2.0, jnp.float32)), {}),
    ]
    for arguments, named in calls:
        scaled(*arguments, **named)
    assert len(TRACED) == len(list(folder.iterdir())) == len(calls) - 1  # the last is np.float32's
    for arguments, named in calls:
        scaled(*arguments, **named)
        run_again(*arguments, **named)
    assert len(TRACED) == len(calls) - 1


PARTS = """
import sys
import equinox as eqx, optax
import harmonium as hm
from harmonium._base.programs import UnknownPartError, described
from registry import examples, name_of

unknown = []
for kind in ("layers", "samplers", "gradients"):
    texts = {}
    for part in examples(kind):
        try:
            text = described(part)
        except UnknownPartError as error:
            unknown.append(str(error))
            continue
        assert described(part) == text
        same = texts.setdefault(text, part)
        assert same is part or eqx.tree_equal(same, part), f"{name_of(part)}, {name_of(same)}"
    assert len(texts) > 3, kind
# Of two examples a test defines a part, and one is a sampler of another package.
assert len(unknown) == 3 and "OtherSampler" in unknown[2], unknown

recipes = [
    hm.Recipe(rate=0.1),
    hm.Recipe(rate=0.2),
    hm.Recipe(rate=0.1, penalties=(hm.Huber(),)),
    hm.Recipe(rate=0.1, penalties=(hm.Huber(0.1),)),
]
transformations = [recipe(100) for recipe in recipes]
transformations += [optax.sgd(0.1), optax.sgd(0.2), optax.sgd(0.1, momentum=0.5)]
transformations += [optax.adam(1e-3), optax.adam(1e-3, b1=0.8), optax.clip(1.0)]
transformations += [optax.sgd(optax.cosine_decay_schedule(0.1, n)) for n in (100, 50)]
texts = [described(transformation) for transformation in transformations]
assert len(set(texts)) == len(texts)
"""


def test_every_part_is_described_and_no_two_alike():
    # In a process of its own, where no function is wrapped to check the shapes of its arguments.
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    subprocess.run([sys.executable, "-c", PARTS], env=os.environ | {"PYTHONPATH": path}, check=True)


def test_arrays_that_a_function_holds_are_described_by_what_they_hold():
    def of(array):
        return lambda x: x + array

    arrays = [jnp.zeros(2), jnp.ones(2), np.zeros(2), jnp.zeros(3), jax.random.key(0)]
    texts = [described(of(array)) for array in arrays]
    assert len(set(texts)) == len(texts)
    assert described(of(jnp.ones(2))) == texts[1]


class Mine(hm.samplers.Gibbs):
    """A sampler of a user's own."""


def test_code_that_is_not_known_is_not_described(monkeypatch, folder):
    monkeypatch.undo()
    recursive = []
    recursive.append(recursive)
    unknown = [Mine(1), lambda x: x, scaled._function, object(), sys, recursive, {"a": Mine}]
    for value in unknown:
        with pytest.raises(UnknownPartError):
            described(value)


def test_a_function_of_unknown_code_is_compiled_and_not_written(folder):
    @compiled
    def applied(x, function):
        return function(x)

    def of(shift):
        return eval("lambda x: x + shift", {"__name__": "__main__", "shift": shift})

    assert applied(jnp.zeros(2), of(1.0)).tolist() == [1.0, 1.0]
    assert applied(jnp.zeros(2), of(2.0)).tolist() == [2.0, 2.0]
    assert not folder.exists()


SOLVER = """
import jax.numpy as jnp, numpy as np
from harmonium._base import programs

programs.KNOWN_PACKAGES |= {"__main__"}
ends = programs.compiled(lambda matrix: jnp.linalg.eigh(matrix)[0])
print(ends(np.diag([2.0, 1.0]).astype(np.float32)).tolist())
"""


def test_a_program_that_calls_lapack_finds_it_in_a_later_process(tmp_path):
    environment = os.environ | {program_files.VARIABLE: str(tmp_path)}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    for _ in range(2):
        command = [sys.executable, "-c", SOLVER]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "[1.0, 2.0]\n"), done.stderr
        assert len(list(tmp_path.iterdir())) == 1


def test_a_program_that_calls_python_is_not_written(folder):
    @compiled
    def called(x):
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda a: np.asarray(a) + 1, like, x)

    assert called(jnp.zeros(2)).tolist() == [1.0, 1.0]
    assert not folder.exists()


# ------------------------------------------------------------------ within other programs


def test_transformations_of_jax_apply(folder):
    x = jnp.arange(3.0)
    assert jax.jit(lambda x: scaled(x, 2.0)["scaled"])(x).tolist() == [0.0, 4.0, 8.0]
    assert jax.grad(lambda x: scaled(x, 2.0)["scaled"].sum())(x).tolist() == [4.0, 4.0, 4.0]
    assert jax.vmap(lambda x: scaled(x, 2.0)["scaled"])(x).tolist() == [0.0, 4.0, 8.0]
    assert not folder.exists()
    assert jax.eval_shape(lambda: scaled(x, 2.0)["scaled"]).shape == (3,)


def test_settings_of_jax_and_meshes_are_heeded(folder):
    x = jnp.arange(3.0)
    scaled(x, 2.0)
    with jax.disable_jit():
        scaled(x, 2.0)
    assert len(TRACED) == 2
    with jax.enable_x64(True):
        assert scaled(jnp.arange(3.0, dtype=jnp.float64), 2.0)["scaled"].dtype == jnp.float64
    with jax.debug_nans(True), pytest.raises(FloatingPointError):
        scaled(x * jnp.inf, 0.0)
    with hm.use_mesh({"data": 1}):
        assert scaled(x, 2.0)["scaled"].tolist() == [0.0, 4.0, 8.0]


def test_what_cannot_be_compared_is_refused_as_by_equinox(folder):
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        scaled(jnp.arange(3.0), {1, 2})


# ------------------------------------------------------------------ programs for one thread


@compiled
def drawn(inputs, count):
    """Draws and sums, of which XLA divides the loops among threads if they are more than a few."""

    def step(i, total):
        key = jax.random.fold_in(key_of(0), i)
        draws = jax.random.uniform(key, inputs.shape) < jax.nn.sigmoid(inputs)
        return total + jnp.where(draws, inputs, 1.0)

    return jax.lax.fori_loop(0, count, step, jnp.zeros_like(inputs))


def loops_divided(call):
    """Return in how many places the program of a call has loops that are divided, and its result.

    It is what was compiled, whoever runs it.
    """
    programs_compiled = []
    compile_as_usual = jax.stages.Lowered.compile

    def noted(lowered, *args, **kwargs):
        program = compile_as_usual(lowered, *args, **kwargs)
        programs_compiled.append(program.as_text())
        return program

    programs.forget()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jax.stages.Lowered, "compile", noted)
        result = np.asarray(call())
    return sum(text.count('outer_dimension_partitions":["') for text in programs_compiled), result


@pytest.mark.skipif(one_thread.cores() == 1, reason="nothing is divided on one core")
def test_small_programs_have_one_thread_and_the_same_bits(folder, monkeypatch):
    monkeypatch.setenv(program_files.VARIABLE, "off")
    inputs = np.random.default_rng(0).normal(size=(64, 100)).astype(np.float32)
    large = np.zeros((one_thread.SMALL, 2), np.float32)

    def small():
        return drawn(inputs, 5)

    divided, result = loops_divided(small)
    assert divided == 0
    assert loops_divided(lambda: drawn(large, 2))[0] > 0
    monkeypatch.setattr(one_thread, "SMALL", 0)
    divided_as_usual, expected = loops_divided(small)
    assert divided_as_usual > 0
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("threads", [None, "3"])
def test_without_a_client_of_one_thread_programs_are_compiled_as_usual(
    folder, monkeypatch, threads
):
    if threads is None:
        monkeypatch.delenv(one_thread.NPROC, raising=False)
    else:
        monkeypatch.setenv(one_thread.NPROC, threads)
    one_thread._device.cache_clear()
    seen = []

    def failing():
        seen.append(os.environ[one_thread.NPROC])
        raise AttributeError("a part of jaxlib that has changed")

    monkeypatch.setattr("jaxlib.xla_client.make_cpu_client", failing)
    monkeypatch.setattr(one_thread, "cores", lambda: 2)
    assert drawn(np.zeros(3, np.float32), 2).shape == (3,)
    assert seen == ["1"]
    assert os.environ.get(one_thread.NPROC) == threads
    one_thread._device.cache_clear()


def test_the_largest_array_is_that_of_any_part():
    def nested(x):
        def body(i, total):
            return jax.lax.cond(total > i, lambda t: t + jnp.ones((7, 5)).sum(), lambda t: t, total)

        return jax.lax.fori_loop(0, 3, body, x[0])

    # What is an argument need not be computed.
    assert one_thread.largest_array(jax.make_jaxpr(nested)(np.zeros(1000, np.float32)).jaxpr) == 35


def test_options_that_the_compiler_does_not_know_are_left_out(monkeypatch):
    from harmonium._base import compiler_options

    monkeypatch.setattr(compiler_options, "_UNKNOWN", set())
    lowered = jax.jit(lambda x: x + 1).lower(1.0)
    known = {"xla_gpu_graph_min_graph_size": 1}
    program = compiler_options.compile_with(lowered, {**known, "xla_no_such_option": True})
    assert float(program(1.0)) == 2.0
    assert {"xla_no_such_option"} == compiler_options._UNKNOWN


def test_programs_with_loops_are_compiled_into_command_buffers_on_a_gpu(monkeypatch, tmp_path):
    from types import SimpleNamespace

    from harmonium._base import compiler_options

    def names(function):
        return set(compiler_options.options_for(jax.make_jaxpr(function)(1.0).jaxpr))

    def looped(x):
        return jax.lax.fori_loop(0, 3, lambda _, y: y + 1.0, x)

    assert names(looped) == set()  # on a CPU
    monkeypatch.setenv("HARMONIUM_CACHE", str(tmp_path))
    monkeypatch.setattr(compiler_options, "device", lambda: SimpleNamespace(platform="gpu"))
    measured = {compiler_options.MEASUREMENTS}
    assert names(looped) == measured | set(compiler_options.IN_COMMAND_BUFFERS)
    assert names(lambda x: x + 1.0) == measured
    monkeypatch.setenv("HARMONIUM_CACHE", "off")
    assert names(lambda x: x + 1.0) == set()
