"""Corrections: the matrix that stands for the covariance at some strengths. Each has a file of its own."""
