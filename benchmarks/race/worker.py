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

BEGAN = time.perf_counter()


def say(**what) -> None:
    """Print an answer as a line of JSON."""
    answers.write(json.dumps(what) + "\n")
    answers.flush()


def main(name: str, workload: str) -> None:
    """Start up, make one unit, then the requested numbers of units."""
    from workloads import CONTESTANTS, LARGE, WORKLOADS, CannotError

    load = next(each for each in WORKLOADS + LARGE if each.name == workload)
    file, options, _ = CONTESTANTS[name]
    try:
        module = import_module(file)
        if not hasattr(module, load.verb):
            raise CannotError(f"it has no {load.verb}")
        run = getattr(module, load.verb)(load, **options)
        run(1)
    except CannotError as reason:
        say(cannot=str(reason))
        return
    say(ready=time.perf_counter() - BEGAN)
    for line in sys.stdin:
        began = time.perf_counter()
        units = run(int(line))
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        on_device = getattr(module, "device_mib", lambda: None)() or peak
        say(units=units, seconds=seconds, peak_mib=round(on_device))


if __name__ == "__main__":
    # Output that a package prints must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    main(*sys.argv[1:])
