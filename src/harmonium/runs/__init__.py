"""The functions that the command line calls, for example to train, evaluate or sample."""
