"""PCA with finite-sample corrections, with scikit-learn's interface."""

from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
from attenua.corrected import CorrectedPCA, CorrectedPCACV
from attenua.covariance import CorrectedCovariance
from attenua.learning import LearningCurve, learning_curve
from attenua.masks import alpha_from_mask_rate, mask_rate_from_alpha
from attenua.model_files import load_model, save_model
from attenua.monitoring import ControlLimits
from attenua.paired import PairedGain, paired_gain
from attenua.path import AttenuationPath, attenuation_path
from attenua.rank import RankChoice, choose_rank
from attenua.stability import Stability, stability

__version__ = "0.1.0"

__all__ = [
    "AttenuatedPCA",
    "AttenuatedPCACV",
    "AttenuationPath",
    "ControlLimits",
    "CorrectedCovariance",
    "CorrectedPCA",
    "CorrectedPCACV",
    "LearningCurve",
    "PairedGain",
    "RankChoice",
    "Stability",
    "alpha_from_mask_rate",
    "attenuation_path",
    "choose_rank",
    "learning_curve",
    "load_model",
    "mask_rate_from_alpha",
    "paired_gain",
    "save_model",
    "stability",
]
