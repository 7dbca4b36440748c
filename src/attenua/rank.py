"""How many components stand out of the noise."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from attenua._data.checks import checked_count, checked_random, naming_text_columns
from attenua._data.completion import complete
from attenua._data.missing import has_missing, partial_rows
from attenua._data.opening import check_in_memory, with_nan
from attenua._data.streams import from_arrow
from attenua._data.sums import magnitude
from attenua._estimate.parameter_types import RandomState
from attenua._select.rank import (
    guarded_least_error,
    hard_threshold,
    least_error,
    partition_errors,
    shuffled_thresholds,
    spectrum,
)

Array = NDArray[np.float64]
Method = Literal["bcv", "parallel", "threshold"]

DEFAULT_REPEATS = {"bcv": 10, "parallel": 40}


@dataclass(frozen=True)
class RankChoice:
    """A number of components and what it was chosen by, from :func:`choose_rank`.

    Attributes
    ----------
    rank : int
        Number of components; 0 where nothing stands out of the noise.
    method : {"bcv", "parallel", "threshold"}
        How it was chosen.
    ranks : ndarray of int
        What was compared: 0, 1, ... by ``"bcv"``, 1, 2, ... by the others.
    errors : ndarray of shape (n_repeats, n_ranks) or None
        Only ``"bcv"``: squared error of the held-out entries at each rank, one row for each random partition,
        as parts of the mean error of rank 0.
    eigenvalues, thresholds : ndarray of shape (n_ranks,) or None
        Only the others: the part of the variance that each component explains, and what it has to exceed.
    """

    rank: int
    method: Method
    ranks: NDArray[np.intp]
    errors: Array | None = None
    eigenvalues: Array | None = None
    thresholds: Array | None = None

    @property
    def sentence(self) -> str:
        """The choice in words."""
        number = {0: "No component", 1: "1 component"}.get(self.rank, f"{self.rank} components")
        words = f"{number}: {self._reason()}."
        if self.rank == self.ranks[-1]:
            words += " No larger number was tried: there may be more."
        return words

    def __str__(self) -> str:
        return self.sentence

    def plot(self, ax: Any = None) -> Any:
        """Draw the errors or eigenvalues with the choice, as :func:`attenua.pictures.rank` does.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from attenua import pictures

        return pictures.rank(self, ax)

    def _reason(self) -> str:
        if self.errors is not None:
            return _reason_of_errors(self.errors, self.rank)
        noise = {
            "parallel": "one of shuffled columns",
            "threshold": "equal noise with the same median singular value",
        }[self.method]
        if self.rank == self.ranks[-1]:
            return f"each explains more than {noise}"
        return f"the {'next' if self.rank else 'first'} explains no more than {noise}"


def _reason_of_errors(errors: Array, rank: int) -> str:
    error, least = errors.mean(axis=0), least_error(errors)
    if rank == 0:
        reason = "held-out entries are predicted as well by the column means"
    else:
        reason = f"held-out entries are predicted with {error[rank]:.0%} of the error of the column means"
    if least > rank:
        reason += f" ({error[least]:.0%} with {least}, which is not clearly better)"
    return reason


def choose_rank(
    X: Any,
    *,
    method: Method = "bcv",
    scale: bool = False,
    max_rank: int | None = None,
    n_repeats: int | None = None,
    random_state: RandomState = None,
) -> RankChoice:
    r"""Choose the number of components of PCA.

    There are three methods, which ask different questions:

    - ``"bcv"``, bi-cross-validation: with how many components are entries predicted best whose row *and*
      column are held out? Rows and columns are split in halves at random, so that
      :math:`X = \begin{pmatrix} A & B \\ C & D \end{pmatrix}`. The error of rank :math:`k` is the squared
      norm of :math:`A - B \hat D_k^+ C`, with :math:`\hat D_k` the leading part of :math:`D`. Each block is
      :math:`A` once [1]_. The choice is the smallest rank that is not clearly worse than the best: by no
      more than a standard deviation of the difference over partitions.
    - ``"parallel"``, parallel analysis: which components explain more than those of the same columns, each
      shuffled on its own? A component counts if it and all before it exceed the 95% quantile [2]_.
    - ``"threshold"``: which components bring more signal than noise, if the noise is equal in all columns and
      the median singular value is noise [3]_? Nothing is drawn at random.

    All take noise to be independent from column to column. Where neighbouring columns vary together, they
    count noise as components. The page "How many components" of the guide compares them.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Dense rows in memory: at least 4, with 2 columns that vary. Missing cells (NaN) are drawn once from
        the law that completes the rows in fits, given the seen cells: filled with means, they would have no
        noise, and there would seem to be more components. Where over a fifth of the cells is missing, the
        number may be too large.
    method : {"bcv", "parallel", "threshold"}, default="bcv"
        Which of these questions to ask.
    scale : bool, default=False
        Whether to divide the columns by their standard deviations, as PCA with ``scale=True`` does.
    max_rank : int, default=None
        The largest rank compared; by default the largest possible. For ``"bcv"`` that is about half of what
        PCA can have, since half of the rows and columns are held out.
    n_repeats : int, default=None
        Random partitions of ``"bcv"``, by default 10, or shuffled copies of ``"parallel"``, by default 40.
        One partition has no standard deviation: the rank of its least error is taken.
    random_state : int, RandomState or None, default=None
        Draws partitions, shuffles and missing cells.

    Returns
    -------
    RankChoice
        Its ``rank`` is the number. It prints as a sentence, and its ``plot`` draws it.

    Notes
    -----
    Why ``"bcv"`` steps back from the least error: beyond the true rank the error hardly rises at first, so
    chance often puts the least one too far. Partitions share their rows, so the standard deviation of the
    difference is not divided by the root of their number.

    References
    ----------
    .. [1] A. B. Owen and P. O. Perry, "Bi-cross-validation of the SVD and the nonnegative matrix
       factorization", Annals of Applied Statistics 3 (2009), 564-594. They take the least error.
    .. [2] J. L. Horn, "A rationale and test for the number of factors in factor analysis", Psychometrika 30
       (1965), 179-185; by permutations: A. Buja and N. Eyuboglu, "Remarks on parallel analysis",
       Multivariate Behavioral Research 27 (1992), 509-540.
    .. [3] M. Gavish and D. L. Donoho, "The optimal hard threshold for singular values is 4/sqrt(3)", IEEE
       Transactions on Information Theory 60 (2014), 5040-5053.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua import choose_rank
    >>> random = np.random.default_rng(0)
    >>> X = random.standard_normal((60, 2)) @ random.standard_normal((2, 30))  # two components
    >>> X += random.standard_normal((60, 30))
    >>> choose_rank(X, random_state=0).rank
    2
    """
    if method not in get_args(Method):
        raise ValueError(f"method must be {_one_of(get_args(Method))}; got {method!r}.")
    n_repeats = _checked_repeats(n_repeats, method)
    rows = _varying_columns(_checked_rows(X), scale)
    n, p = rows.shape
    limit = min(n // 2 - 1, p // 2) if method == "bcv" else min(n - 1, p)
    max_rank = limit if max_rank is None else checked_count(max_rank, "max_rank", most=limit)
    random = np.random.default_rng(checked_random(random_state).randint(2**31))
    if np.isnan(rows).any():
        rows = complete(rows, np.ones(n)).drawn(random)
        rows -= rows.mean(axis=0)
    if method == "bcv":
        return _by_bcv(rows, max_rank, n_repeats, random)
    if method == "parallel":
        thresholds = shuffled_thresholds(rows, n_repeats, random)[:max_rank]
    else:
        thresholds = np.full(max_rank, hard_threshold(rows))
    eigenvalues = spectrum(rows)[:max_rank]
    rank = int(np.argmin(np.append(eigenvalues > thresholds, False)))
    ranks = np.arange(1, max_rank + 1)
    return RankChoice(rank, method, ranks, eigenvalues=eigenvalues, thresholds=thresholds)


def _by_bcv(rows: Array, max_rank: int, n_repeats: int, random: np.random.Generator) -> RankChoice:
    partitions = [[np.array_split(random.permutation(m), 2) for m in rows.shape] for _ in range(n_repeats)]
    errors = np.array([partition_errors(rows, halves[0], halves[1], max_rank) for halves in partitions])
    errors /= errors[:, 0].mean()
    return RankChoice(guarded_least_error(errors), "bcv", np.arange(max_rank + 1), errors=errors)


def _checked_rows(X: Any) -> Array:
    check_in_memory(X, "choose_rank")
    X, names = from_arrow(X)
    X = with_nan(X)
    with naming_text_columns(X):
        rows: Array = check_array(
            X,
            dtype=np.float64,
            ensure_all_finite=False,  # magnitude names the column
            ensure_min_samples=4,
            ensure_min_features=2,
            estimator="choose_rank",
            input_name="X",
        )
    names = getattr(X, "columns", names)
    if has_missing(rows):
        return partial_rows(rows, None, names).rows
    magnitude(rows, names)
    return rows


def _varying_columns(X: Array, scale: bool) -> Array:
    """Return centred columns, without those that do not vary, in a unit in which no square overflows."""
    scaled = X / (np.nanmax(np.abs(X)) or 1.0)
    scaled = scaled[:, np.nanmax(scaled, axis=0) > np.nanmin(scaled, axis=0)]
    if scaled.shape[1] < 2:
        raise ValueError(f"X must have at least 2 columns that vary; got {scaled.shape[1]}.")
    centred: Array = scaled - np.nanmean(scaled, axis=0)
    if not scale:
        return centred / float(np.nanmax(np.abs(centred)))
    centred /= np.nanmax(np.abs(centred), axis=0)
    deviations: Array = np.nanstd(centred, axis=0)
    return centred / deviations


def _checked_repeats(n_repeats: int | None, method: str) -> int:
    if n_repeats is None:
        return DEFAULT_REPEATS.get(method, 0)
    if method not in DEFAULT_REPEATS:
        raise ValueError(f"n_repeats is for {_one_of(DEFAULT_REPEATS)}; {method!r} draws nothing at random.")
    return checked_count(n_repeats, "n_repeats")


def _one_of(names: Any) -> str:
    return " or ".join(repr(name) for name in names)
