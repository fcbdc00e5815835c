"""One contestant in a process of its own: asked by lines on its input, it answers by lines of JSON.

python worker.py NAME WORKLOAD        each line a number of units; each answer their seconds
"""

import json
import os
import resource
import sys
import time
from importlib import import_module

BEGAN = time.perf_counter()


def say(**what) -> None:
    """Answer."""
    answers.write(json.dumps(what) + "\n")
    answers.flush()


def main(name: str, workload: str) -> None:
    """Get ready, make one unit, then what is asked for."""
    from workloads import CONTESTANTS, WORKLOADS, CannotError

    load = next(each for each in WORKLOADS if each.name == workload)
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
        say(units=units, seconds=seconds, peak_mib=round(peak))


if __name__ == "__main__":
    # What a package prints goes elsewhere than the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    main(*sys.argv[1:])
