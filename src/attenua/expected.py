"""What to expect before anything is fitted: what happened on real data that look like yours."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from attenua._correct.columns import column_smoother
from attenua._data.checks import naming_text_columns
from attenua._data.streams import from_arrow
from attenua._data.sums import magnitude
from attenua._estimate.html import facts_html
from attenua._estimate.parameter_types import Neighbours

Array = NDArray[np.float64]

CELLS_FILE = "expected_cells.csv"
# What cells are compared by. Sizes count by their ratios.
SIZES = ("rows", "columns", "rank")
TRAITS = (*SIZES, "tails", "spread", "gap")
# Few cells of one data set: the gain depends more on the data than on the numbers of rows and components.
N_SIMILAR, MOST_OF_ONE = 20, 3
# A cell has lost if it adds more than this to PCA's excess risk, in percent.
LOSS = 1.0


@dataclass(frozen=True)
class ExpectedGain:
    """What all corrections did on the cells of the collection that are most like a sample.

    A cell is a data set, a number of rows and a rank. Gains are percentages of PCA's excess risk.

    Attributes
    ----------
    gain : float
        Median of the similar cells.
    quartiles : tuple of float
        A quarter of the similar cells gained less than the first, a quarter more than the second.
    n_cells, n_losses : int
        How many cells were found similar, and how many of them lost more than 1%.
    like : tuple of str
        Their data sets, the most similar first.
    traits : dict
        What was compared: rows, columns, rank, tails, spread and gap of the sample.
    beyond : tuple of str
        Traits in which no cell comes near the sample.
    """

    gain: float
    quartiles: tuple[float, float]
    n_cells: int
    n_losses: int
    like: tuple[str, ...]
    traits: dict[str, float]
    beyond: tuple[str, ...]

    def __str__(self) -> str:
        """Return it in words."""
        low, high = self.quartiles
        lines = [
            f"On the {self.n_cells} most similar cells, the corrections removed {self.gain:.0f}% of PCA's "
            f"excess risk (the median; half of the cells lie between {low:.0f}% and {high:.0f}%).",
            f"{self.n_losses} of them lost more than 1%. Most similar: {', '.join(self.like[:5])}.",
        ]
        if self.beyond:
            lines.append(f"No cell comes near yours in {' and '.join(self.beyond)}: do not rely on this.")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        low, high = self.quartiles
        facts = [
            ("half of the cells", f"between {low:.0f}% and {high:.0f}%"),
            ("lost more than 1%", f"{self.n_losses} of {self.n_cells}"),
            ("most similar", ", ".join(self.like[:5])),
            ("your rows", ", ".join(f"{name} {value:.3g}" for name, value in self.traits.items())),
        ]
        if self.beyond:
            facts.append(("do not rely on this", f"no cell comes near yours in {' and '.join(self.beyond)}"))
        title = f"On similar data the corrections removed {self.gain:.0f}% of PCA's excess risk (median)"
        return facts_html(title, facts)


def expected_gain(X: Any, n_components: int, *, neighbours: Neighbours = None) -> ExpectedGain:
    r"""Say what :class:`attenua.CorrectedPCACV` did on real data that look like yours.

    Nothing is fitted, and no row is held out. The answer is the median of the 20 nearest of several hundred
    cells of real data sets, at most three cells of one set. Where you give ``neighbours``, only cells whose
    columns have an order are used, else only the others. Distances are Euclidean, in standard
    deviations of

    - the logarithms of rows, columns and rank;
    - *tails*: the logarithm of the columns' median kurtosis :math:`m_4 / m_2^2` (:math:`\log 3` if Gaussian);
    - *spread*: the standard deviation of the logarithms of the columns' variances;
    - *gap*: :math:`1 - \lambda_{d+1} / \lambda_d`, of the eigenvalues of the sample covariance.

    The page "When does it pay?" says how well this predicts data sets that are not in the table. It does not
    replace the held-out rows of :class:`attenua.CorrectedPCACV`, which are your own.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows, as they would be fitted.
    n_components : int
        Rank.
    neighbours : object, default=None
        As in :class:`attenua.CorrectedPCACV`. Only whether it is None matters here.

    Returns
    -------
    ExpectedGain

    See Also
    --------
    attenua.theory.when : What the theory expects of each correction, for a covariance or a sample.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from attenua import expected_gain
    >>> expected = expected_gain(load_digits().data[::28], 10, neighbours=(8, 8))
    >>> expected.n_cells
    20
    """
    X, names = from_arrow(X)
    with naming_text_columns(X):
        rows = check_array(
            X,
            dtype=np.float64,
            ensure_all_finite=False,  # magnitude names the column
            ensure_min_samples=3,
            ensure_min_features=2,
            input_name="X",
        )
    magnitude(rows, getattr(X, "columns", names))
    column_smoother(neighbours, rows.shape[1])  # refuses neighbours that do not fit the columns
    return _cells_of_the_collection().expected(traits_of(rows, n_components), neighbours is not None)


def traits_of(X: Array, n_components: int) -> dict[str, float]:
    """Return the numbers that a sample is compared by, from the columns that vary."""
    centred = X - X.mean(axis=0)
    largest = np.abs(centred).max(axis=0)
    centred, largest = centred[:, largest > 0], largest[largest > 0]
    if not len(largest):
        raise ValueError("X has no column that varies.")
    is_whole = isinstance(n_components, Integral) and not isinstance(n_components, bool)
    if not is_whole or not 1 <= n_components < min(X.shape):
        raise ValueError(
            f"n_components must be a whole number from 1 to {min(X.shape) - 1} for {X.shape[0]} rows and "
            f"{X.shape[1]} columns; got {n_components!r}."
        )
    scaled = centred / largest  # so that no power overflows
    variances = np.mean(scaled**2, axis=0)
    eigenvalues = np.zeros(min(X.shape))  # padded: there may be fewer directions than components
    singular_values = np.linalg.svd(scaled * (largest / largest.max()), compute_uv=False)
    eigenvalues[: len(singular_values)] = singular_values**2
    last, next_one = eigenvalues[n_components - 1 : n_components + 1]
    return {
        "rows": float(X.shape[0]),
        "columns": float(X.shape[1]),
        "rank": float(n_components),
        "tails": float(np.log(np.median(np.mean(scaled**4, axis=0) / variances**2))),
        "spread": float(np.std(np.log(variances) + 2 * np.log(largest))),
        "gap": float(1 - next_one / last) if last > 0 else 1.0,
    }


class Cells:
    """Cells with known gains, and the space in which they are compared.

    A record has the name of the ``data`` set, its traits, its ``gain``, and whether columns are ``ordered``.
    """

    def __init__(self, records: Sequence[Mapping[str, Any]]):
        self.data = [str(record["data"]) for record in records]
        self.ordered = np.array([bool(int(record["ordered"])) for record in records])
        self.gains = np.array([float(record["gain"]) for record in records])
        places = np.array([_place(record) for record in records])
        self._centre, self._scale = places.mean(axis=0), places.std(axis=0)
        self._places = (places - self._centre) / self._scale

    def expected(self, traits: Mapping[str, Any], ordered: bool) -> ExpectedGain:
        """Return what the cells most like some traits gained."""
        place = (_place(traits) - self._centre) / self._scale
        similar = self._similar(place, ordered)
        gains = self.gains[similar]
        low, median, high = (float(value) for value in np.percentile(gains, [25, 50, 75]))
        # More than a standard deviation outside the range of the cells that are used.
        places = self._places[self.ordered == ordered]
        far = (place < places.min(axis=0) - 1) | (place > places.max(axis=0) + 1)
        return ExpectedGain(
            gain=median,
            quartiles=(low, high),
            n_cells=len(similar),
            n_losses=int(np.sum(gains < -LOSS)),
            like=tuple(dict.fromkeys(self.data[cell] for cell in similar)),
            traits={trait: float(traits[trait]) for trait in TRAITS},
            beyond=tuple(trait for trait, is_far in zip(TRAITS, far, strict=True) if is_far),
        )

    def _similar(self, place: Array, ordered: bool) -> list[int]:
        """Return the nearest cells, few of each data set."""
        nearest = np.argsort(np.linalg.norm(self._places - place, axis=1), kind="stable")
        similar: list[int] = []
        taken: dict[str, int] = {}
        for cell in nearest[self.ordered[nearest] == ordered]:
            name = self.data[cell]
            taken[name] = taken.get(name, 0) + 1
            if taken[name] <= MOST_OF_ONE:
                similar.append(int(cell))
            if len(similar) == N_SIMILAR:
                break
        return similar


def _place(traits: Mapping[str, Any]) -> Array:
    values = [float(traits[trait]) for trait in TRAITS]
    return np.array([np.log(v) if t in SIZES else v for t, v in zip(TRAITS, values, strict=True)])


@cache
def _cells_of_the_collection() -> Cells:
    text = files("attenua").joinpath(CELLS_FILE).read_text(encoding="utf-8")
    return Cells(list(csv.DictReader(text.splitlines())))
