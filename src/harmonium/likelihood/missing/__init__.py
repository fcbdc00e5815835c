"""Missing values: sums over the missing units of a row, and draws, given the seen units."""
