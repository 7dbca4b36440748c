"""Real data sets out of packages: what they are, how to fetch them, how to read them."""
