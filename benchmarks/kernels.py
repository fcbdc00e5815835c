"""The kernels of an update, compiled for an H100 on a computer that need not have a GPU.

    python benchmarks/kernels.py [WORKLOAD ...] [--list]

XLA compiles for a GPU that is described to it. What it makes of an update can then be counted:
each kernel takes a microsecond or more, however little it computes, and of a large model the time
is that of moving its weights. `--list` names the kernels, with what they read and write. Choices
that are measured on a GPU, such as the form of a product, are left at what XLA takes without
measuring, so a count may differ by a few. It needs an environment
with `pip install 'jax[cuda12]'` (5 GB), and harmonium in it.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from types import SimpleNamespace
from typing import Any, NamedTuple

os.environ["JAX_PLATFORMS"] = "cpu"  # where what is not compiled for the GPU is computed

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from reporting import head, parser_of, row

import harmonium as hm
from harmonium._base import device
from harmonium._base.compiler_options import IN_COMMAND_BUFFERS
from harmonium.training import chunks
from harmonium.training.arguments import first_state, plan_run

# An H100 (SXM5), as NVIDIA's data sheet and its driver describe it.
H100 = """
gpu_device_info {
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: 84978434048
  shared_memory_per_block_optin: 232448
  cuda_compute_capability { major: 9 minor: 0 }
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}
platform_name: "CUDA"
dnn_version_info { major: 9 minor: 10 }
device_description_str: "NVIDIA H100 80GB HBM3"
"""
# Nothing can be measured without a GPU.
WITHOUT_MEASURING: Any = {"xla_gpu_autotune_level": 0}
LAUNCHED = ("fusion", "custom-call", "copy", "sort", "reduce", "scatter", "gather", "dot")
ROWS = 60_000


class Workload(NamedTuple):
    """Updates whose kernels are counted.

    Attributes:
        visible: the number of visible units.
        hidden: that of hidden units.
        batch: rows in an update.
        precision: of products with the weights.
        recipe: the optimiser.
    """

    visible: int
    hidden: int
    batch: int
    precision: str
    recipe: hm.Recipe


PLAIN = hm.Recipe(rate=0.05, centring=None, averaging=None, hold=1.0)
WORKLOADS = {
    "784x500-plain": Workload(784, 500, 512, "bfloat16", PLAIN),
    "784x500": Workload(784, 500, 512, "bfloat16", hm.Recipe()),
    "784x500-float32": Workload(784, 500, 512, "float32", hm.Recipe()),
    "64x64": Workload(64, 64, 100, "float32", hm.Recipe()),
    "4096x4096": Workload(4096, 4096, 1024, "bfloat16", hm.Recipe()),
}


def compiled_run(workload: Workload) -> Any:
    """Return what XLA makes of a run of such updates by PCD-1 with 500 chains."""
    key = jax.random.key(0)
    rng = np.random.default_rng(0)
    rows = (rng.random((ROWS, workload.visible)) < 0.4).astype(np.uint8)
    rbm = hm.initialize(
        hm.Bernoulli(workload.visible), hm.Bernoulli(workload.hidden), rows, key=key
    )
    options: Any = {"batch_size": workload.batch, "precision": workload.precision, "epochs": 1_000}
    plan = plan_run(rbm, rows, optimizer=workload.recipe, **options)
    state = first_state(rbm, plan, key=key)
    parts = (plan.dataset.padded(), jnp.asarray(ROWS, jnp.int32), state)
    arrays, structure = jax.tree.flatten(parts)

    def advanced(arrays: list[jax.Array], until: jax.Array) -> list[jax.Array]:
        dataset, count, state = jax.tree.unflatten(structure, arrays)
        after = chunks.advanced(plan.method, dataset, count, state, until, key=key)
        return jax.tree.leaves(after)

    described = topologies.get_topology_desc("", "cuda", target_config=H100, topology="1x1x1")
    mesh = Mesh(np.array(described.devices[:1]), ("gpu",))
    there = NamedSharding(mesh, PartitionSpec())
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=there) for x in arrays]
    until = jax.ShapeDtypeStruct((), jnp.int32, sharding=there)
    of_host = device.device
    device.device = lambda: SimpleNamespace(platform="gpu", compute_capability="9.0")
    try:
        lowered = jax.jit(advanced, out_shardings=there).lower(shapes, until)
    finally:
        device.device = of_host
    return lowered.compile(compiler_options=IN_COMMAND_BUFFERS | WITHOUT_MEASURING)


class Kernel(NamedTuple):
    """A kernel of an update.

    Attributes:
        name: as XLA calls it.
        results: the types and shapes of what it writes.
        operands: those of what it reads.
    """

    name: str
    results: str
    operands: str


def kernels_of_an_update(text: str) -> list[Kernel]:
    """Return the kernels of the loop that has most of them."""
    computations: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        begins = re.match(r"(?:ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{", line)
        if begins:
            lines = computations.setdefault(begins[1], [])
        elif line.startswith("}"):
            lines = []
        else:
            lines.append(re.sub(r"\{[\d,:TS()]*\}", "", line.strip()))  # without layouts
    kernels = []
    for name, lines in computations.items():
        if "fus" in name:  # what is inside a kernel
            continue
        instruction = r"(?:ROOT )?%?([\w.\-]+) = (.*?) ([a-z\-]+)\((.*?)\)"
        parsed = [found for found in (re.match(instruction, line) for line in lines) if found]
        types = {found[1]: found[2] for found in parsed}
        launched = [found for found in parsed if found[3] in LAUNCHED]
        kernels.append(
            [
                Kernel(
                    found[1],
                    found[2],
                    ", ".join(types.get(x, "") for x in re.findall(r"%([\w.\-]+)", found[4])),
                )
                for found in launched
            ]
        )
    return max(kernels, key=len)


def bytes_moved(kernels: list[Kernel], workload: Workload) -> float:
    """Return the bytes that kernels read and write of arrays as large as W, for each weight."""
    count = workload.visible * workload.hidden
    total = 0
    for kernel in kernels:
        arrays = re.findall(r"\b[a-z]+(\d+)\[([\d,]+)\]", kernel.results + kernel.operands)
        for width, shape in arrays:
            sizes = [int(size) for size in shape.split(",")]
            if {workload.visible, workload.hidden} <= set(sizes) and math.prod(sizes) % count == 0:
                total += math.prod(sizes) * int(width) // 8
    return total / count


def main(args: argparse.Namespace) -> None:
    """Print a line for each workload."""
    print(head(["update", "kernels", "bytes moved, a weight"]))
    for name in args.workloads or WORKLOADS:
        if name not in WORKLOADS:
            sys.exit(f"{name}: expected one of {', '.join(WORKLOADS)}")
        workload = WORKLOADS[name]
        run = compiled_run(workload)
        kernels = kernels_of_an_update(run.as_text())
        moved = bytes_moved(kernels, workload)
        print(row([name, str(len(kernels)), f"{moved:.0f}"]), flush=True)
        if args.list:
            for kernel in kernels:
                print(f"    {kernel.name}: {kernel.operands} → {kernel.results}", file=sys.stderr)


if __name__ == "__main__":
    main(parser_of(__doc__, workloads=[], list=False).parse_args())
