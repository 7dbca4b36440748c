"""A strength chosen on validation rows, and what that guarantees."""

import numpy as np
import pandas as pd
import pytest

from attenua import attenuation_path
from attenua.holdout import fallback_certificate, select_on_validation
from tests.helpers import spiked_rows


def test_validation_risk_of_centred_rows():
    X, V = spiked_rows(50, 8), spiked_rows(70, 8, seed=1)
    path = attenuation_path(X, 2)
    chosen = select_on_validation(path, V)
    S = np.cov(V.T)
    expected = [np.trace(S) - np.trace(U @ S @ U.T) for U in path.components]
    np.testing.assert_allclose(chosen.risk, expected, rtol=1e-10)
    assert chosen.alpha == path.alphas[int(np.argmin(expected))]
    # Nothing is refitted: the subspace is the path's own.
    np.testing.assert_array_equal(chosen.components, path.components[int(np.argmin(expected))])


def test_certificate_is_the_papers_formula():
    S = np.diag([3.0, 1.0, 0.5])
    certificate = fallback_certificate(200, 22, eta=0.1, covariance=S)
    t = np.log(2 * 22 / 0.1)
    epsilon = 2 * np.sqrt(10.25) * np.sqrt(t / 200) + 2 * 3 * t / 200
    assert certificate.epsilon == pytest.approx(epsilon)
    assert certificate.excess == pytest.approx(2 * epsilon)
    by_norms = fallback_certificate(200, 22, eta=0.1, norms=(np.sqrt(10.25), 3.0))
    assert by_norms.epsilon == pytest.approx(epsilon)
    assert "With probability at least 0.9" in str(certificate)


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
        epsilon = chosen.certificate(0.2, covariance=S).epsilon
        failures += np.abs(chosen.risk - clean).max() > epsilon
    assert failures / trials <= 0.2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eta": 0.0, "norms": (1, 1)}, "eta must be strictly between 0 and 1"),
        ({"eta": 1.0, "norms": (1, 1)}, "eta must be strictly between 0 and 1"),
        ({}, "either covariance or norms"),
        ({"covariance": np.eye(2), "norms": (1, 1)}, "either covariance or norms"),
        ({"norms": (1, 2)}, "the second no larger than the first"),
        ({"norms": 5}, "norms must be"),
        ({"covariance": -np.eye(2)}, "must not have negative eigenvalues"),
        ({"covariance": np.array([[1, 2], [0, 1]])}, "finite symmetric matrix"),
    ],
)
def test_certificates_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fallback_certificate(10, 3, **options)


def test_validation_rows_with_other_columns():
    with pytest.raises(ValueError, match="X has 5 columns, but the path was fitted to 8"):
        select_on_validation(attenuation_path(spiked_rows(20, 8), 2), spiked_rows(20, 5))


def test_validation_rows_with_other_columns_are_refused():
    X = pd.DataFrame(spiked_rows(60, 4), columns=list("abcd"))
    path = attenuation_path(X[:30], 2)
    with pytest.raises(ValueError, match="column 'd' where the path was fitted to 'a'"):
        select_on_validation(path, X[30:][list("dcba")])
    whole = select_on_validation(path, X[30:])
    batches = select_on_validation(path, iter([X[30:45], X[45:]]))
    np.testing.assert_allclose(batches.risk, whole.risk)
