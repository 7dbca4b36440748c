"""When does a correction help, by how much, and at which strength: the risk theory, computed."""

from attenua._correct.registry import Strengths
from attenua.theory.balanced import (
    BalancedConstants,
    MomentConstants,
    PairMoments,
    flat_spike_ratio,
    moment_constants,
)
from attenua.theory.corrected_map import CorrectionMap, SmoothCorrection
from attenua.theory.expectations import Expectation, Expectations
from attenua.theory.geometry import default_strengths
from attenua.theory.laws import (
    LATENT_LAWS,
    ContaminatedNormal,
    FourthMoments,
    Gaussian,
    LatentCoordinates,
    Rows,
    StudentT,
    draw_batches,
    draw_rows,
)
from attenua.theory.noise import RowNoise
from attenua.theory.plugin import Bootstrap, PlugInReport, plug_in_report, plug_in_report_for
from attenua.theory.population import Population
from attenua.theory.risk import sampling_coefficient
from attenua.theory.when import when

__all__ = [
    "LATENT_LAWS",
    "BalancedConstants",
    "Bootstrap",
    "ContaminatedNormal",
    "CorrectionMap",
    "Expectation",
    "Expectations",
    "FourthMoments",
    "Gaussian",
    "LatentCoordinates",
    "MomentConstants",
    "PairMoments",
    "PlugInReport",
    "Population",
    "RowNoise",
    "Rows",
    "SmoothCorrection",
    "Strengths",
    "StudentT",
    "default_strengths",
    "draw_batches",
    "draw_rows",
    "flat_spike_ratio",
    "moment_constants",
    "plug_in_report",
    "plug_in_report_for",
    "sampling_coefficient",
    "when",
]
