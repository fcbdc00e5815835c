"""Missing values: sums over the missing units of a row, and draws of them, given its seen units."""
