"""Candidates compared by how well they reconstruct rows that were held out, and the choice of one."""
