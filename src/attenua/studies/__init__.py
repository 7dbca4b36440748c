"""Studies: comparisons of subspace estimates on held-out rows."""
