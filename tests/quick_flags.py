"""Print those of the given flags that every XLA of this environment knows.

XLA ends the program at a flag that it does not know, and its versions know different flags, so each
flag is tried in a process of its own. Where TensorFlow is installed, it brings its own XLA, which
reads the same variable.
"""

import os
import subprocess
import sys

TRIED = """
import jax
jax.devices()
try:
    import tensorflow as tf
except ImportError:
    pass
else:
    tf.function(lambda: tf.constant(0.0) + 1.0, jit_compile=True)()
"""


def known(flags: list[str]) -> list[str]:
    """Return the flags with which a process starts; they are tried at the same time."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", TRIED],
            env=os.environ | {"XLA_FLAGS": flag},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for flag in flags
    ]
    return [flag for flag, process in zip(flags, processes, strict=True) if process.wait() == 0]


if __name__ == "__main__":
    print(*known(sys.argv[1:]))
