"""What people do with components and covariances of few rows: six tasks, and help from other data."""
