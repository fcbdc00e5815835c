"""Evaluation of a model: one class for each block of scores, and the loop over the blocks."""
