"""The methods that attenuation is compared with: moments in, one subspace per strength out."""

from attenua_paper.rivals.autoencoder import AsymmetricAutoencoder
from attenua_paper.rivals.correlation import CorrelationPCA
from attenua_paper.rivals.hetero import HeteroPCA
from attenua_paper.rivals.masked_target import MaskedTargetPCA, MaskedTargetPCACV
from attenua_paper.rivals.tied_autoencoder import TiedAutoencoder

__all__ = [
    "AsymmetricAutoencoder",
    "CorrelationPCA",
    "HeteroPCA",
    "MaskedTargetPCA",
    "MaskedTargetPCACV",
    "TiedAutoencoder",
]
