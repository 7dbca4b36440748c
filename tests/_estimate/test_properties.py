"""What must hold for any data: properties with random examples."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import assume, given
from threadpoolctl import threadpool_limits

from attenua import AttenuatedPCA, AttenuatedPCACV
from tests.helpers import (
    assert_risks_close_enough,
    covariance,
    exact_components,
    sine,
    sine_allowed,
    within,
)

strengths = st.sampled_from([0.0, 0.2, 0.49, 0.8, 1.0])


@st.composite
def data_and_rank(draw):
    # Few columns form a scatter matrix and go to LAPACK; many are worked on through the rows.
    n, p = draw(st.integers(6, 40)), draw(st.one_of(st.integers(2, 12), st.just(600)))
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, min(p, 20))) @ rng.standard_normal((min(p, 20), p))
    X += 0.3 * rng.standard_normal((n, p))
    X *= 10.0 ** rng.uniform(-1, draw(st.sampled_from([0.5, 2.0])), p)
    return X, draw(st.integers(1, min(3, p - 1)))


def assume_well_determined(X, alpha, rank):
    """Leave out examples whose cut is so narrow that rounding of the data itself moves the subspace."""
    S = covariance(X)
    values = np.linalg.eigvalsh(S - alpha * within(S, None))[::-1]
    assume(values[rank - 1] - values[rank] > 1e-5 * np.abs(values).max())


def assert_same_subspace(one, two, X, alpha):
    """Check that two fits to the same rows are as close as their shortfalls say; return how close."""
    allowed = sine_allowed(one, X, alpha) + sine_allowed(two, X, alpha)
    assert sine(one.components_, two.components_) <= allowed
    return allowed


def fit(X, rank, alpha, **options):
    return AttenuatedPCA(rank, alpha=alpha).fit(X, **options)


@given(data_and_rank(), strengths, st.randoms())
def test_row_order_does_not_matter(example, alpha, random):
    X, rank = example
    assume_well_determined(X, alpha, rank)
    order = list(range(len(X)))
    random.shuffle(order)
    assert_same_subspace(fit(X, rank, alpha), fit(X[order], rank, alpha), X, alpha)


@given(data_and_rank(), strengths, st.randoms())
def test_column_order_is_equivariant(example, alpha, random):
    X, rank = example
    assume_well_determined(X, alpha, rank)
    order = list(range(X.shape[1]))
    random.shuffle(order)
    plain, turned = fit(X, rank, alpha), fit(X[:, order], rank, alpha)
    plain.components_ = plain.components_[:, order]
    assert_same_subspace(plain, turned, X[:, order], alpha)


@given(data_and_rank(), strengths, st.floats(-1e4, 1e4))
def test_a_shift_changes_only_the_mean(example, alpha, shift):
    X, rank = example
    assume_well_determined(X, alpha, rank)
    offset = shift * np.arange(1, X.shape[1] + 1)
    plain, shifted = fit(X, rank, alpha), fit(X + offset, rank, alpha)
    assert sine(plain.components_, shifted.components_) < 1e-5
    np.testing.assert_allclose(shifted.mean_, plain.mean_ + offset, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(shifted.explained_variance_, plain.explained_variance_, rtol=1e-5)


@given(data_and_rank(), strengths, st.floats(-150, 150))
def test_a_common_scale_changes_nothing_in_the_subspace(example, alpha, exponent):
    X, rank = example
    assume_well_determined(X, alpha, rank)
    scale = 10.0**exponent
    plain, scaled = fit(X, rank, alpha), fit(X * scale, rank, alpha)
    allowed = assert_same_subspace(plain, scaled, X, alpha)
    np.testing.assert_allclose(scaled.mean_ / scale, plain.mean_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(scaled.explained_variance_ratio_, plain.explained_variance_ratio_, rtol=1e-8)
    if X.shape[1] <= 128:
        np.testing.assert_allclose(scaled.transform(X[:3] * scale) / scale, plain.transform(X[:3]), atol=1e-8)
    back = scaled.inverse_transform(scaled.transform(X[:3] * scale)) / scale
    lengths = np.linalg.norm(X[:3] - plain.mean_, axis=1)
    off = np.linalg.norm(back - plain.inverse_transform(plain.transform(X[:3])), axis=1)
    assert (off <= 2 * allowed * lengths + 1e-8).all()


@given(data_and_rank(), st.floats(-150, 150))
def test_a_common_scale_does_not_change_the_choice(example, exponent):
    X, rank = example
    options = {"cv": 3, "alphas": [0, 0.25, 0.5, 0.75, 1]}
    plain = AttenuatedPCACV(rank, **options).fit(X)
    scaled = AttenuatedPCACV(rank, **options).fit(X * 10.0**exponent)
    if X.shape[1] > 128:  # subspaces of folds are iterated
        size = 10.0**exponent
        assert_risks_close_enough(scaled.cv_risk_folds_ / size / size, plain.cv_risk_folds_)
        return
    ordered = np.sort(plain.cv_risk_)
    assume(ordered[1] - ordered[0] > 1e-9 * ordered[0])
    assert scaled.alpha_ == plain.alpha_
    assert scaled.gain_ == pytest.approx(plain.gain_, rel=1e-5, abs=1e-7)


@given(data_and_rank(), strengths, st.data())
def test_integer_weights_equal_repeated_rows(example, alpha, data):
    X, rank = example
    counts = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(X), max_size=len(X))))
    repeated = np.repeat(X, counts, axis=0)
    assume(len(repeated) > rank + 1)
    assume_well_determined(repeated, alpha, rank)
    weighted, expected = fit(X, rank, alpha, sample_weight=counts), fit(repeated, rank, alpha)
    assert_same_subspace(weighted, expected, repeated, alpha)
    np.testing.assert_allclose(weighted.mean_, expected.mean_, atol=1e-9)
    # A variance that is zero to rounding has no digits to compare.
    zero = 1e-12 * expected.explained_variance_.max()
    np.testing.assert_allclose(
        weighted.explained_variance_, expected.explained_variance_, rtol=1e-8, atol=zero
    )
    np.testing.assert_allclose(weighted.noise_variance_, expected.noise_variance_, rtol=1e-6, atol=1e-12)


@given(data_and_rank(), strengths)
def test_the_subspace_is_lapacks(example, alpha):
    X, rank = example
    assume_well_determined(X, alpha, rank)
    model = fit(X, rank, alpha)
    exact = exact_components(covariance(X), alpha, rank)
    assert sine(model.components_, exact) <= sine_allowed(model, X, alpha)
    assert model.shortfall_ == 0 or X.shape[1] > 128
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(rank), atol=1e-12)


@given(data_and_rank())
def test_the_choice_is_the_minimum_of_the_reported_curve(example):
    X, rank = example
    model = AttenuatedPCACV(rank, cv=3).fit(X)
    chosen = np.flatnonzero(model.alphas_ == model.alpha_)[0]
    rounding = 1e-12 * X.var(axis=0).sum()
    assert model.cv_risk_[chosen] <= model.cv_risk_.min() + rounding
    assert (model.cv_risk_[:chosen] > model.cv_risk_.min() + rounding).all()
    assert model.gain_ >= 0


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(60, 30), (900, 1100), (60, 900)])
def test_the_number_of_threads_does_not_matter(shape):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((shape[0], 4)) @ rng.standard_normal((4, shape[1])) * 2
    X += rng.standard_normal(shape) * rng.uniform(0.5, 1.5, shape[1])
    fitted = []
    for threads, jobs in ((1, 1), (2, 1), (1, 2), (2, 2)):
        with threadpool_limits(threads):
            fitted.append(AttenuatedPCACV(3, alphas=[0, 0.5, 1], cv=3, n_jobs=jobs).fit(X))
    for other in fitted[1:]:
        assert other.alpha_ == fitted[0].alpha_
        np.testing.assert_allclose(other.cv_risk_, fitted[0].cv_risk_, rtol=1e-10)
        np.testing.assert_allclose(other.components_, fitted[0].components_, atol=1e-7)
