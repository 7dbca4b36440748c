"""Behaviours that scikit-learn tests of its PCA, asked of ``AttenuatedPCA(alpha=0)`` in its place.

Left out are the behaviours of parameters that we do not have: solvers and their agreement, and Minka's choice
of the dimension.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_low_rank_matrix
from sklearn.decomposition import PCA

from attenua import AttenuatedPCA
from tests.helpers import in_turn

IRIS = load_iris().data


def pca(n_components=None, **options):
    return AttenuatedPCA(n_components, alpha=0, **options)


@pytest.mark.parametrize("n_components", [1, 2, 3, 4])
def test_fit_transform_and_the_covariance_model(n_components):
    model = pca(n_components)
    scores = model.fit_transform(IRIS)
    assert scores.shape == (150, n_components)
    np.testing.assert_allclose(model.transform(IRIS), scores)
    product = model.get_covariance() @ model.get_precision()
    np.testing.assert_allclose(product, np.eye(4), atol=1e-10)


def test_all_components_explain_everything():
    assert pca(4).fit(IRIS).explained_variance_ratio_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("n_components", [20, 79])
def test_whitening(n_components):
    X = make_low_rank_matrix(100, 80, effective_rank=50, tail_strength=1.0, random_state=0)
    X = X @ np.diag(np.geomspace(1, 100, 80)) + 3
    white = pca(n_components, whiten=True).fit_transform(X)
    np.testing.assert_allclose(white.std(axis=0, ddof=1), 1, rtol=1e-9)
    np.testing.assert_allclose(white.mean(axis=0), 0, atol=1e-10)
    plain = pca(n_components).fit_transform(X)
    assert plain.std(axis=0).std() > 0.1


@pytest.mark.parametrize("whiten", [False, True])
def test_whitening_is_undone_by_the_inverse(whiten):
    X = np.random.default_rng(0).standard_normal((50, 3)) * [1, 1e-5, 1] + [5, 4, 3]
    model = pca(2, whiten=whiten).fit(X)
    np.testing.assert_allclose(model.inverse_transform(model.transform(X)), X, rtol=5e-5)


def test_explained_variance_is_that_of_the_scores():
    X = np.random.default_rng(0).standard_normal((100, 80))
    model = pca(5).fit(X)
    np.testing.assert_allclose(model.explained_variance_, model.transform(X).var(axis=0, ddof=1))
    eigenvalues = np.linalg.eigvalsh(np.cov(X.T))[::-1]
    np.testing.assert_allclose(model.explained_variance_, eigenvalues[:5])
    np.testing.assert_allclose(model.explained_variance_ratio_, eigenvalues[:5] / eigenvalues.sum())


def test_singular_values_are_norms_of_the_scores():
    X = np.random.default_rng(0).standard_normal((100, 110))
    model = pca(50).fit(X)
    scores = model.transform(X)
    assert np.sum(model.singular_values_**2) == pytest.approx(np.linalg.norm(scores) ** 2)
    np.testing.assert_allclose(model.singular_values_, np.linalg.norm(scores, axis=0))


def test_singular_values_that_were_planted():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(np.column_stack([np.ones(100), rng.standard_normal((100, 3))]))[0][:, 1:]
    V = np.linalg.qr(rng.standard_normal((110, 3)))[0]
    planted = np.array([3.142, 2.718, 1.0])
    np.testing.assert_allclose(pca(3).fit((U * planted) @ V.T).singular_values_, planted, rtol=1e-10)


def test_projection_of_an_outlying_point():
    rng = np.random.default_rng(0)
    X = 0.1 * rng.standard_normal((100, 3))
    X[:10] += np.array([3, 4, 5])
    point = 0.1 * rng.standard_normal((1, 3)) + np.array([3, 4, 5])
    score = pca(2).fit(X).transform(point)
    assert abs(score[0, 0]) / np.linalg.norm(score) == pytest.approx(1, abs=0.05)


def test_projection_of_a_list():
    assert np.abs(pca(1).fit_transform([[1.0, 0.0], [0.0, 1.0]])).ravel() == pytest.approx(np.sqrt(0.5))


@pytest.mark.parametrize("rows", [20, 100])
def test_number_of_components_for_a_fraction(rows):
    X = np.random.default_rng(0).standard_normal((rows, 50))
    for fraction in (0.1, 0.5, 0.9, 0.99):
        ours, theirs = pca(fraction).fit(X), PCA(fraction, svd_solver="full").fit(X)
        assert ours.n_components_ == theirs.n_components_
        assert ours.explained_variance_ratio_.sum() > fraction
        assert ours.n_components == fraction


def test_a_fraction_is_resolved_on_ordinary_pca_at_every_strength():
    assert AttenuatedPCA(0.9, alpha=0.8).fit(IRIS).n_components_ == PCA(0.9).fit(IRIS).n_components_


def test_a_fraction_of_many_columns_needs_no_covariance():
    X = np.random.default_rng(0).standard_normal((30, 4500)) * np.geomspace(5, 0.1, 4500)
    for fraction in (0.2, 0.6, 0.95):
        theirs = PCA(fraction, svd_solver="full").fit(X)
        assert pca(fraction).fit(X).n_components_ == theirs.n_components_


@pytest.mark.slow
def test_a_fraction_of_many_rows_and_columns_grows_until_it_is_reached(monkeypatch):
    monkeypatch.setattr("attenua._select.rank._WHOLE_SPECTRUM", 100)
    X = np.random.default_rng(0).standard_normal((700, 600)) * np.geomspace(5, 0.1, 600)
    for fraction in (0.1, 0.5, 0.9):
        theirs = PCA(fraction, svd_solver="full").fit(X)
        assert pca(fraction).fit(X).n_components_ == theirs.n_components_


@pytest.mark.parametrize("shape", [(100, 20), (20, 100)])
def test_no_number_of_components_keeps_all(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    assert pca().fit(X).n_components_ == 20


@pytest.mark.parametrize(("n_components", "shape"), in_turn([-1, 0, 21], [(100, 20), (20, 100)]))
def test_numbers_of_components_that_are_refused(n_components, shape):
    with pytest.raises(ValueError, match=f"n_components={n_components} must be between 1 and 20"):
        pca(n_components).fit(np.random.default_rng(0).standard_normal(shape))


def test_noise_variance_of_isotropic_data():
    X = np.random.default_rng(0).standard_normal((1000, 100)) @ np.diag([100, *np.ones(99)])
    assert pca(2).fit(X).noise_variance_ == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize(("shape", "n_components"), [((10, 100), 10), ((100, 10), 10), ((10, 10), 10)])
def test_no_noise_is_left_when_every_component_is_kept(shape, n_components):
    X = np.random.default_rng(0).standard_normal(shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # ten components of ten rows cut through the null space
        assert pca(n_components).fit(X).noise_variance_ == 0


@pytest.mark.parametrize("alpha", [0, 0.5])
def test_repeated_fits_give_the_same_bits(alpha):
    X = np.random.default_rng(0).standard_normal((40, 700))
    first, second = (AttenuatedPCA(3, alpha=alpha).fit_transform(X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("shape", [(20_000, 5), (4000, 40)])
def test_variances_of_data_far_from_the_origin(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    shifted = X + 1e8
    np.testing.assert_allclose(
        pca().fit(shifted).explained_variance_,
        PCA(svd_solver="full").fit(shifted - 1e8).explained_variance_,
        rtol=1e-7,
    )


@pytest.mark.parametrize(("density", "scale"), in_turn([0.01, 0.1, 0.3], [1, 10, 100]))
def test_sparse_data_against_scikit_learn_on_dense(density, scale):
    X = sp.random(1000, 600, density=density, random_state=0, format="csr")
    X = X @ sp.diags(scale ** np.random.default_rng(0).uniform(0, 1, 600))
    ours, theirs = pca(3).fit(X), PCA(3, svd_solver="full").fit(X.toarray())
    np.testing.assert_allclose(np.abs(ours.components_), np.abs(theirs.components_), atol=1e-5)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X.toarray())), atol=1e-4)


def test_names_of_the_output_columns():
    names = pca(2).fit(IRIS).get_feature_names_out()
    assert list(names) == ["attenuatedpca0", "attenuatedpca1"]
