"""The functions behind the command line: train, evaluate, sample, export and describe."""
