"""Simulated data sets that look to the study like entries of the collection; and whether R has rrcov."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from attenua_evidence.needs import version_in_r


@dataclass(frozen=True)
class Table:
    X: np.ndarray
    groups: np.ndarray | None = None
    labels: np.ndarray | None = None


@dataclass(frozen=True)
class Entry:
    name: str
    table: Table
    unit: str = "one"
    order: str | tuple[int, ...] | None = None
    part: str = "develop"
    kind: str = "table"

    @property
    def shape(self):
        return self.table.X.shape

    def read(self, folder):
        return self.table


def spiked(n, p, *, seed=0, rank=3, heavy=False):
    """Rows with a few strong directions that vary along the columns, far apart in strength."""
    random = np.random.default_rng(seed)
    waves = np.sin(np.outer(np.arange(1, rank + 1), np.linspace(0, 2, p)) + 1)
    scores = random.standard_normal((n, rank)) * 6 / 2.0 ** np.arange(rank)
    noise = random.standard_t(3, (n, p)) if heavy else random.standard_normal((n, p))
    return 5 + scores @ waves * (1 + 9 * (heavy & (random.random(n) < 0.05)))[:, None] + noise


@cache
def has_rrcov():
    """Whether R is installed with rrcov: R alone is not enough."""
    return bool(version_in_r("rrcov"))
