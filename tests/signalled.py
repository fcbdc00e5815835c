"""The command, in which one process sends itself a signal; saves after every chunk of updates.

SIGNALLED="PROCESS SIGNAL UPDATES" python signalled.py train ...
"""

import os

from harmonium.cli import main
from harmonium.runs import checkpointing

checkpointing.SECONDS_BETWEEN_CHECKPOINTS = -1.0


def signalled(call):
    process, number, updates = map(int, os.environ["SIGNALLED"].split())

    def called(self, report):
        call(self, report)
        import jax

        if report.updates >= updates and jax.process_index() == process:
            os.kill(os.getpid(), number)

    return called


if __name__ == "__main__":
    if "SIGNALLED" in os.environ:
        checkpointing.Checkpointer.__call__ = signalled(checkpointing.Checkpointer.__call__)
    main()
