"""Matplotlib displays, in the manner of scikit-learn: computed by a `from_...` method, drawn by `plot`."""

from attenua.display.learning import LearningCurveDisplay
from attenua.display.scores import BiplotDisplay, ScoresBesidePCADisplay
from attenua.display.scree import ScreeDisplay
from attenua.display.selection import RankDisplay, StepsDisplay, ValidationCurveDisplay
from attenua.display.stability import StabilityDisplay
from attenua.display.strength_path import AnglesToPCADisplay, AttenuationPathDisplay

__all__ = [
    "AnglesToPCADisplay",
    "AttenuationPathDisplay",
    "BiplotDisplay",
    "LearningCurveDisplay",
    "RankDisplay",
    "ScoresBesidePCADisplay",
    "ScreeDisplay",
    "StabilityDisplay",
    "StepsDisplay",
    "ValidationCurveDisplay",
]
