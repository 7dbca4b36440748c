"""The expected excess risk over both strengths, and its smallest point."""

from dataclasses import dataclass

import numpy as np

from attenua.theory import oracle
from attenua.theory.cutoff import Array


@dataclass(frozen=True)
class RiskSurface:
    r"""Expected excess risk to order 1/n over strengths (rows) and temperings (columns).

    Attributes
    ----------
    n : float
        Sample size.
    alphas : ndarray of shape (n_strengths,)
        Strengths :math:`\alpha`, increasing.
    temperings : ndarray of shape (n_temperings,)
        Temperings :math:`\gamma`, increasing.
    bias, sampling : ndarray of shape (n_strengths, n_temperings)
        :math:`B_{pop}(\alpha, \gamma)` and :math:`K(\alpha, \gamma) / n`.
    pca_risk : float
        Risk of PCA, :math:`K(0, 0) / n`, whether or not (0, 0) is on the surface.
    """

    n: float
    alphas: Array
    temperings: Array
    bias: Array
    sampling: Array
    pca_risk: float

    @property
    def risk(self) -> Array:
        """Expected excess risk: `bias` + `sampling`."""
        return self.bias + self.sampling

    @property
    def gain(self) -> Array:
        """Share of PCA's expected excess risk that each pair removes; negative where PCA is better."""
        return 1 - self.risk / self.pca_risk

    def oracle(self, path: str = "direct") -> tuple[float, float]:
        """Return the pair (alpha, tempering) of the surface with the smallest risk.

        Ties go to the smallest tempering, then to the smallest strength.

        Parameters
        ----------
        path : {"direct", "mask"}
            All strengths, or those up to 1/2.
        """
        inside = self.alphas <= oracle.upper_end(path)
        if not inside.any():
            raise ValueError("the surface must hold at least one strength of the path, at most 0.5.")
        risk = self.risk[inside]
        # Strengths do not change the eigenvectors of a correlation matrix: differences there are rounding.
        risk[:, self.temperings == 1] = risk[:1, self.temperings == 1]
        column, row = np.unravel_index(np.argmin(risk.T), risk.T.shape)
        return float(self.alphas[row]), float(self.temperings[column])
