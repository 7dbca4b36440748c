"""Estimators on arrays of other libraries: against the same on numpy arrays, and against LAPACK."""

from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._data import rows as rows_module
from tests.helpers import (
    assert_risks_close_enough,
    covariance,
    exact_components,
    in_turn,
    interleaved_splits,
    pooled,
    risk_folds_by_hand,
    sine,
    spiked_rows,
)

# Whole decompositions, then the iteration with formed covariances, then through the rows.
SHAPES = {"small": (200, 12), "square": (90, 90), "tall": (400, 150), "wide": (40, 600)}
ARRAYS = ("components_", "mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_")
CV_ARRAYS = (*ARRAYS, "alphas_", "cv_risk_", "cv_risk_folds_")


def compare(lib, theirs, ours, X, names, close):
    for name in names:
        array = getattr(theirs, name)
        assert lib.holds(array), name
        expected = getattr(ours, name)
        assert lib.numpy(array).dtype == expected.dtype, name
        np.testing.assert_allclose(lib.numpy(array), expected, err_msg=name, **close)
    assert theirs.noise_variance_ == pytest.approx(float(ours.noise_variance_), rel=close["rtol"] * 10)
    assert (theirs.n_components_, theirs.n_samples_) == (ours.n_components_, ours.n_samples_)
    A = lib.array(X)
    scores, back = theirs.transform(A), theirs.inverse_transform(theirs.transform(A))
    assert lib.holds(scores)
    assert lib.holds(back)
    scale = np.abs(X).max()
    np.testing.assert_allclose(lib.numpy(scores), ours.transform(X), atol=close["atol"] * 100 * scale)
    expected = ours.inverse_transform(ours.transform(X))
    np.testing.assert_allclose(lib.numpy(back), expected, atol=close["atol"] * 100 * scale)
    assert theirs.score(A) == pytest.approx(ours.score(X), rel=close["rtol"] * 100)


DOUBLE = {"rtol": 1e-8, "atol": 1e-8}


@pytest.mark.parametrize(("shape", "n_components", "whiten"), in_turn(SHAPES, [3, 0.6, 3], [False, True]))
def test_one_strength(lib, shape, n_components, whiten):
    X = spiked_rows(*SHAPES[shape])
    model = AttenuatedPCA(n_components, alpha=0.6, whiten=whiten)
    theirs = clone(model).fit(lib.array(X))
    compare(lib, theirs, clone(model).fit(X), X, ARRAYS, DOUBLE)
    exact = exact_components(covariance(X), 0.6, theirs.n_components_)
    assert sine(lib.numpy(theirs.components_), exact) <= 1e-7


@pytest.mark.parametrize(
    ("shape", "cv"),
    [
        ("small", [(np.arange(5, 30), np.arange(5)), (np.arange(3, 22), np.arange(25, 35))]),
        ("square", KFold(3, shuffle=True, random_state=0)),
        ("tall", 5),
        ("wide", RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)),
    ],
)
def test_cross_validation(lib, shape, cv):
    X = spiked_rows(*SHAPES[shape])
    model = AttenuatedPCACV(3, cv=cv)
    theirs, ours = clone(model).fit(lib.array(X)), clone(model).fit(X)
    assert theirs.alpha_ == ours.alpha_
    assert theirs.gain_ == pytest.approx(ours.gain_, abs=1e-8)
    compare(lib, theirs, ours, X, CV_ARRAYS, DOUBLE)


@pytest.mark.parametrize("shape", SHAPES)
def test_cross_validation_against_lapack(lib, shape):
    X = spiked_rows(*SHAPES[shape])
    alphas = [0, 0.3, 0.6, 1]
    theirs = AttenuatedPCACV(3, cv=4, alphas=alphas).fit(lib.array(X))
    splits = interleaved_splits(len(X), 4)
    exact, found = risk_folds_by_hand(X, splits, alphas, 3), lib.numpy(theirs.cv_risk_folds_)
    np.testing.assert_allclose(lib.numpy(theirs.cv_risk_), pooled(found, splits), rtol=1e-12)
    if X.shape[1] > 128:  # subspaces of folds are iterated
        assert_risks_close_enough(found, exact, chosen=alphas.index(theirs.alpha_))
    else:
        np.testing.assert_allclose(found, exact, rtol=1e-8)
        assert theirs.alpha_ == alphas[np.argmin(pooled(exact, splits))]


@pytest.mark.parametrize("shape", ["small", pytest.param("wide", marks=pytest.mark.slow)])
def test_groups_of_rows(lib, shape):
    X = spiked_rows(*SHAPES[shape])
    labels = np.arange(len(X)) // 7
    ours = AttenuatedPCACV(2).fit(X, groups=labels)
    for groups in (labels, lib.array(labels), [f"subject {i:03}" for i in labels]):
        theirs = AttenuatedPCACV(2).fit(lib.array(X), groups=groups)
        assert theirs.alpha_ == ours.alpha_
    compare(lib, theirs, ours, X, CV_ARRAYS, DOUBLE)
    splitter = AttenuatedPCACV(2, cv=GroupKFold(5))
    by_splitter = splitter.fit(lib.array(X), groups=lib.array(labels))
    ours = clone(splitter).fit(X, groups=labels)
    np.testing.assert_allclose(lib.numpy(by_splitter.cv_risk_), ours.cv_risk_, rtol=1e-8)


@pytest.mark.parametrize("shape", ["small", "wide"])
def test_weights(lib, shape):
    X = spiked_rows(*SHAPES[shape])
    weights = np.random.default_rng(1).integers(0, 4, len(X)).astype(float)
    ours = AttenuatedPCA(3, alpha=0.5).fit(X, sample_weight=weights)
    for given in (weights, lib.array(weights), list(weights)):
        theirs = AttenuatedPCA(3, alpha=0.5).fit(lib.array(X), sample_weight=given)
        compare(lib, theirs, ours, X, ARRAYS, DOUBLE)


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["small", "tall"])
def test_blocks_of_columns(lib, shape):
    X = spiked_rows(*SHAPES[shape])
    labels = np.arange(X.shape[1]) // 4
    theirs = AttenuatedPCA(3, alpha=0.7, feature_groups=labels).fit(lib.array(X))
    assert sine(lib.numpy(theirs.components_), exact_components(covariance(X), 0.7, 3, labels)) <= 1e-7
    model = AttenuatedPCACV(3, feature_groups=labels)
    compare(lib, clone(model).fit(lib.array(X)), clone(model).fit(X), X, CV_ARRAYS, DOUBLE)


@pytest.mark.parametrize("shape", ["square", "wide"])
def test_single_precision(lib, shape):
    X = spiked_rows(*SHAPES[shape]).astype(np.float32)
    theirs, ours = AttenuatedPCACV(3).fit(lib.array(X)), AttenuatedPCACV(3).fit(X)
    assert theirs.alpha_ == ours.alpha_
    compare(lib, theirs, ours, X, CV_ARRAYS, {"rtol": 2e-5, "atol": 2e-6})


def test_float32_components_go_with_float64_rows(lib):
    X = spiked_rows(60, 8)
    theirs = AttenuatedPCA(2, alpha=0.5).fit(lib.array(X.astype(np.float32)))
    scores = theirs.transform(lib.array(X))
    assert lib.numpy(scores).dtype == np.float64
    assert lib.numpy(theirs.inverse_transform(scores)).dtype == np.float64


@pytest.mark.parametrize("size", [1e-150, 1e150])
def test_very_small_and_large_numbers(lib, size):
    X = spiked_rows(100, 90)
    theirs, plain = AttenuatedPCACV(2).fit(lib.array(X * size)), AttenuatedPCACV(2).fit(X)
    assert theirs.alpha_ == plain.alpha_
    assert sine(lib.numpy(theirs.components_), plain.components_) <= 1e-8


@pytest.mark.parametrize("n_components", [None, 4])
def test_more_components_than_directions(lib, n_components):
    """Ties at the cut are broken as on the CPU."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 80))
    for alpha in (0.0, 0.5):
        model = AttenuatedPCA(n_components, alpha=alpha)
        tied = alpha == 0 and n_components is not None
        with pytest.warns(UserWarning, match="falls on a tie") if tied else nullcontext():
            theirs = clone(model).fit(lib.array(X))
        with pytest.warns(UserWarning, match="falls on a tie") if tied else nullcontext():
            ours = clone(model).fit(X)
        assert theirs.n_components_ == ours.n_components_
        np.testing.assert_allclose(lib.numpy(theirs.explained_variance_), ours.explained_variance_, atol=1e-9)
        leading = slice(0, 2) if n_components is None else slice(None)
        np.testing.assert_allclose(
            lib.numpy(theirs.components_)[leading], ours.components_[leading], atol=1e-7
        )


def test_rows_in_many_steps(lib, monkeypatch):
    """Limits on memory change nothing but rounding."""
    X = spiked_rows(3_000, 9)
    whole = AttenuatedPCACV(3).fit(lib.array(X))
    monkeypatch.setattr(rows_module, "_STEP_BYTES", 1)
    assert rows_module.step_rows(lib.array(X)) == 1_024
    parts = AttenuatedPCACV(3).fit(lib.array(X))
    np.testing.assert_allclose(lib.numpy(parts.cv_risk_folds_), lib.numpy(whole.cv_risk_folds_), rtol=1e-9)
    np.testing.assert_allclose(lib.numpy(parts.components_), lib.numpy(whole.components_), atol=1e-9)


@pytest.mark.parametrize("n_folds", [5, 30])
def test_an_outlier_that_is_held_out_does_not_reach_the_training_rows(lib, n_folds):
    X = spiked_rows(120, 6)
    X[0] += 1e6
    theirs = AttenuatedPCACV(2, alphas=[0, 0.5], cv=n_folds).fit(lib.array(X))
    exact = risk_folds_by_hand(X, interleaved_splits(120, n_folds), [0, 0.5], 2)
    np.testing.assert_allclose(lib.numpy(theirs.cv_risk_folds_)[0], exact[0], rtol=1e-6)
