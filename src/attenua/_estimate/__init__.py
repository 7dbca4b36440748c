"""From one subspace to a fitted estimator: components, transform, inverse_transform, score."""
