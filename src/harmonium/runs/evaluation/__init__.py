"""An evaluation of a model: one class for each block, and the loop over them."""
