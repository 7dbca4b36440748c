"""How sure a held-out gain over PCA is: paired differences over splits, and a choice made elsewhere."""

import numbers
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.utils.validation import check_is_fitted

from attenua._data.namespace import to_host
from attenua._estimate.html import facts_html
from attenua._estimate.words import ADVICE, clear_over_splits, is_clear, paired_facts
from attenua._select.comparison import chosen_elsewhere, crossed_gain, gain_error

Array = NDArray[np.float64]


@dataclass(frozen=True)
class PairedGain:
    r"""The part of PCA's held-out risk that a strength removes, with its uncertainty.

    All gains and errors are parts of PCA's risk: 0.02 is 2%.

    Attributes
    ----------
    alpha : float
        The strength.
    gain : float
        Part of PCA's pooled held-out risk that it removes.
    standard_error : float
        Standard error of the gain from the paired differences over splits,
        :math:`\sqrt{(1/J + n_{\mathrm{held}}/n_{\mathrm{training}})\, s^2}` for :math:`J` differences of
        variance :math:`s^2`: the second term stands for the overlap of training sets, which the usual
        :math:`s/\sqrt J` ignores (Nadeau and Bengio, 2003). NaN where there is one split only.
    n_splits, n_better, n_worse : int
        Splits, and on how many of them the strength is better and worse than PCA.
    crossed_gain, crossed_error : float
        What to expect of new rows, with its standard error. The strength of every split is chosen on the
        other splits, and the result is multiplied by the part of the rows that a training
        set has, since gains fall in proportion to the number of rows. The first gain is measured on the
        splits that chose the strength, so it is too high on average; this one is less so.
    differences : ndarray of the shape of ``cv_risk_folds_``
        Risk of every candidate less that of PCA, split by split, as a part of PCA's mean risk.
    errors : ndarray of the shape of ``cv_risk_``
        Standard error of the mean difference of every candidate.
    """

    alpha: float
    gain: float
    standard_error: float
    n_splits: int
    n_better: int
    n_worse: int
    crossed_gain: float
    crossed_error: float
    differences: Array = field(repr=False)
    errors: Array = field(repr=False)

    @property
    def interval(self) -> tuple[float, float]:
        """95% interval of the gain, by Student's law with one degree of freedom less than splits."""
        half = student.ppf(0.975, self.n_splits - 1) * self.standard_error if self.n_splits > 1 else np.nan
        return self.gain - half, self.gain + half

    @property
    def verdict(self) -> str:
        """``"pca"`` where PCA was chosen, ``"clear"`` where a gain is to be expected, else ``"unclear"``."""
        if self.alpha == 0:
            return "pca"
        needed = clear_over_splits(self.n_splits)
        return "clear" if is_clear(self.crossed_gain, self.crossed_error, needed) else "unclear"

    @property
    def advice(self) -> str:
        """The verdict in a sentence."""
        return ADVICE[self.verdict]

    def _repr_html_(self) -> str:
        """Show the gain in a notebook."""
        if self.alpha == 0:
            return facts_html(self.advice, [("held-out parts", f"{self.n_splits}")])
        return facts_html(self.advice, paired_facts(self))


def paired_gain(estimator: Any, alpha: float | None = None) -> PairedGain:
    """Return how sure the cross-validated gain of a fitted `AttenuatedPCACV` is.

    The gain is that of the chosen strength, or of `alpha`, another strength that was compared. Nothing chose
    `alpha`, so its crossed gain is its gain, for all rows.

    Splits count equally here, even if folds hold unequal numbers of rows.

    Parameters
    ----------
    estimator : AttenuatedPCACV
        Fitted.
    alpha : float, optional
        A strength that was compared, instead of the chosen one.

    Returns
    -------
    PairedGain
        The gain, its standard error, and the gain of a choice made on other splits.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua import AttenuatedPCACV, paired_gain
    >>> random = np.random.default_rng(0)
    >>> X = random.standard_normal((60, 8)) + random.standard_normal((60, 1))  # equal variances
    >>> found = paired_gain(AttenuatedPCACV(1).fit(X))
    >>> found.n_splits, found.verdict
    (5, 'unclear')
    >>> print(found.advice)
    The gain is not larger than its noise; ordinary PCA may do as well here.
    """
    check_is_fitted(estimator, "cv_risk_folds_")
    if not hasattr(estimator, "alphas_"):
        raise TypeError(
            f"paired_gain takes an AttenuatedPCACV; got {type(estimator).__name__}. The steps_ of "
            "CorrectedPCACV have standard errors."
        )
    risk, folds = to_host(estimator.cv_risk_), to_host(estimator.cv_risk_folds_)
    n_splits = len(folds)
    if alpha is not None and (isinstance(alpha, bool) or not isinstance(alpha, numbers.Real)):
        raise ValueError(f"alpha must be one of the strengths that were compared, a number; got {alpha!r}.")
    strength = float(estimator.alpha_ if alpha is None else alpha)
    best = _place(to_host(estimator.alphas_), strength)
    base = folds[:, 0].mean()
    differences = (folds - folds[:, :1]) / (base if base > 0 else 1.0)
    elsewhere = chosen_elsewhere(folds) if alpha is None else np.full(n_splits, best)
    crossed, crossed_error = crossed_gain(folds, elsewhere, estimator.held_out_ratio_)
    errors = gain_error(differences, estimator.held_out_ratio_)
    return PairedGain(
        alpha=strength,
        gain=float(1 - risk[best] / risk[0]) if risk[0] > 0 else 0.0,
        standard_error=float(errors[best]),
        n_splits=n_splits,
        n_better=int((differences[:, best] < 0).sum()),
        n_worse=int((differences[:, best] > 0).sum()),
        crossed_gain=crossed,
        crossed_error=crossed_error,
        differences=differences,
        errors=errors,
    )


def _place(alphas: Array, alpha: float) -> int:
    """Return the position of a strength among those compared."""
    place = np.flatnonzero(alphas == alpha)
    if not place.size:
        raise ValueError(f"alpha={alpha!r} was not compared; alphas_ holds {alphas.tolist()}.")
    return int(place[0])
