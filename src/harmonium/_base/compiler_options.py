"""Options that XLA receives when it compiles a program for a GPU.

A small update consists of a few dozen kernels of a few microseconds each, and launching a kernel
takes about as long as running it. A command buffer (a CUDA graph) launches many kernels at once,
including those of loops with a known number of iterations. When XLA compiles a program, it times
alternative kernels and chooses the fastest; the times are kept in files, in the folder of the
compiled programs, for later processes.
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
_UNKNOWN: set[str] = set()  # options unknown to the compiler of this process


def options_for(jaxpr: Any) -> dict[str, Any]:
    """Return XLA's options for a program, or an empty dict if the program does not run on a GPU."""
    if device().platform != "gpu":
        return {}
    options: dict[str, Any] = {}
    if has_loop(jaxpr):  # other programs gain nothing from a graph, which takes time to record
        options |= IN_COMMAND_BUFFERS
    if program_files.are_kept():
        folder = program_files.folder() / "measured"
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            options[MEASUREMENTS] = str(folder)
    return {name: value for name, value in options.items() if name not in _UNKNOWN}


def compile_with(lowered: Any, options: dict[str, Any]) -> Any:
    """Compile a program with these options, omitting any that the compiler does not know."""
    while options:
        try:
            return lowered.compile(compiler_options=options)
        except Exception as error:
            unknown = {name for name in options if name in str(error)} or set(options)
            _UNKNOWN.update(unknown)
            options = {name: options[name] for name in options if name not in unknown}
    return lowered.compile()
