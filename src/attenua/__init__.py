"""Diagonal-attenuation PCA for limited data, with scikit-learn's interface."""

from attenua.masks import alpha_from_mask_rate, mask_rate_from_alpha

__version__ = "0.1.0"

__all__ = ["alpha_from_mask_rate", "mask_rate_from_alpha"]
