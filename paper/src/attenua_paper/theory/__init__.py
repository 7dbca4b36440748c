"""The paper's theory beyond attenuation: masks, autoencoders, expansions, and a choice by validation rows."""

from attenua_paper.theory.fallback import FallbackCertificate, fallback_certificate
from attenua_paper.theory.linear_autoencoders import (
    asymmetric_map,
    balanced_gains,
    balanced_map_excess_risk,
    map_excess_risk,
    masked_map_loss,
    tied_gains,
    tied_objective,
)
from attenua_paper.theory.masked_inputs import full_output_loss
from attenua_paper.theory.masked_target_risk import (
    MaskedTarget,
    TwoCoordinateSolution,
    normalised_target_gradient,
    normalised_target_loss,
    two_coordinate_solution,
)
from attenua_paper.theory.risk_expansion import RiskExpansion, SampleAnatomy, dissect_sample, expand_risk

__all__ = [
    "FallbackCertificate",
    "MaskedTarget",
    "RiskExpansion",
    "SampleAnatomy",
    "TwoCoordinateSolution",
    "asymmetric_map",
    "balanced_gains",
    "balanced_map_excess_risk",
    "dissect_sample",
    "expand_risk",
    "fallback_certificate",
    "full_output_loss",
    "map_excess_risk",
    "masked_map_loss",
    "normalised_target_gradient",
    "normalised_target_loss",
    "tied_gains",
    "tied_objective",
    "two_coordinate_solution",
]
