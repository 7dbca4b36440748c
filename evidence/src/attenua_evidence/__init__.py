"""What the corrections gain on a collection of real data sets, compared with PCA and other methods."""
