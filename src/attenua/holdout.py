"""A strength chosen on one independent validation set, without refitting.

Strengths are compared by the error with which they reconstruct the validation rows. Ordinary PCA is always
among them, and ties go to the smallest strength. For cross-validation see
:class:`attenua.AttenuatedPCACV`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._data.moments import in_data_units
from attenua._data.namespace import asarray_like, to_host
from attenua._data.opening import open_for_fit
from attenua._estimate.html import result_html
from attenua._select.comparison import reconstruction_errors, smallest_strength_at_minimum
from attenua._solve.subspace import Subspace
from attenua.path import AttenuationPath, _ColumnsSeen

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ValidationSelection:
    """A strength chosen on an independent validation set, without refitting.

    Attributes
    ----------
    alpha : float
        Chosen strength.
    risk : ndarray of shape (n_alphas,)
        Validation risk of every strength of the path, about the validation rows' own mean and divided by
        their number less one; the first is that of PCA.
    components : ndarray of shape (n_components, n_features)
        Orthonormal rows of the chosen subspace, fitted on the training rows only.
    mean : ndarray of shape (n_features,)
        Mean of the training rows.
    n_validation : int
        Number of validation rows.
    """

    alpha: float
    risk: Array
    components: Array
    mean: Array
    n_validation: int

    def _repr_html_(self) -> str:
        """Show the choice in a notebook."""
        change = 100 * (self.risk / self.risk[0] - 1) if self.risk[0] > 0 else 0 * self.risk
        return result_html(
            "Strength chosen on validation rows",
            [
                ("strength", f"{self.alpha:g}" if self.alpha else "0 (ordinary PCA)"),
                ("risk against PCA", f"{change.min():+.2f}%"),
                ("validation rows", f"{self.n_validation:,}"),
                ("components", f"{self.components.shape[0]}"),
            ],
            ["candidate", "risk", "change from PCA, %"],
            [(i, f"{r:.5g}", f"{c:+.2f}") for i, (r, c) in enumerate(zip(self.risk, change, strict=True))],
            curve=(np.arange(len(self.risk)), self.risk, "validation risk along the path"),
        )


def select_on_validation(path: AttenuationPath, X: Any) -> ValidationSelection:
    r"""Choose a strength of a fitted path, PCA among them, by its risk on independent rows.

    The validation risk is

    .. math::

        \operatorname{tr}\{(I - P_\alpha) S_v\}, \qquad
        S_v = \frac{1}{n_v - 1} \sum_i (v_i - \bar v)(v_i - \bar v)^\top .

    The centre is the mean of the validation rows, and not that of the training rows, so a shift between the
    two sets does not count. The divisor is the number of validation rows less one. For Gaussian rows the risk
    has exactly the law of the paper's :math:`\hat R_v` with :math:`n_v - 1` rows of known mean. The choice
    itself does not depend on the divisor. Cross-validation differs in both: :class:`attenua.AttenuatedPCACV`
    centres held-out rows on the mean of the training rows, and divides by their number.

    Parameters
    ----------
    path : AttenuationPath
        Candidates fitted on training rows, from :func:`attenua.attenuation_path`.
    X : array-like or sparse matrix of shape (n_samples, n_features), batches, or dask collection
        Validation rows, independent of the training rows.

    Returns
    -------
    ValidationSelection
        The chosen strength and subspace.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import attenuation_path, select_on_validation
    >>> X = load_digits().data
    >>> chosen = select_on_validation(attenuation_path(X[:100], 5), X[100:600])
    >>> chosen.alpha, chosen.risk.shape
    (0.0, (22,))
    """
    if not isinstance(path, AttenuationPath):
        raise TypeError(f"path must be an AttenuationPath of attenuation_path; got {type(path).__name__}.")
    columns = _ColumnsSeen()
    data = open_for_fit(columns, X)
    _check_same_columns(columns, path)
    held = data.moments.total
    frames = [asarray_like(held.mean, np.asarray(U.T, dtype=float)) for U in to_host(path.components)]
    # The risk is about the validation rows' own mean, as S_v is.
    candidates = [Subspace(frame, None, np.zeros(frame.shape[1]), np.nan, False) for frame in frames]
    risk = reconstruction_errors(held, candidates, held.mean)
    best = smallest_strength_at_minimum(risk, held.total_variance)
    risk = in_data_units(risk * held.weight / (held.weight - 1), held.unit)
    return ValidationSelection(
        alpha=float(path.alphas[best]),
        risk=risk,
        components=path.components[best, ...],
        mean=path.mean,
        n_validation=data.n_samples,
    )


def _check_same_columns(columns: _ColumnsSeen, path: AttenuationPath) -> None:
    """Raise unless rows have the columns that a path was fitted to, in the same order."""
    n, fitted = columns.n_features_in_, path.mean.shape[0]
    if n != fitted:
        raise ValueError(f"X has {n} columns, but the path was fitted to {fitted}.")
    names = getattr(columns, "feature_names_in_", None)
    if names is None or path.feature_names is None:
        return
    for found, expected in zip(names, path.feature_names, strict=True):
        if found != expected:
            raise ValueError(f"X has the column {found!r} where the path was fitted to {expected!r}.")
