"""A run from a source to a folder: what the command does, as plain functions."""
