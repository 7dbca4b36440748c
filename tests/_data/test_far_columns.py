"""Sparse rows with columns far from zero: as accurate as dense rows, on every way that they take.

What is expected comes from a covariance in extended precision, or from the same rows moved next to zero. To
subtract a constant from numbers near it is exact, and no answer depends on it.
"""

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua._data.rows import HostRows
from attenua._data.sums import less_origin, partly_centred, squared_lengths
from tests.helpers import in_turn, sine, spiked_rows

RANK, ALPHA = 3, 0.3
# A scatter matrix is formed; inner products of few rows are; neither is.
SHAPES = {"tall": (120, 30), "wide": (40, 600), "many of both": (135, 520)}
SLOW = pytest.mark.slow


def all_far(n, p, size):
    return spiked_rows(n, p) + size, np.full(p, size)


def one_far(n, p, size):
    """One column far from zero, the others mostly empty."""
    X = np.where(np.random.default_rng(1).random((n, p)) < 0.3, spiked_rows(n, p), 0.0)
    X[:, 1] = spiked_rows(n, 1)[:, 0] + size
    return X, np.where(np.arange(p) == 1, size, 0.0)


def constant(n, p, size):
    """One large constant column, the others mostly empty."""
    X, shift = one_far(n, p, size)
    X[:, 1] = shift[1] = size / 3  # whose sums are rounded
    return X, shift


def mixed(n, p, size):
    """Rows of sizes from 0.01 to 100, a few columns of which are far from zero."""
    X = spiked_rows(n, p) * 10.0 ** np.random.default_rng(2).integers(-2, 3, (n, 1))
    shift = np.where(np.arange(p) < 4, size, 0.0)
    return X + shift, shift


KINDS = [all_far, one_far, constant, mixed]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
every_shape = pytest.mark.parametrize(
    "shape", [pytest.param(SHAPES[name], marks=[SLOW] * (name == "many of both"), id=name) for name in SHAPES]
)


def batches(X, size=17):
    return [sp.csr_matrix(X[start : start + size]) for start in range(0, len(X), size)]


def in_dask(X):
    meta = sp.csr_matrix((0, 0))
    blocks = [da.from_delayed(dask.delayed(rows), rows.shape, X.dtype, meta=meta) for rows in batches(X)]
    return da.concatenate(blocks)


WAYS = {
    "csr": lambda model, X: model.fit(sp.csr_matrix(X)),
    "csr array": lambda model, X: model.fit(sp.csr_array(X)),
    "csc": lambda model, X: model.fit(sp.csc_matrix(X)),
    "weights": lambda model, X: model.fit(sp.csr_matrix(X), sample_weight=np.ones(len(X))),
    "iterator": lambda model, X: model.fit(iter(batches(X))),
    "single rows": lambda model, X: model.fit(iter(batches(X, 1))),
    "dense, then sparse": lambda model, X: model.fit(iter([X[:30], *batches(X[30:])])),
    "sparse, then dense": lambda model, X: model.fit(iter([*batches(X[:30]), X[30:]])),
    "dask": lambda model, X: model.fit(in_dask(X)),
}


def extended(X, weights=None):
    """Mean and covariance in extended precision; in two passes, so that doubles would nearly do."""
    X = np.asarray(X, dtype=np.longdouble)
    w = np.ones(len(X)) if weights is None else weights
    mean = w @ X / w.sum()
    mean = mean + w @ (X - mean) / w.sum()
    Z = X - mean
    return mean, (Z * w[:, None]).T @ Z / w.sum()


def assert_exact(model, X, weights=None):
    mean, S = extended(X, weights)
    S, n = S.astype(float), len(X) if weights is None else weights.sum()
    exact = np.linalg.eigh(S - ALPHA * np.diag(np.diag(S)))[1][:, ::-1][:, :RANK].T
    explained = np.linalg.eigvalsh(exact @ S @ exact.T)[::-1] * n / (n - 1)
    assert sine(exact, model.components_) < 1e-7  # where rows are kept, the accuracy that is asked for
    np.testing.assert_allclose(model.explained_variance_, explained, rtol=0, atol=1e-11 * np.trace(S))
    np.testing.assert_allclose(model.mean_, mean.astype(float), rtol=1e-15, atol=1e-12)


@pytest.mark.parametrize(("kind", "shape", "size"), in_turn(KINDS, SHAPES, [1e8, 1e10, 1e8, 1e2, 1e8]))
def test_rows_in_memory(shape, kind, size):
    X, _ = kind(*SHAPES[shape], size)
    assert_exact(AttenuatedPCA(RANK, alpha=ALPHA).fit(sp.csr_matrix(X)), X)


@pytest.mark.parametrize(("way", "shape"), in_turn(WAYS, ["tall", "wide", "tall"]))
def test_every_way_in(way, shape):
    X, _ = one_far(*SHAPES[shape], 1e8)
    assert_exact(WAYS[way](AttenuatedPCA(RANK, alpha=ALPHA), X), X)


@every_shape
def test_weights_of_rows(shape):
    X, _ = one_far(*shape, 1e8)
    weights = np.arange(len(X)) % 3 + 0.5
    assert_exact(AttenuatedPCA(RANK, alpha=ALPHA).fit(sp.csr_matrix(X), sample_weight=weights), X, weights)


@pytest.mark.parametrize(("shape", "groups"), in_turn(SHAPES, [False, True]))
def test_risks_of_held_out_rows(shape, groups):
    X, shift = one_far(*SHAPES[shape], 1e8)
    labels = np.arange(len(X)) // 4 if groups else None
    model, exact = AttenuatedPCACV(RANK), AttenuatedPCACV(RANK)
    model.fit(sp.csr_matrix(X), groups=labels)
    exact.fit(X - shift, groups=labels)
    # Candidates are compared with subspaces that are accurate enough for it, not more.
    np.testing.assert_allclose(model.cv_risk_folds_, exact.cv_risk_folds_, rtol=1e-5)
    assert model.alpha_ == exact.alpha_


@pytest.mark.parametrize(
    ("kind", "correction", "shape"),
    in_turn(KINDS, ["tempering", "row_tempering", "damping"], ["tall", "wide"], times=2),
)
def test_every_correction(kind, correction, shape):
    X, shift = kind(*SHAPES[shape], 1e8)
    model, exact = (CorrectedPCA(RANK, **{correction: 0.5}) for _ in range(2))
    model.fit(sp.csr_matrix(X))
    exact.fit(X - shift)
    assert sine(model.components_, exact.components_) < 1e-7
    np.testing.assert_allclose(model.explained_variance_, exact.explained_variance_, rtol=1e-9)


def test_the_search():
    X, shift = one_far(60, 20, 1e8)
    model, exact = CorrectedPCACV(RANK).fit(sp.csr_matrix(X)), CorrectedPCACV(RANK).fit(X - shift)
    assert model.choices_ == exact.choices_
    np.testing.assert_allclose(model.cv_risk_, exact.cv_risk_, rtol=1e-9)
    assert sine(model.components_, exact.components_) < 1e-7


@pytest.mark.parametrize(("kind", "form"), in_turn(KINDS, [sp.csr_matrix, sp.csr_array, sp.csc_matrix]))
def test_scores(kind, form):
    X, _ = kind(120, 30, 1e8)
    model = AttenuatedPCA(RANK).fit(X)
    # The mean of the fit is a double: what it was rounded from is not asked for here.
    Z = X.astype(np.longdouble) - model.mean_
    scores = Z @ model.components_.T
    errors = np.sum((Z - scores @ model.components_) ** 2, axis=1)
    size = np.sqrt(np.sum(Z.astype(float) ** 2, axis=1)).max()
    np.testing.assert_allclose(model.transform(form(X)), scores.astype(float), rtol=0, atol=1e-13 * size)
    np.testing.assert_allclose(
        model.reconstruction_error(form(X)), errors.astype(float), rtol=0, atol=1e-13 * size**2
    )


@pytest.mark.parametrize("size", [0.0, 1e4])
def test_scores_of_float32_rows(size):
    """The components are rounded to float32: errors are those of what they are, not of what they were."""
    X = one_far(120, 30, size)[0].astype(np.float32)
    model = AttenuatedPCA(RANK).fit(X)
    expected = model.reconstruction_error(X)
    np.testing.assert_allclose(model.reconstruction_error(sp.csr_matrix(X)), expected, rtol=1e-12)


@pytest.mark.parametrize("size", [1e153, 1e155, 1e307])
def test_scores_of_rows_that_are_far_too_large(size):
    X, _ = one_far(120, 30, 0.0)
    model = AttenuatedPCA(RANK).fit(sp.csr_matrix(X))
    X[3], X[4, 2] = size * np.sign(X[3]), size
    np.testing.assert_allclose(model.transform(sp.csr_matrix(X)), model.transform(X), rtol=1e-12, atol=1e-12)
    for method in (model.reconstruction_error, model.score_samples):
        np.testing.assert_allclose(method(sp.csr_matrix(X)), method(X), rtol=1e-12)
    assert model.score(sp.csr_matrix(X)) == pytest.approx(model.score(X), rel=1e-12)


@every_kind
def test_squared_lengths(kind):
    X, _ = kind(120, 30, 1e8)
    mean = HostRows(X).moments().mean
    exact = np.sum((X.astype(np.longdouble) - mean) ** 2, axis=1).astype(float)
    found = squared_lengths(sp.csr_matrix(X), mean, 1.0)
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-13 * exact.max())


@pytest.mark.parametrize(
    ("n", "missing"), [(100, range(0, 100, 10)), (101, range(10)), (104, range(90, 100))], ids=str
)
def test_nearly_full_columns_are_found_wherever_their_zeros_are(n, missing):
    X = np.zeros((n, 3))
    X[:, 1] = 5.0
    X[list(missing), 1] = 0.0
    rows, rest = partly_centred(sp.csr_matrix(X), np.array([1.0, 4.5, 1.0]))
    assert rest.tolist() == [1.0, 0.0, 1.0]
    np.testing.assert_array_equal(rows.toarray(), X - [0.0, 4.5, 0.0])


def test_rows_stay_sparse():
    X, _ = constant(120, 30, 1e8)
    X[:, 2] = spiked_rows(120, 1)[:, 0] + 1e8
    X[::20, 2] = 0
    kept = HostRows(sp.csr_matrix(X))._kept_rows
    counts = np.count_nonzero(X, axis=0)
    counts[1] = 0  # a constant column
    counts[2] = 120  # one with a few zeros
    assert np.bincount(kept.indices, minlength=30).tolist() == counts.tolist()


def test_rows_near_zero_are_not_copied():
    X = sp.random(50, 700, density=0.1, format="csr", random_state=0)
    kept = HostRows(X)._kept_rows
    assert less_origin(kept, np.zeros(700)) is kept
    assert np.shares_memory(kept.indices, X.indices)
