"""The study on the collection: PCA, its corrections and what a person would use instead."""
