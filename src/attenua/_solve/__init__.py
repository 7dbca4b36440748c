"""Leading subspaces of the matrices of a family, accurate in the variance that they explain."""
