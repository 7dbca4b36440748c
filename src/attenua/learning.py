"""How the error of new rows falls with the number of rows fitted, and what more rows would bring."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attenua._data.checks import checked_count, checked_random
from attenua._data.folds import DEFAULT_FOLDS, checked_groups, make_splits
from attenua._data.opening import check_in_memory, checked_rows
from attenua._estimate.html import result_html
from attenua._estimate.parameter_types import HasFit, RandomState
from attenua._estimate.transformer import SubspaceTransformer
from attenua._estimate.words import counted, is_clear, percent_of
from attenua._select.progress import in_parts
from attenua.bootstrap import fitted_once
from attenua.corrected import CorrectedPCA
from attenua.monitoring import refitted

Array = NDArray[np.float64]

# Parts of the training rows that are fitted. Two halvings at least show whether the curve bends.
_PARTS = (1 / 8, 1 / 4, 1 / 2, 1.0)
# The fewest rows that are fitted, and how many for each component: folds inside must span them, too.
_FEWEST_ROWS, _ROWS_PER_COMPONENT = 8, 1.5
# The fewest groups that are fitted: one may be held out to choose strengths.
_FEWEST_GROUPS = 2


@dataclass(frozen=True)
class LearningCurve:
    r"""Error of new rows by the number of rows fitted, from :func:`learning_curve`.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of rows fitted, the largest last: four fifths of all rows.
    losses, pca_losses : ndarray of shape (n_units, n_sizes)
        Squared reconstruction error of each row (or group: the sum over its rows) under fits of each size
        without it, by the estimator and by ordinary PCA.
    n_samples : int
        Number of all rows.
    """

    sizes: Array
    losses: Array = field(repr=False)
    pca_losses: Array = field(repr=False)
    n_samples: int

    @property
    def errors(self) -> Array:
        """Mean squared error of the estimator by size."""
        errors: Array = self.losses.sum(axis=0) / self.n_samples
        return errors

    @property
    def pca_errors(self) -> Array:
        """The same of ordinary PCA."""
        errors: Array = self.pca_losses.sum(axis=0) / self.n_samples
        return errors

    @property
    def standard_errors(self) -> Array:
        """Of `errors` less the last of them: those of paired differences, 0 at the largest size."""
        errors: Array = self._standard_error(self.losses - self.losses[:, -1:])
        return errors

    @property
    def excess(self) -> float:
        r"""Part of the error of new rows that unlimited rows would remove from a fit to all n.

        To order 1/m, m rows have the error :math:`a + b/m`. The two largest sizes, m/2 and m, give :math:`b
        = m \{e(m/2) - e(m)\}`, and the part is :math:`(b/n) / (a + b/n)`. Twice the rows remove half of it.
        """
        return float(self._gains.sum() / self.n_samples**2 / self.expected(self.n_samples))

    @property
    def excess_error(self) -> float:
        """Standard error of `excess`."""
        return float(self._standard_error(self._gains) / self.n_samples / self.expected(self.n_samples))

    def expected(self, n: ArrayLike) -> Any:
        """Return the error :math:`a + b/n` that n rows are expected to have."""
        b = self._gains.sum() / self.n_samples
        return self.errors[-1] + b * (1 / np.asarray(n) - 1 / self.sizes[-1])

    @property
    def sentence(self) -> str:
        """The answer in words."""
        gain, error = self.excess / 2, self.excess_error / 2
        removed = f"{percent_of(gain)} of the error of new rows (standard error {percent_of(error)})"
        if is_clear(gain, error):
            return f"Twice the rows would remove about {removed}, half of what unlimited rows would remove."
        return f"More rows are not sure to help: twice as many would remove about {removed}."

    def __str__(self) -> str:
        return self.sentence

    def plot(self, ax: Any = None) -> Any:
        """Draw the errors by the number of rows fitted, as :func:`attenua.pictures.learning_curve` does.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from attenua import pictures

        return pictures.learning_curve(self, ax)

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        columns = (self.errors, self.standard_errors, self.pca_errors)
        return result_html(
            self.sentence,
            [("rows", f"{self.n_samples}")],
            ["rows fitted", "error", "s.e.", "PCA's"],
            [
                (f"{size:.0f}", *(f"{value:.4g}" for value in values))
                for size, *values in zip(self.sizes, *columns, strict=True)
            ],
        )

    @property
    def _gains(self) -> Array:
        """What b is the mean over rows of."""
        smaller, largest = 1 / self.sizes[-2:]
        gains: Array = (self.losses[:, -2] - self.losses[:, -1]) / (smaller - largest)
        return gains

    def _standard_error(self, differences: Array) -> Any:
        """Return the standard error of means over rows, from sums over units; training sets overlap."""
        units, overlap = len(differences), 1 + self.n_samples / self.sizes[-1]
        return np.sqrt(overlap * units * differences.var(axis=0, ddof=1)) / self.n_samples


def learning_curve(
    X: Any,
    estimator: float | HasFit,
    *,
    groups: ArrayLike | None = None,
    n_draws: int = 4,
    random_state: RandomState = None,
) -> LearningCurve:
    r"""Say what more rows would bring: the error of new rows by the number of rows fitted.

    Each fifth of the rows is held out. An eighth, a quarter, a half and all of the others are fitted, drawn
    at random `n_draws` times, and judged by the same held-out rows. Sizes that are too small for the
    components are left out.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or Arrow table of shape (n_samples, n_features)
        Rows in memory. Cells may be missing (NaN); then errors are those of the seen cells.
    estimator : int, float or estimator
        The number of components of a :class:`CorrectedPCACV`, or an estimator of components of this package.
    groups : array-like of shape (n_samples,), optional
        Labels of the rows, such as subjects; rows of one group are held out, and drawn, together.
    n_draws : int, default=4
        How often rows are drawn for each size and held-out fifth.
    random_state : int, RandomState or None, default=None
        Draws the rows.

    Returns
    -------
    LearningCurve
        It prints as a sentence; its ``plot`` draws it.

    Notes
    -----
    What more rows bring is foretold from what was measured, by the law :math:`a + b/m` of many rows.
    With few rows errors fall more slowly, and go on falling for longer, so the sentence is rather too low.
    The guide page "How stable the components are, and what more rows bring" has the numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import CorrectedPCA, learning_curve
    >>> curve = learning_curve(load_digits().data[::18], CorrectedPCA(10), random_state=0)
    >>> curve.sizes
    array([20., 40., 80.])
    >>> print(curve)  # doctest: +NORMALIZE_WHITESPACE
    Twice the rows would remove about 4.9% of the error of new rows (standard error 1.2%), half of what
    unlimited rows would remove.
    """
    n_draws = checked_count(n_draws, "n_draws")
    random = checked_random(random_state)
    check_in_memory(X, "learning_curve")
    fitted = fitted_once(estimator, X, groups)
    if not isinstance(fitted, SubspaceTransformer):
        raise ValueError(
            "estimator must be a number of components, or an estimator of attenua such as CorrectedPCACV(5); "
            f"got {type(fitted).__name__}."
        )
    rows, rank = checked_rows(fitted, X), int(fitted.n_components_)
    units = checked_groups(groups, rows.shape[0])
    units = np.arange(rows.shape[0]) if units is None else units
    splits = make_splits(DEFAULT_FOLDS, rows.shape[0], groups=groups)
    parts = _parts_of(splits, units, rank, grouped=groups is not None)
    pca = CorrectedPCA(rank).fit(rows)
    drawn_sizes: list[list[int]] = [[] for _ in parts]
    losses = np.zeros((2, rows.shape[0], len(parts)))
    draws = [n_draws if part < 1 else 1 for part in parts]
    fits = [place for place, times in enumerate(draws) for _ in range(times)]
    for training, held in in_parts(splits, len(splits)):
        for place in in_parts(fits, len(fits), lambda place: f"{parts[place]:.1%} of other rows"):
            drawn = _drawn(training, units, parts[place], random)
            drawn_sizes[place].append(len(drawn))
            labels = None if groups is None else units[drawn]
            for number, model in enumerate((fitted, pca)):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # the fit to all rows gave them
                    other = refitted(model, rows[drawn], labels)
                    losses[number, held, place] += other.reconstruction_error(rows[held]) / draws[place]
    own, of_pca = (np.array([np.bincount(units, some) for some in of_model.T]).T for of_model in losses)
    sizes = np.array([np.mean(some) for some in drawn_sizes])
    return LearningCurve(sizes, own, of_pca, rows.shape[0])


def _parts_of(splits: Any, units: NDArray[np.intp], rank: int, *, grouped: bool) -> list[float]:
    """Return the parts of the training sets whose rows, and groups of them, are enough."""
    least = max(_FEWEST_ROWS, int(np.ceil(_ROWS_PER_COMPONENT * (rank + 1))))
    # Of groups, the smallest come first at worst.
    sizes = [np.sort(np.unique(units[training], return_counts=True)[1]) for training, _ in splits]

    def is_enough(part: float) -> bool:
        drawn = [some[: int(part * len(some))] for some in sizes]
        return all(len(some) >= _FEWEST_GROUPS and some.sum() >= least for some in drawn)

    parts = [part for part in _PARTS if is_enough(part)]
    if len(parts) >= 2:
        return parts
    of_components = f"for {counted(rank, 'component')}"
    if grouped:
        raise ValueError(
            f"Half of the groups that are not held out must be at least {_FEWEST_GROUPS}, with at least "
            f"{least} rows {of_components}; got {counted(int(units.max()) + 1, 'group')} of "
            f"{counted(len(units), 'row')}. Give fewer components, or more groups."
        )
    raise ValueError(
        f"X must have at least {-(-5 * least // 2)} rows {of_components}: half of what is not held out, four "
        f"fifths of the rows, must be {least}. Got {len(units)} rows. Give fewer components, or more rows."
    )


def _drawn(
    training: NDArray[np.intp], units: NDArray[np.intp], part: float, random: np.random.RandomState
) -> NDArray[np.intp]:
    """Return a part of some rows, or of their groups, drawn at random."""
    names = np.unique(units[training])
    chosen = random.permutation(names)[: int(part * len(names))]
    return training[np.isin(units[training], chosen)]
