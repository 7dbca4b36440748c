"""Bounds of the next eigenvalue against dense LAPACK, and a missed eigenvalue that must not pass."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from attenua.cut_bound import CutBound
from attenua.moments import Rows
from attenua.rules import AttenuationRule
from tests.helpers import covariance, spiked_rows

STRENGTHS = np.linspace(0, 1, 11)


def family_of(X):
    return AttenuationRule(STRENGTHS)._family(Rows(X).moments())


def leading(S, alpha, count):
    values, vectors = np.linalg.eigh(S - alpha * np.diag(np.diag(S)))
    return values[::-1][:count], vectors[:, ::-1][:, :count]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "p"), [(400, 250), (60, 700)])
@pytest.mark.parametrize("proven_at", [0.0, 0.5, 1.0])
def test_a_proof_bounds_every_strength(n, p, proven_at):
    X = spiked_rows(n, p, 3)
    S, rank = covariance(X), 3
    bound = CutBound(family_of(X), rank)
    assert bound.can_prove
    values, vectors = leading(S, proven_at, rank + 1)
    level = values[rank] + 0.3 * (values[rank - 1] - values[rank])
    assert bound.prove(proven_at, level, vectors[:, :rank], values[:rank])
    for alpha in STRENGTHS:
        assert bound.at(alpha) >= leading(S, alpha, rank + 1)[0][rank]
    assert bound.at(proven_at) <= level * (1 + 1e-6)


@pytest.mark.parametrize(("n", "p"), [(400, 250), (60, 700)])
def test_a_missed_eigenvalue_is_not_proven_away(n, p):
    X = spiked_rows(n, p, 4)
    rank = 3
    values, vectors = leading(covariance(X), 0.5, 5)
    kept = [0, 1, 3]  # the third was overlooked, the fourth taken in its place
    level = values[4] + 0.3 * (values[3] - values[4])
    bound = CutBound(dataclasses.replace(family_of(X), next_value=None), rank)
    assert not bound.prove(0.5, level, vectors[:, kept], values[kept])
    assert bound.at(0.5) == np.inf


def test_few_rows_know_their_spectrum():
    X = spiked_rows(60, 700, 3)
    value = leading(covariance(X), 0.0, 4)[0][3]
    assert CutBound(family_of(X), 3).at(0.0) == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("alpha", [0.0, 0.4, 1.0])
def test_inertia_counts_eigenvalues(alpha, sparse):
    X = spiked_rows(50, 600, 4)
    S = covariance(X)
    values = np.linalg.eigvalsh(S - alpha * np.diag(np.diag(S)))[::-1]
    found = Rows(sp.csr_matrix(X) if sparse else X).moments()
    for count in (1, 4, 10):
        between = (values[count - 1] + values[count]) / 2
        assert found.count_above(alpha, between) == count
