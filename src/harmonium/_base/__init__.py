"""Foundations of all other modules: input checks, stable numerics, random numbers and devices."""
