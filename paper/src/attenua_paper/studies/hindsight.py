"""What a choice could have gained had it known the test rows: risks and a search on those rows."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from attenua._correct.attenuation import checked_alphas
from attenua._data.moments import Moments, ScatterMoments
from attenua._data.opening import open_for_fit
from attenua._data.reweighting import Reweighting, RowsInMemory, Weighing
from attenua._data.splits import SplitPair, Splits
from attenua._estimate.fitted import fit_from_nothing
from attenua.corrected import CorrectedPCACV
from attenua.path import attenuation_path

Array = NDArray[np.float64]

ALPHAS = checked_alphas("direct")


class HeldMoments(NamedTuple):
    """What the risk of a subspace on test rows needs of them.

    Attributes
    ----------
    mean, covariance : ndarray
        Moments of the test rows.
    references : ndarray of shape (n_features + 1,)
        Risk of the best affine subspace of every rank fitted to the test rows themselves.
    """

    mean: Array
    covariance: Array
    references: Array

    @classmethod
    def of(cls, X: Array) -> "HeldMoments":
        """Return the moments of rows, and the risks of their own best subspaces."""
        mean = X.mean(axis=0)
        covariance = (X - mean).T @ (X - mean) / len(X)
        left_out = np.cumsum(np.append(0.0, np.linalg.eigvalsh(covariance)))[::-1]
        return cls(mean, covariance, left_out)

    def risk(self, basis: Array, centre: Array) -> float:
        """Return the mean squared error of a test row by a subspace around a centre.

        Parameters
        ----------
        basis : ndarray of shape (n_features, rank)
            Orthonormal columns.
        centre : ndarray of shape (n_features,)
            Mean of the fitting rows.
        """
        offset = self.mean - centre
        captured = np.sum(basis * (self.covariance @ basis)) + np.sum((offset @ basis) ** 2)
        return float(np.trace(self.covariance) + offset @ offset - captured)


def risks_on_test(X: Array, rank: int, test: HeldMoments) -> Array:
    """Return the test risk of every strength of attenuation, fitted to all rows."""
    path = attenuation_path(X, rank, alphas=ALPHAS)
    return np.array([test.risk(components.T, path.mean) for components in path.components])


class CorrectedInHindsight(CorrectedPCACV):
    """The search of :class:`attenua.CorrectedPCACV`, judged by the test rows instead of held-out rows.

    The same grids and the same steps in the same order, each fitted to all rows and taken if it lowers the
    risk on the test rows at all (no guard). It is not a method: it shows what the search could have gained
    had it known the test rows. It bounds each step, not every combination of strengths: the best step now may
    leave less for the next. An average over choices may do better too.

    Parameters
    ----------
    n_components : int
        Rank.
    test : HeldMoments
        The test rows.
    neighbours : None, "line", tuple of int, or adjacency matrix
        Which columns are neighbours, as in :class:`attenua.CorrectedPCACV`.
    """

    def __init__(self, n_components: int, *, test: HeldMoments, neighbours: Any = None):
        super().__init__(n_components, neighbours=neighbours, pca_share=0.0)
        self.test = test

    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Choose strengths by the test rows, fitted to the rows of X; y and groups are ignored."""
        mean = self.test.mean
        test = ScatterMoments(1.0, np.zeros_like(mean), self.test.covariance, mean)
        with fit_from_nothing(self):
            data = open_for_fit(self, X)
            reweighter = _AgainOnTest(data.reweighter, test)
            self._fit_moments(data._replace(moments=_OnTest(data.moments, test), reweighter=reweighter))
        return self


class _OnTest(Splits):
    """The one split of hindsight: all fitting rows train, and the test rows are held out."""

    n_splits, on_device = 1, False

    def __init__(self, fitting: Splits, test: ScatterMoments):
        self._fitting, self._test = fitting, test
        self.n_features, self.pair_entries = fitting.n_features, fitting.pair_entries
        self.weight, self.forms_covariance = fitting.weight, fitting.forms_covariance

    @property
    def total(self) -> Moments:
        return self._fitting.total

    def _read(self) -> Iterator[SplitPair]:
        yield SplitPair(0, self.total, self._test.in_unit(self.total.unit))


class _AgainOnTest(Reweighting):
    """Fitting rows that are read again with weights; of the test rows there is only the covariance."""

    is_at_hand = False

    def __init__(self, fitting: Reweighting, test: ScatterMoments):
        self.n_samples, self.weight = fitting.n_samples, fitting.weight
        self._fitting, self._test = fitting, test

    def with_row_weights(self, weighings: Sequence[Weighing]) -> list[Splits]:
        return self._tested(self._fitting.with_row_weights(weighings))

    def with_pair_weights(self, weighings: Sequence[Weighing]) -> list[Splits]:
        return self._tested(self._fitting.with_pair_weights(weighings))

    def in_memory(self) -> RowsInMemory:
        raise NotImplementedError("the test rows are not at hand")

    def _tested(self, fitting: Sequence[Splits]) -> list[Splits]:
        return [_OnTest(splits, self._test) for splits in fitting]
