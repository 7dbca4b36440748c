"""The strength chosen by the fast route against the one that dense LAPACK chooses, on many random problems.

The problems are small so that there can be many; the limit below which LAPACK is used anyway is lowered, so
that all of them go the way of large ones.
"""

from collections import Counter

import numpy as np
import pytest

from attenua import AttenuatedPCACV, moments, shared_basis, spectrum
from tests.helpers import covariance, sine, spiked_rows

pytestmark = pytest.mark.slow

SEEDS = 30
STRENGTHS = np.linspace(0, 1, 12)


def rotated(rng, values, n, noise=0.0):
    """Rows whose covariance has given eigenvalues, in random directions, and unequal further noise."""
    p = len(values)
    Q = np.linalg.qr(rng.standard_normal((p, p)))[0]
    rows = (rng.standard_normal((n, p)) * np.sqrt(values)) @ Q.T
    return rows + noise * rng.uniform(0.2, 1.5, p) * rng.standard_normal((n, p))


def spiked(rng, rank):
    return spiked_rows(150, 90, rank, seed=int(rng.integers(2**31)))


def fewer_rows_than_columns(rng, rank):
    return spiked_rows(40, 100, rank, seed=int(rng.integers(2**31)))


def flat_spectrum(rng, rank):
    return rotated(rng, np.linspace(1.0, 1.1, 90), 150)


def sloping_spectrum(rng, rank):
    return rotated(rng, np.geomspace(5.0, 0.1, 90), 60, noise=1.0)


def cut_inside_a_cluster(rng, rank):
    values = np.append(np.full(rank + 2, 20.0), np.full(88 - rank, 1.0))
    return rotated(rng, values, 150, noise=0.5)


def crossing_at_the_cut(rng, rank):
    """Two sample eigenvalues at the cut that cross, nearly or exactly, as the strength grows."""
    n, p = 120, 90
    X = rotated(rng, np.append(np.geomspace(30, 10, rank), np.ones(p - rank)), n)
    # A column by itself, of nearly the variance of the last eigenvalue: attenuation takes it down alone.
    last = np.linalg.eigvalsh(covariance(X))[-rank]
    alone = rng.standard_normal(n)
    alone = (alone - alone.mean()) / alone.std()
    X[:, 0] = alone * np.sqrt(last * (1 + 10.0 ** -rng.integers(1, 9)))
    return X


def heavy_tails(rng, rank):
    return spiked(rng, rank) * np.sqrt(5 / rng.chisquare(5, (150, 1)))


def nearly_tied_risks(rng, rank):
    """Columns that are nearly independent, so that all strengths are nearly as good."""
    return rng.standard_normal((120, 90)) + 1e-3 * spiked_rows(120, 90, rank)


PROBLEMS = [
    spiked,
    fewer_rows_than_columns,
    flat_spectrum,
    sloping_spectrum,
    cut_inside_a_cluster,
    crossing_at_the_cut,
    heavy_tails,
    nearly_tied_risks,
]


@pytest.mark.filterwarnings("ignore:The cut at")
@pytest.mark.parametrize("keeps_rows", [False, True])
@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: problem.__name__)
def test_chosen_strength_is_the_exact_one(problem, keeps_rows, monkeypatch):
    if keeps_rows:
        monkeypatch.setattr(moments, "_ALWAYS_SCATTER", 0)
        monkeypatch.setattr(moments, "_NEVER_SCATTER", 0)
    solvers = Counter()
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        rank = int(rng.integers(1, 4))
        X = problem(rng, rank)
        options = {"n_components": rank, "alphas": STRENGTHS, "n_jobs": 1}
        exact = AttenuatedPCACV(**options).fit(X)
        assert set(exact.solvers_) == {"lapack"}
        with monkeypatch.context() as patch:
            patch.setattr(spectrum, "_DIRECT_SIZE", 0)
            fast = AttenuatedPCACV(**options).fit(X)
        solvers.update(fast.solvers_)
        assert fast.alpha_ == exact.alpha_
        assert sine(fast.components_, exact.components_) < 1e-6
        np.testing.assert_allclose(fast.cv_risk_, exact.cv_risk_, rtol=1e-5)
    assert solvers["shared-basis"] > 0


def test_an_answer_that_cannot_be_proven_is_left_to_lapack(monkeypatch):
    X = spiked_rows(300, 220, 3)
    plain = AttenuatedPCACV(3).fit(X)
    assert set(plain.solvers_) == {"shared-basis"}
    assert plain.certified_
    monkeypatch.setattr(shared_basis.CutBound, "prove", lambda *_: False)
    unproven = AttenuatedPCACV(3).fit(X)
    assert set(unproven.solvers_) == {"lapack"}
    assert unproven.certified_
    assert unproven.alpha_ == plain.alpha_
