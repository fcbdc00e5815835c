"""What everything stands on: errors, checks, stable functions, random numbers, devices."""
