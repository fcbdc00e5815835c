"""Weights rounded to bfloat16; tests/test_precision.py tests when they are used."""

import harmonium as hm

EXAMPLES = [hm.weights.Rounded, lambda w: hm.weights.Rounded(w.T).T]
