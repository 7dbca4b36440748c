"""What new rows will gain: a pilot on the rows at hand, for those who decide before they change anything."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

from attenua._estimate.html import facts_html
from attenua._estimate.parameter_types import Neighbours, Reference
from attenua._estimate.words import percent_of
from attenua.corrected import CorrectedPCACV


@dataclass(frozen=True)
class ExpectedGain:
    """What :class:`attenua.CorrectedPCACV` is expected to gain on new rows.

    Attributes
    ----------
    gain : float
        Part of PCA's whole error on new rows that it removes; below 0 it adds to it. NaN where the rows are
        too few to tell.
    standard_error : float
        Of the gain.
    verdict : str
        The same in words, as ``verdict_`` of a fit says it.
    """

    gain: float
    standard_error: float
    verdict: str

    def __str__(self) -> str:
        """Return it in words."""
        return self.verdict

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        if not isfinite(self.gain):
            return facts_html(self.verdict, [])
        facts = [
            ("to expect of new rows", f"{percent_of(self.gain)} less error than PCA's"),
            ("standard error", percent_of(self.standard_error)),
        ]
        return facts_html(self.verdict, facts)


def expected_gain(
    X: Any,
    n_components: float | None = None,
    *,
    neighbours: Neighbours = None,
    reference: Reference = None,
    scale: bool = False,
    groups: Any = None,
) -> ExpectedGain:
    r"""Say what :class:`attenua.CorrectedPCACV` is expected to gain on new rows like these.

    A pilot: the whole choice is made again without each of five blocks of rows, and judged by that block.
    With :math:`d_i` what row i loses by PCA less what it loses by the choice, and :math:`p_i` what it loses
    by PCA, the gain is

    .. math::

        \frac45 \, \frac{\sum_i d_i}{\sum_i p_i},

    since gains fall in proportion to the number of rows fitted. It takes about six times as long as a fit.
    Nothing that can be read off the rows without a fit foretells the gain as well; the guide page "Does it
    pay?" says how well the pilot does on data sets that had no part in its making.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows, as they would be fitted; cells may be missing (NaN).
    n_components : int, float or None, default=None
        As in :class:`attenua.CorrectedPCACV`.
    neighbours, reference : object, default=None
        As in :class:`attenua.CorrectedPCACV`.
    scale : bool, default=False
        As in :class:`attenua.CorrectedPCACV`.
    groups : array-like of shape (n_samples,), optional
        Labels of the rows, such as subjects; rows of one group are left out together.

    Returns
    -------
    ExpectedGain

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import expected_gain
    >>> expected = expected_gain(load_digits().data[::28], 10, neighbours=(8, 8))
    >>> 0 < expected.gain < 0.3
    True
    """
    pilot = CorrectedPCACV(n_components, neighbours=neighbours, reference=reference, scale=scale, nested=True)
    pilot.fit(X, groups=groups)
    return ExpectedGain(pilot.left_out_gain_, pilot.left_out_gain_error_, pilot.verdict_)
