r"""Borrowing: :math:`(1 - w) S + w R`, with the covariance R of a reference at the scale of S."""

from functools import cached_property
from typing import Any

import numpy as np

from attenua._correct.correction import Correction
from attenua._correct.reference import Reference, as_reference, described_reference, stored_reference
from attenua._data.moments import Moments


def borrowed(moments: Moments, strength: float, reference: Reference) -> Moments:
    r"""Return the moments whose covariance is :math:`(1 - w) S + w \frac{\mathrm{tr}\,S}{\mathrm{tr}\,R} R`.

    This is :math:`\mathrm{tr}\,S` times the mean of :math:`S / \mathrm{tr}\,S` and :math:`R / \mathrm{tr}\,R`
    with the weights 1 - w and w: it has the units and the trace of S, and the size of the reference does not
    matter. No p-by-p matrix is formed where neither the moments nor the reference have one.
    """
    if strength == 0:
        return moments
    if moments.scale is not None:
        reference = reference.divided(moments.scale)
    keeps_rows = reference.keeps_rows and not moments.forms_covariance
    return (BorrowedRows if keeps_rows else BorrowedMoments)(moments, strength, reference)


class BorrowedMoments(Moments):
    r"""Moments whose covariance is :math:`(1 - w) S + w\, \mathrm{tr}(S) R`, with R of trace one, formed."""

    forms_covariance = True

    def __init__(self, base: Moments, strength: float, reference: Reference):
        self.weight = base.weight
        self.unit = base.unit
        self._base = base
        self._reference = reference
        self._own = 1 - strength
        # Rough variances have the exact sum.
        self._other = strength * float(np.sum(base.rough_variances))

    @property
    def mean(self) -> Any:
        """Mean of the rows, not of the reference."""
        return self._base.mean

    @property
    def _reference_variances(self) -> Any:
        return np.diagonal(self._reference.matrix)

    @cached_property
    def variances(self) -> Any:
        """Diagonal of the covariance."""
        return self._own * self._base.variances + self._other * self._reference_variances

    @cached_property
    def rough_variances(self) -> Any:
        """Numbers of the size of the variances."""
        return self._own * self._base.rough_variances + self._other * self._reference_variances

    @property
    def varies(self) -> Any:
        """Whether each column varies, in the rows or in the reference."""
        # The reference is scaled to the variance of the rows: to nothing, if they have none.
        varies = self._other * self._reference_variances > 0
        return varies | self._base.varies if self._own else varies

    @cached_property
    def covariance(self) -> Any:
        """The covariance as a p-by-p matrix."""
        return self._own * self._base.covariance + self._other * self._reference.matrix


class BorrowedRows(BorrowedMoments):
    r"""The same without a p-by-p matrix: the image of V are those of the rows and of the reference, stacked.

    With :math:`S = A^\top A` and :math:`R = B^\top B / \mathrm{tr}(B^\top B)`, the covariance is
    :math:`C^\top C`, where C stacks :math:`\sqrt{1 - w}\, A` and
    :math:`\sqrt{w\,\mathrm{tr}(S) / \mathrm{tr}(B^\top B)}\, B`.
    """

    forms_covariance = False

    def __init__(self, base: Moments, strength: float, reference: Reference):
        super().__init__(base, strength, reference)
        self._rows = reference.moments
        self._share = self._other / self._rows.total_variance
        self._roots = float(np.sqrt(self._own)), float(np.sqrt(self._share))

    @property
    def _reference_variances(self) -> Any:
        return self._rows.variances / self._rows.total_variance

    @property
    def covariance(self) -> Any:
        """The covariance as a p-by-p matrix; not kept, since it is much larger than the rows."""
        return self._own * self._base.covariance + self._share * self._rows.covariance

    @property
    def product_work(self) -> int:
        """Number of multiplications of a product of the covariance and a vector."""
        return self._base.product_work + self._rows.product_work

    @cached_property
    def _n_rows(self) -> int:
        return self._base.image(self.mean[:, None]).shape[0]

    def image(self, V: Any) -> Any:
        """Return ``C @ V``."""
        own, other = self._roots
        return np.concatenate([own * self._base.image(V), other * self._rows.image(V)])

    def lift(self, image: Any) -> Any:
        """Return ``C.T @ image``."""
        own, other = self._roots
        first, second = image[: self._n_rows, :], image[self._n_rows :, :]
        return own * self._base.lift(first) + other * self._rows.lift(second)

    def inner(self, V: Any, V_image: Any, W_image: Any) -> Any:
        """Return ``V.T @ C.T @ C @ W`` from the images."""
        return V_image.T @ W_image


def _about(strength: float, value: Any) -> str:
    parts = f"{strength:.0%} of the corrected matrix", f"{1 - strength:.0%} from the rows that were fitted"
    return f"{parts[0]} is borrowed from the reference, {described_reference(value)}, and {parts[1]}."


BORROWING = Correction(
    name="borrowing",
    kind="moments",
    strengths=(0.0, 0.1, 0.3, 0.6, 0.9, 1.0),
    apply=borrowed,
    parameter="reference",
    needs="other rows with the same columns, a fitted model, or a covariance matrix",
    prepare=as_reference,
    check_names=Reference.check_names,
    stored=stored_reference,
    about=_about,
    weakens="the noise of few rows",
    how="At strength w the matrix is that of the rows with weight 1 − w, and that of the reference, at the "
    "same scale, with weight w.",
    price="It trusts that the reference varies in the same directions. Where it does not, it pulls towards "
    "directions of the reference.",
    colour="#5f7a3a",
)
