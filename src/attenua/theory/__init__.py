"""When does attenuation help, by how much, and at which strength: the paper's risk theory, computed."""

from attenua.theory.oracle import default_strengths
from attenua.theory.pairs import BalancedConstants, PairMoments, flat_spike_ratio
from attenua.theory.population import Population
from attenua.theory.risk import SmoothCorrection, sampling_coefficient

__all__ = [
    "BalancedConstants",
    "PairMoments",
    "Population",
    "SmoothCorrection",
    "default_strengths",
    "flat_spike_ratio",
    "sampling_coefficient",
]
