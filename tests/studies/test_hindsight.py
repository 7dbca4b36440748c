"""Test risks of every strength against fits of it."""

import pytest

from attenua import AttenuatedPCA
from attenua.studies.gain import best_affine_risk
from attenua.studies.hindsight import ALPHAS, HeldMoments, risks_on_test
from tests.helpers import correlated_rows


@pytest.mark.parametrize("p", [9, 70])
def test_risks_are_those_of_fits(p):
    X, X_test = correlated_rows(40, p), correlated_rows(60, p) + 0.1
    test = HeldMoments.of(X_test)
    risks = risks_on_test(X, 3, test)
    for alpha, risk in zip(ALPHAS, risks, strict=True):
        assert risk == pytest.approx(-AttenuatedPCA(3, alpha=alpha).fit(X).score(X_test), rel=1e-8)
    assert test.references[3] == pytest.approx(best_affine_risk(X_test, 3))
