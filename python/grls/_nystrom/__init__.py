"""Models on centres: which rows these are, the sums over all rows, and the equations in them."""
