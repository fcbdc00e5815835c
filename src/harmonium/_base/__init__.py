"""Shared foundations: errors, checks, stable functions, random numbers, devices."""
