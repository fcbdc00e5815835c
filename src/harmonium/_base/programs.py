"""Compiled functions whose programs are kept in files, so that later processes need no tracing.

Tracing and compiling a program takes a second; running it takes a millisecond. JAX's own cache
saves only the time of compilation. Here the executable itself is kept in a file (`program_files`),
whose name is a digest of everything that the program depends on (see `described`). Programs with
parts that cannot be described, such as custom layers, are traced in each process.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import functools
import sys
import types
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar

import equinox as eqx
import jax
import numpy as np
from jax.core import Tracer

from . import one_thread, program_files
from .compiler_options import compile_with, options_for
from .device import device
from .numerics import from_numpy, in_precision

P = ParamSpec("P")
T = TypeVar("T")

# Settings that programs depend on and that may change within a process.
SETTINGS = (
    "jax_enable_x64",
    "jax_default_matmul_precision",
    "jax_threefry_partitionable",
    "jax_default_device",
    "jax_numpy_dtype_promotion",
    "jax_numpy_rank_promotion",
)
# Settings that make JAX do more than run a program, such as checking its results.
WATCHED = ("jax_disable_jit", "jax_debug_nans", "jax_debug_infs", "jax_check_tracer_leaks")
# Packages whose code is identified: harmonium by a digest, the others by their versions.
KNOWN_PACKAGES = frozenset(("harmonium", *program_files.PACKAGES, "builtins", "functools"))


class UnknownPartError(Exception):
    """Raised if a program depends on something that cannot be described."""


# This is not a NamedTuple, because a NamedTuple would be a node of the tree, not a leaf.
@dataclasses.dataclass(frozen=True)
class _Place:
    """A placeholder for an array in the tree of a result; `number` is the array's index."""

    number: int


class Executable(NamedTuple):
    """A compiled program, with the tree structure of its result.

    Attributes:
        call: a function from the arrays in the arguments to a list of the arrays in the result.
        leaves: the leaves of the result, with a `_Place` for each array.
        structure: the tree of the result.
    """

    call: Callable[..., Any]
    leaves: list[Any]
    structure: Any

    def __call__(self, arrays: list[jax.Array | np.ndarray]) -> Any:
        """Run the program on these arrays and return its result."""
        results = self.call(*arrays)
        leaves = [results[leaf.number] if type(leaf) is _Place else leaf for leaf in self.leaves]
        return jax.tree.unflatten(self.structure, leaves)


class Program(Generic[P, T]):
    """A function that is compiled once per combination of argument types; see `compiled`."""

    def __init__(self, function: Callable[P, T]):
        functools.update_wrapper(self, function)
        self._function = function
        self._jitted = eqx.filter_jit(function)
        self._executables: dict[Hashable, Executable] = {}
        _PROGRAMS.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Call the function, compiling a program for it if necessary."""
        config = jax.config
        is_shared = not jax.sharding.get_abstract_mesh().empty
        # With a mesh or these settings, JAX distributes the work or checks each step, neither of
        # which a program from a file can do.
        if is_shared or any(getattr(config, name) for name in WATCHED):
            return self._jitted(*args, **kwargs)
        leaves, structure = jax.tree.flatten((args, kwargs))
        arrays = []
        kinds = []
        for i, leaf in enumerate(leaves):
            if isinstance(leaf, np.ndarray | np.generic):
                # A program accepts NumPy arrays in a tenth of the time that JAX takes to convert
                # them. But NumPy arrays do not follow a change of the default device.
                leaf = leaves[i] = in_precision(np.asarray(leaf))
                if config.jax_default_device is None:  # pyright: ignore[reportAttributeAccessIssue]
                    kinds.append(_kind_of_numpy(leaf.shape, leaf.dtype))
                    arrays.append(leaf)
                    continue
                leaf = leaves[i] = from_numpy(leaf)
            if not isinstance(leaf, jax.Array):
                kinds.append((type(leaf), leaf))  # the type tells 1 from 1.0
                continue
            if _is_key(leaf):
                # Programs take the data of keys as arguments, since a key type is code, which
                # cannot be stored in a file.
                kinds.append(leaf.dtype)
                leaf = jax.random.key_data(leaf)
            if isinstance(leaf, Tracer):  # also the data of a concrete key, within another program
                return self._jitted(*args, **kwargs)
            kinds.append((leaf.aval, leaf.sharding))
            arrays.append(leaf)
        signature = (structure, *kinds, *(getattr(config, name) for name in SETTINGS))
        try:
            executable = self._executables.get(signature)
        except TypeError:  # a static argument is not hashable
            return self._jitted(*args, **kwargs)
        if executable is None:
            if not _are_here(arrays):
                return self._jitted(*args, **kwargs)
            executable, result = self._first_run(leaves, structure, arrays)
            self._executables[signature] = executable
            return result
        return executable(arrays)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Any:
        """Return the lowered program, as `lower` of a `jax.jit` function does, for inspection."""
        return self._jitted.lower(*args, **kwargs)  # pyright: ignore[reportAttributeAccessIssue]

    def _first_run(
        self, leaves: list[Any], structure: Any, arrays: list[jax.Array | np.ndarray]
    ) -> tuple[Executable, Any]:
        """Read or compile a program for these argument types; return the program and its result."""
        name = None
        if program_files.are_kept():
            arguments = jax.tree.unflatten(structure, [_kind_of(leaf) for leaf in leaves])
            with contextlib.suppress(UnknownPartError):
                description = described(self._function, arguments)
                name = program_files.name_of(self._function.__name__, description)
        if name is not None:
            stored = program_files.read(name, len(arrays))
            if stored is not None:
                call, outline = stored
                executable = Executable(call, *jax.tree.flatten(outline))
                # XLA looks up the parts of a program only when the program runs. If any part is
                # missing, the program is compiled.
                with contextlib.suppress(jax.errors.JaxRuntimeError):
                    return executable, jax.block_until_ready(executable(arrays))
        executable = self._compile(leaves, structure, arrays, name)
        return executable, executable(arrays)

    def _compile(
        self,
        leaves: list[Any],
        structure: Any,
        arrays: list[jax.Array | np.ndarray],
        name: str | None,
    ) -> Executable:
        """Compile the function for these argument types; store the program as `name`, if given."""
        put_back = [_put_back(leaf) for leaf in leaves]
        result = None

        def of_arrays(*arrays: jax.Array) -> list[jax.Array]:
            nonlocal result
            values = iter(arrays)
            args, kwargs = jax.tree.unflatten(structure, [put(values) for put in put_back])
            # The tree of the result is known only during tracing, so it is kept for later calls.
            returned: Any = self._function(*args, **kwargs)  # pyright: ignore[reportCallIssue]
            outputs, shape = jax.tree.flatten(returned)
            traced = [leaf for leaf in outputs if eqx.is_array(leaf)]
            numbers = iter(range(len(traced)))
            outline = [_Place(next(numbers)) if eqx.is_array(leaf) else leaf for leaf in outputs]
            result = Executable(len, outline, shape)
            return traced

        of_arrays.__name__ = self._function.__name__  # the name shown in profiles
        kinds = [_kind_of(array) for array in arrays]
        traced = jax.jit(of_arrays).trace(*kinds)
        program, content = _compiled(traced, len(arrays), is_kept=name is not None)
        assert result is not None
        if name is not None and content is not None:
            outline = jax.tree.unflatten(result.structure, result.leaves)
            program_files.write(name, content, outline)
        return result._replace(call=program)


def _compiled(
    traced: Any, count: int, *, is_kept: bool
) -> tuple[Any, program_files.Content | None]:
    """Compile a traced function; return the program, and the parts to store in a file or None.

    Args:
        traced: the traced function.
        count: the number of its arguments.
        is_kept: whether the program will be written to a file.
    """
    usual = device()
    compiler = one_thread.device_for(traced.jaxpr, usual)
    if compiler == usual:
        lowered = traced.lower()
    else:
        with jax.default_device(compiler):
            lowered = traced.lower()
    with program_files.compilation() as compiled_here:
        program = compile_with(lowered, options_for(traced.jaxpr.jaxpr))
    content = None
    if compiled_here() and (is_kept or compiler != usual):
        content = program_files.content_of(lowered, program)
    if compiler == usual:
        return program, content
    if content is not None:
        with contextlib.suppress(Exception):  # whatever the error, the program can be compiled
            return content.loaded(count), content
    return traced.lower().compile(), None  # `program` is bound to the device that compiled it


_PROGRAMS: list[Program] = []


def forget() -> None:
    """Free the memory of all programs, which are read or compiled again when next needed."""
    for program in _PROGRAMS:
        program._executables.clear()


def compiled(function: Callable[P, T]) -> Program[P, T]:
    """Return a function that is compiled once per combination of argument types.

    Arrays are traced, and all other arguments are static, as with `equinox.filter_jit`. Within a
    traced program, and on several devices, the function behaves like `equinox.filter_jit`.
    """
    return Program(function)


def _put_back(leaf: Any) -> Callable[[Iterator[jax.Array]], Any]:
    """Return a function that restores a leaf, given an iterator of the traced arrays."""
    if not isinstance(leaf, jax.Array | np.ndarray):
        return lambda _: leaf
    if not _is_key(leaf):
        return next
    kind = jax.random.key_impl(leaf)
    return lambda values: jax.random.wrap_key_data(next(values), impl=kind)


def _is_key(leaf: jax.Array | np.ndarray) -> bool:
    return not isinstance(leaf.dtype, np.dtype)  # only keys lack a NumPy dtype


@functools.cache
def _kind_of_numpy(shape: tuple[int, ...], dtype: np.dtype) -> tuple[Any, Any]:
    """Return the JAX type and placement that a NumPy array of this shape and dtype would have."""
    place = jax.sharding.SingleDeviceSharding(device())
    return jax.typeof(jax.ShapeDtypeStruct(shape, dtype)), place


def _kind_of(leaf: Any) -> Any:
    """Return an array's shape and type, on which programs depend, or any other leaf unchanged."""
    if not isinstance(leaf, jax.Array | np.ndarray):
        return leaf
    is_weak = isinstance(leaf, jax.Array) and not _is_key(leaf) and leaf.weak_type
    return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, weak_type=is_weak)


def _are_here(arrays: list[jax.Array | np.ndarray]) -> bool:
    """Return whether all arrays are on the only device in use."""
    here = {device()}
    placed = [array for array in arrays if isinstance(array, jax.Array)]
    return jax.process_count() == 1 and all(array.devices() == here for array in placed)


# ---------------------------------------------------------------- dependencies of a program


def described(*values: Any) -> str:
    """Return a string that identifies values; values with equal strings can share a program.

    An array is described by its entries, and a `jax.ShapeDtypeStruct`, which represents an array
    argument, by its shape and type. A function is described by its location in the code of a known
    package and by the values in its closure, and a type by its name.

    Raises:
        UnknownPartError: the values contain anything else.
    """
    return "\n".join(_words_of(values, frozenset()))


def _words_of(value: Any, around: frozenset[int]) -> Iterator[str]:
    """Yield the words that describe a value; `around` holds the ids of the enclosing values."""
    if id(value) in around:
        raise UnknownPartError("a value that contains itself")
    if value is None or type(value) in (bool, int, float, complex, str, bytes):
        yield repr(value)
        return
    around = around | {id(value)}
    if isinstance(value, jax.ShapeDtypeStruct):
        yield f"argument {value.shape} {value.dtype} {value.weak_type}"
    elif isinstance(value, jax.Array | np.ndarray | np.generic):
        yield from _words_of_array(value)
    elif isinstance(value, types.FunctionType) and not _is_found_by_name(value):
        yield from _words_of_function(value, around)
    else:
        kind, *parts = _parts_of(value)
        yield f"{kind} {len(parts)}"
        for part in parts:
            yield from _words_of(part, around)


def _parts_of(value: Any) -> tuple[str, *tuple[Any, ...]]:
    """Return the name of a value's type and the value's parts, or the name of a global value."""
    if isinstance(value, np.dtype):
        return ("dtype", str(value))
    if isinstance(value, jax.tree_util.PyTreeDef):
        return ("structure", jax.tree.unflatten(value, [None] * value.num_leaves))
    if isinstance(value, types.MethodType):
        return ("method", value.__self__, value.__func__)
    if isinstance(value, enum.Enum):
        return (_name_of(type(value)), value.name)
    if isinstance(value, tuple | list):
        return (_name_of(type(value)), *value)
    if isinstance(value, dict):
        return (_name_of(type(value)), *value.keys(), *value.values())
    if isinstance(value, set | frozenset):
        return (_name_of(type(value)), *sorted(map(described, value)))
    if isinstance(value, functools.partial):
        return (_name_of(type(value)), value.func, value.args, value.keywords)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
        return (_name_of(type(value)), *names, *(getattr(value, name) for name in names))
    return (_name_of(value),)


def _words_of_array(array: Any) -> Iterator[str]:
    kind = str(array.dtype)
    if isinstance(array, jax.Array) and _is_key(array):
        array = jax.random.key_data(array)
    yield f"array {array.shape} {kind} {getattr(array, 'weak_type', False)}"
    yield np.asarray(array).tobytes().hex()


def _words_of_function(value: types.FunctionType, around: frozenset[int]) -> Iterator[str]:
    """Yield the words that describe a nested function: its location and its closure.

    The name of a program's file depends on the code of the package, so the location identifies the
    function.
    """
    _check_known(value.__module__)
    yield f"{value.__module__}:{value.__qualname__}:{value.__code__.co_firstlineno}"
    attributes = {name: part for name, part in vars(value).items() if name != "__wrapped__"}
    try:
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
    except ValueError:
        raise UnknownPartError("a variable that has no value yet") from None
    yield from _words_of((cells, value.__defaults__, value.__kwdefaults__, attributes), around)


def _name_of(value: Any) -> str:
    """Return the qualified name of a function, type or similar object of a known package."""
    if not _is_found_by_name(value):
        raise UnknownPartError(f"{type(value)}")
    _check_known(value.__module__)
    return f"{value.__module__}:{value.__qualname__}"


def _is_found_by_name(value: Any) -> bool:
    """Return whether looking up a value's name in the value's module yields the value itself."""
    owner: Any = sys.modules.get(getattr(value, "__module__", None) or "")
    for name in getattr(value, "__qualname__", "<locals>").split("."):
        owner = getattr(owner, name, None)
    return owner is value


def _check_known(module: str | None) -> None:
    if (module or "").partition(".")[0] not in KNOWN_PACKAGES:
        raise UnknownPartError(f"code of {module}")
