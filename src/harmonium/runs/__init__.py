"""The functions behind the command: train, evaluate, sample, export and describe."""
