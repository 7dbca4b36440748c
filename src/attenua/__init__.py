"""Diagonal-attenuation PCA for limited data, with scikit-learn's interface."""

from attenua.estimators import AttenuatedPCA, AttenuatedPCACV
from attenua.masks import alpha_from_mask_rate, mask_rate_from_alpha
from attenua.path import AttenuationPath, attenuation_path

__version__ = "0.1.0"

__all__ = [
    "AttenuatedPCA",
    "AttenuatedPCACV",
    "AttenuationPath",
    "alpha_from_mask_rate",
    "attenuation_path",
    "mask_rate_from_alpha",
]
