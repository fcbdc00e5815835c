"""The parts of the evaluation of a model, with one class for each block of scores."""
