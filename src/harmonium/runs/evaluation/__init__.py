"""Evaluation of a model: one class per block, and the loop over them."""
