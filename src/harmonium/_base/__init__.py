"""Code that all other modules use: input checks, numerical functions, random numbers, devices."""
