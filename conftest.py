"""What pytest leaves out: interfaces towards packages that are not installed."""

from importlib.util import find_spec

NEEDED = {
    "src/harmonium/keras": ["keras"],
    "tests/interfaces/keras": ["keras"],
    "tests/interfaces/io": ["torch", "rbms"],
    "tests/interfaces/from_scratch": ["tensorflow"],
}
collect_ignore = [place for place, names in NEEDED.items() if not all(map(find_spec, names))]
