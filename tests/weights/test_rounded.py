"""Weights rounded to bfloat16; tests/test_precision.py tests when they are used."""

import harmonium as hm

EXAMPLES = [hm.Rounded, lambda w: hm.Rounded(w.T).T]
