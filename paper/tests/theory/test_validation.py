"""A choice by independent validation rows, and what it guarantees."""

import numpy as np
import pytest
from tests.helpers import each, spiked_rows

from attenua import attenuation_path
from attenua_paper.theory import draw_rows, fallback_certificate, select_on_validation


def test_validation_risk_of_centred_rows():
    X, V = (draw_rows(np.eye(8) + 1, n, random_state=0) for n in (15, 70))
    path = attenuation_path(X, 2)
    chosen = select_on_validation(path, V)
    S = np.cov(V.T)
    expected = [np.trace(S) - np.trace(U @ S @ U.T) for U in path.components]
    np.testing.assert_allclose(chosen.risk, expected, rtol=1e-10)
    best = int(np.argmin(expected))
    assert chosen.alpha == path.alphas[best] > 0
    # Nothing is refitted: the subspace is the path's own.
    np.testing.assert_array_equal(chosen.components, path.components[best])
    # The mean of the training rows does not count.
    np.testing.assert_allclose(select_on_validation(path, V + 100).risk, chosen.risk, rtol=1e-9)


def test_the_centre_and_the_divisor_by_hand():
    """About the validation rows' own mean, divided by their number less one.

    The rows (10, 0), (14, 2) and (12, 4) have the mean (12, 2), and squares about it of 8 and 8. PCA of the
    training rows keeps the first column, so that 8 / 2 is lost.
    """
    train = np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    path = attenuation_path(train, 1, alphas=[0.0])
    chosen = select_on_validation(path, [[10.0, 0.0], [14.0, 2.0], [12.0, 4.0]])
    np.testing.assert_allclose(chosen.risk, [4.0], rtol=1e-15)
    assert (chosen.alpha, chosen.n_validation) == (0.0, 3)


def test_validation_rows_that_are_refused():
    path = attenuation_path(spiked_rows(20, 8), 2)
    with pytest.raises(ValueError, match="X must hold rows of 8 features"):
        select_on_validation(path, spiked_rows(20, 5))
    with pytest.raises(ValueError, match="at least 2 rows"):
        select_on_validation(path, spiked_rows(1, 8))


def test_certificate_is_the_papers_formula():
    S = np.diag([3.0, 1.0, 0.5])
    certificate = fallback_certificate(200, 22, eta=0.1, covariance=S)
    t = np.log(2 * 22 / 0.1)
    epsilon = 2 * np.sqrt(10.25) * np.sqrt(t / 200) + 2 * 3 * t / 200
    assert certificate.epsilon == pytest.approx(epsilon)
    assert certificate.excess == pytest.approx(2 * epsilon)
    by_norms = fallback_certificate(200, 22, eta=0.1, norms=(np.sqrt(10.25), 3.0))
    assert by_norms.epsilon == pytest.approx(epsilon)


@pytest.mark.slow
def test_certificate_holds_over_many_validation_sets():
    # The uniform error of the validation risks exceeds epsilon with probability at most eta.
    rng = np.random.default_rng(0)
    S = np.diag([4.0, 2.0, 1.0, 0.5])
    path = attenuation_path(rng.standard_normal((30, 4)) * np.sqrt(np.diag(S)), 2)
    clean = np.array([np.trace(S) - np.trace(U @ S @ U.T) for U in path.components])
    failures, trials = 0, 400
    for _ in range(trials):
        V = 10 + rng.standard_normal((40, 4)) * np.sqrt(np.diag(S))
        chosen = select_on_validation(path, V)
        epsilon = fallback_certificate(39, len(chosen.risk), eta=0.2, covariance=S).epsilon
        failures += np.abs(chosen.risk - clean).max() > epsilon
    assert failures / trials <= 0.2


@each(
    "options, message",
    [
        ({"eta": 0.0, "norms": (1, 1)}, "eta must be strictly between 0 and 1"),
        ({"eta": 1.0, "norms": (1, 1)}, "eta must be strictly between 0 and 1"),
        ({}, "either covariance or norms"),
        ({"covariance": np.eye(2), "norms": (1, 1)}, "either covariance or norms"),
        ({"norms": (1, 2)}, "the second no larger than the first"),
        ({"norms": 5}, "norms must be"),
        ({"norms": "two"}, "norms must be two real numbers; got text"),
        ({"covariance": 1j * np.eye(2)}, "covariance must be .* real numbers; got complex numbers"),
        ({"covariance": -np.eye(2)}, "must have no negative eigenvalue"),
        ({"covariance": np.array([[1, 2], [0, 1]])}, "covariance must be symmetric"),
    ],
)
def test_certificates_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fallback_certificate(10, 3, **options)
