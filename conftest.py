"""What pytest leaves out: faces towards packages that are not installed."""

from importlib.util import find_spec

collect_ignore = [] if find_spec("keras") else ["src/harmonium/keras", "tests/faces/keras"]
