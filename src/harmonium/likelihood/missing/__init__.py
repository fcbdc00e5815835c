"""Missing values: sums over a row's missing units, and draws of them, given its seen units."""
