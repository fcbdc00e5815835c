"""What XLA is told when it compiles a program for a GPU.

A small update is a few dozen kernels of some microseconds, and to launch one takes about as long.
A command buffer (a CUDA graph) launches many at once, a loop of a known number of turns included.
Which kernels suit the device is measured when they are compiled; the results are kept in files,
beside compiled programs, for the programs of later processes.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from . import program_files
from .device import device
from .one_thread import has_loop

IN_COMMAND_BUFFERS = {
    "xla_gpu_enable_command_buffer": (
        "FUSION,CUBLAS,CUBLASLT,CUSTOM_CALL,CUDNN,DYNAMIC_SLICE_FUSION,CONDITIONAL,WHILE"
    ),
    "xla_gpu_graph_min_graph_size": 1,
}
MEASUREMENTS = "xla_gpu_per_fusion_autotune_cache_dir"
_UNKNOWN: set[str] = set()  # to the compiler of this process


def options_for(jaxpr: Any) -> dict[str, Any]:
    """Return the options for a program; none where it does not run on a GPU."""
    if device().platform != "gpu":
        return {}
    options: dict[str, Any] = {}
    if has_loop(jaxpr):  # the others gain nothing by a graph, which takes time to record
        options |= IN_COMMAND_BUFFERS
    if program_files.are_kept():
        folder = program_files.folder() / "measured"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            options[MEASUREMENTS] = str(folder)
    return {name: value for name, value in options.items() if name not in _UNKNOWN}


def compile_with(lowered: Any, options: dict[str, Any]) -> Any:
    """Compile a program with these options, except for those that the compiler does not know."""
    while options:
        try:
            return lowered.compile(compiler_options=options)
        except Exception as error:
            unknown = {name for name in options if name in str(error)} or set(options)
            _UNKNOWN.update(unknown)
            options = {name: options[name] for name in options if name not in unknown}
    return lowered.compile()
