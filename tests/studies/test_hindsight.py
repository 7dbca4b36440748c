"""Subspaces at every pair against the definition of the two-strength family."""

import numpy as np
import pytest

from attenua.studies.hindsight import ALPHAS, TEMPERINGS, subspaces
from tests.helpers import correlated_rows


@pytest.mark.parametrize("p", [9, 70])
def test_subspaces_are_those_of_the_definition(p):
    S = np.cov(correlated_rows(40, p).T)
    bases = subspaces(S, 3)
    s = np.sqrt(np.diag(S))
    for g in (0, 3, 8):
        t = s ** (1 - TEMPERINGS[g])
        R = S / np.outer(s, s)
        for a in (0, 10, 21):
            T = R * np.outer(t, t)
            T[np.diag_indices(p)] = (1 - ALPHAS[a]) * t**2
            U = np.linalg.eigh(T)[1][:, -3:]
            np.testing.assert_allclose(bases[g, a] @ bases[g, a].T, U @ U.T, atol=1e-6)


def test_a_constant_column_stays_out():
    X = correlated_rows(30, 6)
    X[:, 2] = 5.0
    bases = subspaces(np.cov(X.T), 2)
    np.testing.assert_allclose(bases[:, :, 2], 0, atol=1e-12)
