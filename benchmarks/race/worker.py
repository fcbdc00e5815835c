"""One contestant in a process of its own, which answers lines of its input by lines of JSON.

python worker.py NAME WORKLOAD        a line holds a number of units; the answer, their seconds

Memory is that of the GPU where the contestant uses one, else of the process.
"""

import json
import os
import resource
import sys
import time
from importlib import import_module
from pathlib import Path

STARTED = time.perf_counter()


def answer(**what) -> None:
    """Print an answer as a line of JSON."""
    answers.write(json.dumps(what) + "\n")
    answers.flush()


def main(name: str, workload: str) -> None:
    """Start up, make one unit, then the requested numbers of units."""
    from workloads import CONTESTANTS, LARGE, WORKLOADS, CannotError

    load = {load.name: load for load in WORKLOADS + LARGE}[workload]
    entry = CONTESTANTS[name]
    try:
        module = import_module(entry.file)
        if not hasattr(module, load.verb):
            raise CannotError(f"it has no {load.verb}")
        run = getattr(module, load.verb)(load, **entry.options)
        run(1)
    except CannotError as reason:
        answer(cannot=str(reason))
        return
    answer(ready=time.perf_counter() - STARTED)
    for line in sys.stdin:
        started = time.perf_counter()
        units = run(int(line))
        seconds = time.perf_counter() - started
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if hasattr(module, "device_mib"):
            peak = module.device_mib() or peak
        answer(units=units, seconds=seconds, peak_mib=round(peak))


if __name__ == "__main__":
    # Output that a package prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    sys.path.append(str(Path(__file__).parents[1]))  # what all benchmarks share
    main(*sys.argv[1:])
