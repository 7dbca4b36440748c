"""What the page shows of attenuation alone, against direct computation."""

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua.report.findings import find
from tests.helpers import covariance, exact_components, spiked_rows

X = spiked_rows(60, 7)


def test_spectra_angles_and_components_are_those_of_the_two_matrices():
    model = AttenuatedPCA(2, alpha=0.6).fit(X)
    found = find(model, X)
    S = covariance(X) * 60 / 59
    np.testing.assert_allclose(found.spectra.before, np.linalg.eigvalsh(S)[::-1])
    after = np.linalg.eigvalsh(S - 0.6 * np.diag(np.diag(S)))[::-1]
    np.testing.assert_allclose(found.spectra.after, after)
    pca, attenuated = exact_components(S, 0, 2), exact_components(S, 0.6, 2)
    np.testing.assert_allclose(found.angles, np.degrees(subspace_angles(pca.T, attenuated.T)), atol=1e-6)
    np.testing.assert_allclose(found.other, model.loadings_.T)
    assert (np.einsum("ij,ij->i", found.pca, found.other) > 0).all()
    np.testing.assert_allclose(found.variances, np.diag(S))


@pytest.mark.slow
def test_a_given_strength_is_judged_by_a_cross_validation_of_its_own():
    found = find(AttenuatedPCA(2, alpha=0.33).fit(X), X)
    assert not found.chosen_by_cv
    assert 0.33 in found.search.steps[0].strengths
    expected = AttenuatedPCACV(2, alphas=[0, 0.33]).fit(X)
    assert found.search.paired.gain == pytest.approx(1 - expected.cv_risk_[1] / expected.cv_risk_[0])
    place = found.search.steps[0].strengths.index(0.33)
    # Four fifths of the rows are in a training set.
    gain = -found.search.paired.differences.mean(axis=0)[place]
    assert found.search.expected == pytest.approx(0.8 * gain)


def test_where_pca_is_chosen_the_best_of_the_others_is_shown():
    rng = np.random.default_rng(0)
    strong = rng.standard_normal((300, 4)) @ np.diag([9, 5, 1.0, 0.5])
    model = AttenuatedPCACV(2).fit(strong)
    assert model.alpha_ == 0
    found = find(model, strong)
    assert found.is_pca
    assert found.search.expected == 0
    place = 1 + int(np.argmin(model.cv_risk_[1:]))
    assert found.compared == {"attenuation": model.alphas_[place]}


@pytest.mark.slow
def test_examples_are_reconstructed_by_fits_that_did_not_see_them():
    groups = np.repeat(np.arange(12), 5)
    model = AttenuatedPCACV(2).fit(X, groups=groups)
    found = find(model, X, groups=groups)
    examples = found.examples
    np.testing.assert_array_equal(examples.original, X[examples.rows - 1])
    error = np.sum((examples.original - examples.pca) ** 2, axis=1)
    np.testing.assert_allclose(examples.pca_error, error)
    change = examples.other_error - examples.pca_error
    assert (np.diff(change) >= 0).all()
    assert examples.n_held_out == 15
    # Whole groups are held out, so that other rows of theirs cannot have been fitted to.
    assert found.grouped


def test_the_curve_is_that_of_the_fit():
    model = AttenuatedPCACV(3, alphas="mask", cv=4).fit(X)
    found = find(model, X)
    assert found.search.steps[0].strengths == tuple(model.alphas_)
    assert found.search.steps[0].risks == tuple(model.cv_risk_)


def test_other_rows_and_other_estimators_are_refused():
    model = AttenuatedPCACV(2).fit(X)
    with pytest.raises(ValueError, match="rows the estimator was fitted on, 60 x 7; got 50 x 7"):
        find(model, X[:50])
    with pytest.raises(ValueError, match="their mean is not its mean_"):
        find(model, X + 1)
    with pytest.raises(ValueError, match="or AttenuatedPCA; got ndarray"):
        find(X, X)
    with pytest.raises(ValueError, match="feature_names must name each of the 7 columns; got 2"):
        find(model, X, feature_names=["a", "b"])
