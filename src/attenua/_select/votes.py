r"""Votes: which candidates of a search are averaged, and with what weights.

A vote is a bootstrap sample of the held-out rows, or of whole groups where rows have groups. It chooses the
candidate that loses least on the rows it drew. The rows it did not draw must confirm the choice: with the
differences d of what the base (PCA, or Ledoit and Wolf's covariance) and the choice lose on each of them,

.. math::

    \bar d > \tfrac12\, \mathrm{se}(\bar d),

and it must exceed the least gain that matters. Otherwise the vote goes to the base.
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
    """Held-out rows, or groups of them.

    Attributes
    ----------
    numbers : sequence of ndarray
        For every split, the voter of each of its held-out rows.
    n_voters : int
        How many there are.
    """

    numbers: Sequence[Indices]
    n_voters: int

    @classmethod
    def of_rows(cls, held_out: Sequence[Indices], groups: Indices | None) -> "Voters":
        """Return rows that vote, or groups, from the numbers of the held-out rows of every split."""
        labels = [rows if groups is None else groups[rows] for rows in held_out]
        every, numbers = np.unique(np.concatenate(labels), return_inverse=True)
        by_split = np.split(numbers, np.cumsum([len(some) for some in labels])[:-1])
        return cls(by_split, len(every))

    def added(self, losses: Sequence[Array]) -> Array:
        """Return the sum of what each voter loses, from the losses of the rows of every split."""
        total: Any = np.bincount(np.concatenate(self.numbers), np.concatenate(losses), self.n_voters)
        return total

    def seen(self, gains: Sequence[Array]) -> Array:
        """Return the sum of what each voter of the first splits gains, from the gains of their rows."""
        numbers = np.concatenate(self.numbers[: len(gains)])
        totals: Any = np.bincount(numbers, np.concatenate(gains))
        return totals[np.bincount(numbers) > 0]

    def elect(self, losses: Array, least_gain: float = 0.0) -> Array:
        """Return the weight of each candidate in the average: its part of the votes.

        Parameters
        ----------
        losses : ndarray of shape (n_voters, n_candidates)
            What each voter loses by each candidate; the first is the base, PCA or Ledoit and Wolf's.
        least_gain : float
            Smallest gain that counts, as a part of what the base loses.
        """
        n, n_candidates = losses.shape
        least, rounding = (part * abs(losses[:, 0].mean()) for part in (least_gain, ROUNDING))
        votes = np.zeros(n_candidates)
        random = np.random.RandomState(0)  # its numbers are the same in every version of numpy
        for _ in range(N_VOTES):
            counts = np.bincount(random.randint(n, size=n), minlength=n)
            risks = counts @ losses
            best = int(np.argmax(risks <= risks.min() + n * rounding))
            gains = (losses[:, 0] - losses[:, best])[counts == 0]
            votes[best if _is_confirmed(gains, least) else 0] += 1
        return votes / N_VOTES


def _is_confirmed(gains: Array, least: float) -> bool:
    """Return whether the voters that a vote did not draw confirm its choice; without any, it counts."""
    if len(gains) < 2:
        return len(gains) == 0 or bool(gains[0] > least)
    error = gains.std(ddof=1) / np.sqrt(len(gains))
    return bool(gains.mean() > max(_CONFIRMED * error, least))
