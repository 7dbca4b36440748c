"""PCA of rows with missing cells by Bioconductor's pcaMethods, in one R process.

``apt-get install --no-install-recommends r-bioc-pcamethods`` brings R and the package on Debian.
``pcamethods_fits.R`` is the other side; all options are the authors' defaults, which centre columns by the
means of their observed cells and do not scale them.
"""

import os
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attenua_evidence.rrcov import RProcess, process_of

Array = NDArray[np.float64]

LIMIT = 60.0  # seconds after which a fit is taken to hang


class RFit(NamedTuple):
    """A fit of pcaMethods.

    Attributes
    ----------
    centre : ndarray of shape (n_features,)
        Means of observed cells.
    loadings : ndarray of shape (n_features, n_found)
        As R returns them: not orthonormal for all methods.
    scores : ndarray of shape (n_samples, n_found)
        Scores of the fitted rows.
    notes : str
        The warnings that R gave.
    """

    centre: Array
    loadings: Array
    scores: Array
    notes: str


class PcaMethodsProcess(RProcess):
    """The process that loads pcaMethods."""

    package, debian, script = "pcaMethods", "r-bioc-pcamethods", "pcamethods_fits.R"
    methods = ("ppca", "bpca", "nipals")

    def fit(self, method: str, X: Array, rank: int, *, limit: float = LIMIT) -> RFit:
        """Fit one matrix; missing cells are nan.

        Parameters
        ----------
        method : {"ppca", "bpca", "nipals"}
            The method of ``pcaMethods::pca``.
        X : ndarray of shape (n_samples, n_features)
            The rows.
        rank : int
            Number of components; R may find fewer.
        limit : float, default=LIMIT
            Seconds after which R is stopped; its start does not count.
        """
        n, p = X.shape
        n_found, numbers = self.numbers(method, X, rank, limit)
        centre, loadings, scores = np.split(numbers, [p, p + p * n_found])
        return RFit(centre, loadings.reshape(n_found, p).T, scores.reshape(n_found, n).T, self.notes)


def shared_process() -> PcaMethodsProcess:
    """Return the R process of this Python process, ended with it; a fork gets its own."""
    return process_of(PcaMethodsProcess, os.getpid())
