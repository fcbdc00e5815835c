"""Missing values: sums over missing units, and their draws, given the seen units of a row."""
