"""Matplotlib displays, in the manner of scikit-learn: computed by a `from_...` method, drawn by `plot`."""

from attenua.display.expectations import ExpectationsDisplay
from attenua.display.path import AnglesToPCADisplay, AttenuationPathDisplay
from attenua.display.rank import RankDisplay
from attenua.display.risk import RiskCurveDisplay
from attenua.display.steps import StepsDisplay
from attenua.display.validation import ValidationCurveDisplay

__all__ = [
    "AnglesToPCADisplay",
    "AttenuationPathDisplay",
    "ExpectationsDisplay",
    "RankDisplay",
    "RiskCurveDisplay",
    "StepsDisplay",
    "ValidationCurveDisplay",
]
