"""Print which of the flags given every XLA of this environment knows.

XLA ends the program at a flag that it does not know, and versions know different ones, so each is
tried in a process of its own. Where TensorFlow is there, it brings an XLA of its own, which reads
the same variable.
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
STARTED = [
    (
        flag,
        subprocess.Popen(
            [sys.executable, "-c", TRIED],
            env=os.environ | {"XLA_FLAGS": flag},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        ),
    )
    for flag in sys.argv[1:]
]
print(*[flag for flag, process in STARTED if process.wait() == 0])
