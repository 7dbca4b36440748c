"""The methods that attenuation is compared with: moments in, one subspace per strength out."""

from attenua_paper.rivals.autoencoder import AsymmetricAutoencoder
from attenua_paper.rivals.correlation import CorrelationPCA
from attenua_paper.rivals.diagonal_shrinkage import DiagonalShrinkagePCA, shrinkage_intensity
from attenua_paper.rivals.factor_analysis import FactorAnalysisPCA
from attenua_paper.rivals.hetero import HeteroPCA
from attenua_paper.rivals.masked_target import MaskedTargetPCA, MaskedTargetPCACV
from attenua_paper.rivals.tied_autoencoder import TiedAutoencoder

__all__ = [
    "AsymmetricAutoencoder",
    "CorrelationPCA",
    "DiagonalShrinkagePCA",
    "FactorAnalysisPCA",
    "HeteroPCA",
    "MaskedTargetPCA",
    "MaskedTargetPCACV",
    "TiedAutoencoder",
    "shrinkage_intensity",
]
