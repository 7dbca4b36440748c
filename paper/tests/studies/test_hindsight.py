"""Risks on test rows against fits, and the search that is judged by them."""

import numpy as np
import pytest
from tests.helpers import correlated_rows, each, leading
from tests.literal import At, corrected_matrix, covariance_of_pairs, covariance_of_rows, line

from attenua import AttenuatedPCA
from attenua._correct.registry import CORRECTIONS, SEARCH_ORDER, parameter_is_missing
from attenua_paper.studies.gain import best_affine_risk
from attenua_paper.studies.hindsight import ALPHAS, CorrectedInHindsight, HeldMoments, risks_on_test


@each("p", [9, 70])
def test_risks_are_those_of_fits(p):
    X, X_test = correlated_rows(40, p), correlated_rows(60, p) + 0.1
    test = HeldMoments.of(X_test)
    risks = risks_on_test(X, 3, test)
    for alpha, risk in zip(ALPHAS, risks, strict=True):
        errors = AttenuatedPCA(3, alpha=alpha).fit(X).reconstruction_error(X_test)
        assert risk == pytest.approx(errors.mean(), rel=1e-8)
    assert test.references[3] == pytest.approx(best_affine_risk(X_test, 3))


def greedy_by_hand(X, X_test, rank, neighbours):
    """Raise one correction after another while the error of the test rows falls."""
    chosen = {}

    def risk(**strengths):
        at = At(**chosen | strengths)
        S = covariance_of_pairs(X, at["row_tempering"]) if at["row_tempering"] else covariance_of_rows(X)
        adjacency = None if neighbours is None else line(X.shape[1])
        U, rows = leading(corrected_matrix(S, at, adjacency), rank), X_test - X.mean(axis=0)
        return np.mean(np.sum((rows - rows @ U.T @ U) ** 2, axis=1))

    given = {"neighbours": neighbours}
    for name in (name for name in SEARCH_ORDER if not parameter_is_missing(name, given)):
        risks = [risk()]
        for strength in CORRECTIONS[name].strengths[1:]:
            risks.append(risk(**{name: strength}))
            if risks[-1] > risks[-2]:
                break
        if np.argmin(risks):
            chosen[name] = CORRECTIONS[name].strengths[int(np.argmin(risks))]
    return chosen, risk()


@each("neighbours", [None, "line"])
@each("seed", [0, 1, 2])
def test_the_search_in_hindsight_is_the_search_with_test_rows_as_judges(seed, neighbours):
    rng = np.random.default_rng(seed)
    smooth = np.cumsum(rng.standard_normal((20, 12)), axis=0).T  # twelve curves of twenty points
    lengths = rng.standard_t(3, size=(300, 1))
    X = lengths * rng.standard_normal((300, 12)) @ smooth + 2 * rng.standard_normal((300, 20))
    X, X_test = X[:25], X[25:]
    model = CorrectedInHindsight(3, test=HeldMoments.of(X_test), neighbours=neighbours).fit(X)
    chosen, risk = greedy_by_hand(X, X_test, 3, neighbours)
    assert {name: strength for name, strength in model.choices_[0].items() if strength} == chosen
    assert chosen  # the data give the search something to do
    assert model.reconstruction_error(X_test).mean() == pytest.approx(risk, rel=1e-9)


def test_risk_of_a_subspace_is_that_of_its_reconstructions():
    X, X_test = correlated_rows(40, 9), correlated_rows(60, 9) + 0.1
    model = AttenuatedPCA(3, alpha=0.5).fit(X)
    risk = HeldMoments.of(X_test).risk(model.components_.T, model.mean_)
    assert risk == pytest.approx(model.reconstruction_error(X_test).mean(), rel=1e-9)
