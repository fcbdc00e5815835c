"""What pytest leaves out: faces towards packages that are not installed."""

from importlib.util import find_spec

NEEDED = {
    "src/harmonium/keras": ["keras"],
    "tests/faces/keras": ["keras"],
    "tests/faces/interop": ["torch", "rbms"],
    "tests/faces/ways": ["tensorflow"],
}
collect_ignore = [place for place, names in NEEDED.items() if not all(map(find_spec, names))]
