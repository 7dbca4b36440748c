"""Rows of any container, read once, as weight, mean and scatter: one set for each fold."""
