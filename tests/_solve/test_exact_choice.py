"""The strength chosen by iteration against the one that dense LAPACK chooses, on many random problems.

The problems are small so that there can be many; the limit below which LAPACK is used anyway is lowered, so
that all of them go the way of large ones.
"""

import numpy as np
import pytest

from attenua import AttenuatedPCACV
from attenua._data import rows
from attenua._solve import tuning
from tests.helpers import assert_risks_close_enough, covariance, in_turn, sine, spiked_rows

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
@pytest.mark.parametrize(("keeps_rows", "problem"), in_turn([False, True], PROBLEMS))
def test_chosen_strength_is_as_good_as_the_exact_one(problem, keeps_rows, monkeypatch):
    if keeps_rows:
        monkeypatch.setattr(rows, "_ALWAYS_SCATTER", 0)
        monkeypatch.setattr(rows, "_NEVER_SCATTER", 0)
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        rank = int(rng.integers(1, 4))
        X = problem(rng, rank)
        options = {"n_components": rank, "alphas": STRENGTHS, "n_jobs": 1}
        exact = AttenuatedPCACV(**options).fit(X)
        with monkeypatch.context() as patch:
            patch.setattr(tuning, "DIRECT_SIZE", 0)
            fast = AttenuatedPCACV(**options).fit(X)
        chosen = list(STRENGTHS).index(fast.alpha_)
        assert_risks_close_enough(fast.cv_risk_folds_, exact.cv_risk_folds_, chosen=chosen)
        if fast.alpha_ == exact.alpha_:
            assert_explains_as_much(fast, X)


def assert_explains_as_much(model, X):
    """Check the refit: what it explains, and its angles where the spectrum has a gap."""
    S, W = covariance(X), model.components_
    T = S - model.alpha_ * np.diag(np.diag(S))
    values, vectors = np.linalg.eigh(T)
    rank = len(W)
    missed = (values[-rank:].sum() - np.trace(W @ T @ W.T)) / np.trace(S)
    assert missed <= model.shortfall_ + 1e-13
    assert model.shortfall_ <= 1e-8
    if values[-rank] - values[-rank - 1] > 1e-4 * values[-1]:
        assert sine(W, vectors[:, -rank:].T) < 1e-6
