"""What a choice by independent validation rows guarantees."""

import numpy as np
import pytest
from tests.helpers import each

from attenua import attenuation_path, select_on_validation
from attenua_paper.theory import fallback_certificate


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
        ({"covariance": -np.eye(2)}, "must not have negative eigenvalues"),
        ({"covariance": np.array([[1, 2], [0, 1]])}, "finite symmetric matrix"),
    ],
)
def test_certificates_that_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        fallback_certificate(10, 3, **options)
