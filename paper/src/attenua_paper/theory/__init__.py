"""The paper's theory: when attenuation lowers the risk of PCA, by how much, and at which strength."""

from attenua_paper.theory.autoencoders import (
    asymmetric_map,
    balanced_gains,
    balanced_map_excess_risk,
    map_risk,
    masked_map_loss,
    tied_gains,
    tied_objective,
)
from attenua_paper.theory.expansion import (
    RiskExpansion,
    SampleAnatomy,
    dissect_sample,
    expand_risk,
    gap_operator,
)
from attenua_paper.theory.expected_risk import ExpectedRisk, expected_risk
from attenua_paper.theory.laws import LAWS, Law, draw_batches, draw_rows, student_t
from attenua_paper.theory.masked_inputs import full_output_loss
from attenua_paper.theory.masked_targets import (
    MaskedTarget,
    TwoCoordinateSolution,
    masked_target_loss,
    normalised_target_gradient,
    normalised_target_loss,
    one_direction_path,
    one_direction_risk,
    two_coordinate_solution,
)
from attenua_paper.theory.moments import PairMoments, RiskCurve, flat_spike_ratio, moment_constants
from attenua_paper.theory.population import Population
from attenua_paper.theory.validation import (
    FallbackCertificate,
    ValidationSelection,
    fallback_certificate,
    select_on_validation,
)

__all__ = [
    "LAWS",
    "ExpectedRisk",
    "FallbackCertificate",
    "Law",
    "MaskedTarget",
    "PairMoments",
    "Population",
    "RiskCurve",
    "RiskExpansion",
    "SampleAnatomy",
    "TwoCoordinateSolution",
    "ValidationSelection",
    "asymmetric_map",
    "balanced_gains",
    "balanced_map_excess_risk",
    "dissect_sample",
    "draw_batches",
    "draw_rows",
    "expand_risk",
    "expected_risk",
    "fallback_certificate",
    "flat_spike_ratio",
    "full_output_loss",
    "gap_operator",
    "map_risk",
    "masked_map_loss",
    "masked_target_loss",
    "moment_constants",
    "normalised_target_gradient",
    "normalised_target_loss",
    "one_direction_path",
    "one_direction_risk",
    "select_on_validation",
    "student_t",
    "tied_gains",
    "tied_objective",
    "two_coordinate_solution",
]
