"""Missing values: sums over missing units and draws of them, given the seen units of a row."""
