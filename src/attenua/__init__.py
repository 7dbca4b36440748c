"""PCA with finite-sample corrections, with scikit-learn's interface."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
    from attenua.bootstrap import stability
    from attenua.corrected import CorrectedPCA, CorrectedPCACV
    from attenua.covariance import CorrectedCovariance
    from attenua.learning import learning_curve
    from attenua.masks import alpha_from_mask_rate, mask_rate_from_alpha
    from attenua.model_files import load_model, save_model
    from attenua.path import attenuation_path
    from attenua.rank import choose_rank

__version__ = "0.1.0"

__all__ = [
    "AttenuatedPCA",
    "AttenuatedPCACV",
    "CorrectedCovariance",
    "CorrectedPCA",
    "CorrectedPCACV",
    "alpha_from_mask_rate",
    "attenuation_path",
    "choose_rank",
    "learning_curve",
    "load_model",
    "mask_rate_from_alpha",
    "save_model",
    "stability",
]

# Loaded when they are first used: scikit-learn takes a second, and `attenua --help` does without it.
_MODULES = {
    "attenuation": ["AttenuatedPCA", "AttenuatedPCACV"],
    "bootstrap": ["stability"],
    "corrected": ["CorrectedPCA", "CorrectedPCACV"],
    "covariance": ["CorrectedCovariance"],
    "learning": ["learning_curve"],
    "masks": ["alpha_from_mask_rate", "mask_rate_from_alpha"],
    "model_files": ["load_model", "save_model"],
    "path": ["attenuation_path"],
    "rank": ["choose_rank"],
}


def __getattr__(name: str) -> Any:
    for module, names in _MODULES.items():
        if name in names:
            return getattr(import_module(f"attenua.{module}"), name)
    raise AttributeError(f"module 'attenua' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
