"""Tempering of a matrix, by its entries and against that of moments."""

import numpy as np
import pytest

from attenua._correct.tempering import differential, tempered, tempered_matrix
from attenua._data.rows import HostRows
from tests.helpers import covariance, entries_of_t, uneven_rows

X = uneven_rows(120, 14)
S = covariance(X)


@pytest.mark.parametrize("strength", [0.3, 0.7, 1.0])
def test_entries(strength):
    found = tempered_matrix(S, strength)
    np.testing.assert_allclose(found, entries_of_t(S, 0, strength), rtol=1e-12)
    np.testing.assert_allclose(found, tempered(HostRows(X).moments(), strength).covariance, rtol=1e-9)


def test_strength_1_gives_correlations_whose_diagonal_cannot_change():
    np.testing.assert_allclose(tempered_matrix(S, 1.0), np.corrcoef(X.T), rtol=1e-10)
    E = np.add.outer(np.diag(S), np.diag(S))
    np.testing.assert_allclose(np.diag(differential(S, 1.0, E)), 0, atol=1e-12)
