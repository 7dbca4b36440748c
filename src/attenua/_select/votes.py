r"""Votes: which candidates of a search are averaged, and with what weights.

A vote is a bootstrap sample of the held-out rows, or of whole groups where rows have groups. It chooses the
candidate that loses least on the rows it drew. The rows it did not draw must confirm the choice: with the
differences d of what the base (PCA, or Ledoit and Wolf's covariance) and the choice lose on each of them,

.. math::

    \bar d > \tfrac12\, \mathrm{se}(\bar d),

and it must exceed the least gain that matters. Otherwise the vote goes to the base. Besides, PCA has a fixed
share of all votes.

Rows that cannot be kept one by one, because they are many or were read once, are judged split by split. Then
every vote leaves out one split, which must confirm its choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attenua._select.comparison import ROUNDING

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

# More votes change the weights by less than the rows do.
N_VOTES = 100
# A choice must gain more than this many standard errors on the rows that its vote did not draw.
_CONFIRMED = 0.5


@dataclass(frozen=True)
class Voters:
    """What is drawn in votes: held-out rows, groups of them, or whole splits.

    Attributes
    ----------
    numbers : sequence of ndarray
        For every split, the voter of each line of its losses.
    n_voters : int
        How many there are.
    are_splits : bool
        Whether the voters are whole splits.
    """

    numbers: Sequence[Indices]
    n_voters: int
    are_splits: bool

    @property
    def words(self) -> str:
        """Who votes, in a few words."""
        if self.are_splits:
            return "each split, since the rows are many or were read once"
        return f"{N_VOTES} bootstrap samples of the held-out rows or groups"

    @classmethod
    def of_rows(cls, held_out: Sequence[Indices], groups: Indices | None) -> "Voters":
        """Return rows that vote, or groups, from the numbers of the held-out rows of every split."""
        labels = [rows if groups is None else groups[rows] for rows in held_out]
        every, numbers = np.unique(np.concatenate(labels), return_inverse=True)
        by_split = np.split(numbers, np.cumsum([len(some) for some in labels])[:-1])
        return cls(by_split, len(every), False)

    @classmethod
    def of_splits(cls, n_splits: int) -> "Voters":
        """Return splits that vote as a whole."""
        return cls([np.array([split]) for split in range(n_splits)], n_splits, True)

    def added(self, losses: Sequence[Array]) -> Array:
        """Return the sum of what each voter loses, from the losses of the lines of every split."""
        total: Any = np.bincount(np.concatenate(self.numbers), np.concatenate(losses), self.n_voters)
        return total

    def seen(self, gains: Sequence[Array]) -> Array:
        """Return the sum of what each voter of the first splits gains, from the gains of their lines."""
        numbers = np.concatenate(self.numbers[: len(gains)])
        totals: Any = np.bincount(numbers, np.concatenate(gains))
        return totals[np.bincount(numbers) > 0]

    def ballots(self) -> Array:
        """Return how often each vote (line) draws each voter (column)."""
        n = self.n_voters
        if self.are_splits:
            return 1.0 - np.eye(n) if n > 1 else np.ones((1, 1))
        # The numbers of this generator are the same in every version of numpy.
        drawn = np.random.RandomState(0).randint(n, size=(N_VOTES, n))
        return np.array([np.bincount(vote, minlength=n) for vote in drawn], dtype=float)

    def elect(self, losses: Array, base_share: float, least_gain: float = 0.0) -> Array:
        """Return the weight of each candidate in the average.

        Parameters
        ----------
        losses : ndarray of shape (n_voters, n_candidates)
            What each voter loses by each candidate; the first is the base, PCA or Ledoit and Wolf's.
        base_share : float
            Share of the votes that the base has in any case.
        least_gain : float
            Smallest gain that counts, as a part of what the base loses.
        """
        ballots = self.ballots()
        risks = ballots @ losses
        negligible = ROUNDING * ballots.sum(axis=1) * abs(losses[:, 0].mean())
        choices = np.argmax(risks <= (risks.min(axis=1) + negligible)[:, None], axis=1)
        least = least_gain * losses[:, 0].mean()
        choices[~_are_confirmed(ballots == 0, losses[:, :1] - losses, choices, least)] = 0
        votes = np.bincount(choices, minlength=losses.shape[1])
        weights: Any = votes * ((1 - base_share) / len(ballots))
        weights[0] += base_share
        return weights


def _are_confirmed(
    is_left: NDArray[np.bool_], gains: Array, choices: Indices, least: float = 0.0
) -> NDArray[np.bool_]:
    """Return whether each choice is confirmed by the voters that its vote left; without any, it counts."""
    left = is_left.astype(float)
    n = left.sum(axis=1)
    votes = np.arange(len(choices))
    sums, squares = ((left @ some)[votes, choices] for some in (gains, gains**2))
    means = sums / np.maximum(n, 1)
    variances = np.maximum(squares - n * means**2, 0.0) / np.maximum(n - 1, 1)
    errors = np.sqrt(variances / np.maximum(n, 1))
    is_larger: NDArray[np.bool_] = means > np.maximum(_CONFIRMED * errors, least)
    return is_larger | (n == 0)
