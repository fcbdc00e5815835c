"""The command, whose `tune` notices within seconds that a process has ended.

python tuned.py tune spec.toml
"""

import sys

from harmonium.cli import main
from harmonium.runs import checkpointing, study, tune

study.SECONDS_BETWEEN_HEARTBEATS = 1
study.SECONDS_UNTIL_STALE = 4
checkpointing.SECONDS_BETWEEN_CHECKPOINTS = 0.0  # so that it can be killed after any report
tune.OWN_COMMAND = (sys.executable, __file__)

if __name__ == "__main__":
    main()
