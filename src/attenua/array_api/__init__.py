"""Arrays of torch, CuPy and others on their own device, through the array API standard.

The rooms are those of the rest of the package, in the same order: moments, subspaces for many strengths, a
choice, an estimator. Every call is one of the standard, so that any library that follows it will do.
"""
