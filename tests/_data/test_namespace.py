"""Which arrays are taken, and the errors for those that are not."""

import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn

from attenua import AttenuatedPCA, AttenuatedPCACV, attenuation_path
from attenua._data.namespace import namespace_of
from tests.helpers import in_turn, spiked_rows

X = spiked_rows(60, 8)


def strict_array(values, device="device1"):
    import array_api_strict

    return array_api_strict.asarray(values, device=array_api_strict.Device(device))


@pytest.mark.parametrize("estimator", [AttenuatedPCA(2, alpha=0.5), AttenuatedPCACV(2)])
def test_without_dispatch_the_error_says_what_to_set(estimator):
    with pytest.raises(TypeError, match=r"device1.*SCIPY_ARRAY_API=1.*array_api_dispatch=True"):
        estimator.fit(strict_array(X))
    fitted = estimator.fit(X)
    for method in ("transform", "score"):
        with pytest.raises(TypeError, match="array_api_dispatch=True"):
            getattr(fitted, method)(strict_array(X))


@pytest.mark.parametrize("library", ["array_api_strict", "torch"])
def test_without_dispatch_arrays_on_the_host_become_numpy_arrays(library):
    xp = pytest.importorskip(library)
    for array in (xp.asarray(X), xp.asarray(X.astype(np.float32))):
        model = AttenuatedPCACV(2).fit(array)
        assert isinstance(model.components_, np.ndarray)
        scores = model.transform(array)
        assert isinstance(scores, np.ndarray)
        assert isinstance(model.inverse_transform(xp.asarray(scores)), np.ndarray)
        assert model.score(array) == pytest.approx(model.score(X.astype(scores.dtype)), rel=1e-6)


def test_without_dispatch_a_device_tensor_is_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"torch array on device meta.*array_api_dispatch=True"):
        AttenuatedPCA(2, alpha=0.5).fit(torch.empty((60, 8), device="meta"))


def test_numpy_arrays_and_lists_go_the_usual_way(lib):
    assert namespace_of(X) is None
    assert namespace_of(X.tolist()) is None
    assert namespace_of(sp.csr_matrix(X)) is None
    assert isinstance(AttenuatedPCACV(2).fit(X).components_, np.ndarray)
    assert AttenuatedPCA(2, alpha=0.5).fit(sp.csr_matrix(X)).transform(sp.csr_matrix(X)).shape == (60, 2)


def test_fit_and_use_must_be_in_one_place(lib):
    on_device, on_host = AttenuatedPCA(2, alpha=0.5).fit(lib.array(X)), AttenuatedPCA(2, alpha=0.5).fit(X)
    for method in ("transform", "score"):
        with pytest.raises(ValueError, match=rf"AttenuatedPCA.{method}\(\) must use the same namespace"):
            getattr(on_device, method)(X)
        with pytest.raises(ValueError, match="numpy array"):
            getattr(on_host, method)(lib.array(X))
    with pytest.raises(ValueError, match="same namespace"):
        on_device.inverse_transform(np.ones((3, 2)))
    if lib.name == "strict":
        with pytest.raises(ValueError, match="device2"):
            on_device.transform(strict_array(X, "device2"))
    with sklearn.config_context(array_api_dispatch=False), pytest.raises(ValueError, match="same namespace"):
        on_device.transform(X)


def test_batches_come_to_the_host(lib):
    A = lib.array(X)
    expected, fixed = AttenuatedPCACV(2).fit(X), AttenuatedPCA(2, alpha=0.5).fit(X)
    for model in (
        AttenuatedPCACV(2).fit([A[:25, :], A[25:, :]]),
        AttenuatedPCACV(2).fit(iter([A[:25, :], X[25:]])),
    ):
        assert isinstance(model.components_, np.ndarray)
        assert model.alpha_ == expected.alpha_
        np.testing.assert_allclose(model.cv_risk_folds_, expected.cv_risk_folds_, rtol=1e-9)
        np.testing.assert_allclose(model.components_, expected.components_, atol=1e-9)
    model = AttenuatedPCA(2, alpha=0.5).fit([A], sample_weight=[lib.array(np.ones(60))])
    np.testing.assert_allclose(model.components_, fixed.components_, atol=1e-9)


def test_a_path_stays_on_the_device(lib):
    path, expected = attenuation_path(lib.array(X), 2), attenuation_path(X, 2)
    assert lib.holds(path.components)
    assert lib.holds(path.mean)
    np.testing.assert_allclose(lib.numpy(path.components), expected.components, atol=1e-9)
    np.testing.assert_allclose(path.gap, expected.gap, rtol=1e-9)
    np.testing.assert_allclose(path.angles_to_pca(), expected.angles_to_pca(), atol=1e-7)


@pytest.mark.parametrize(
    ("bad", "estimator"),
    in_turn([np.nan, np.inf, -np.inf], [AttenuatedPCA(2, alpha=0.5), AttenuatedPCACV(2)]),
)
def test_a_value_that_is_not_finite_is_named_by_its_column(lib, bad, estimator):
    wrong = X.copy()
    wrong[7, 5] = bad
    what = "NaN" if np.isnan(bad) else "infinity"
    with pytest.raises(ValueError, match=f"{what} in column 5"):
        estimator.fit(lib.array(wrong))
    fitted = estimator.fit(lib.array(X))
    with pytest.raises(ValueError, match=f"{what} in column 5"):
        fitted.transform(lib.array(wrong))
    with pytest.raises(ValueError, match=f"{what} in column 1"):
        fitted.inverse_transform(lib.array([[0, bad]]))


def test_wrong_shapes_and_weights(lib):
    A = lib.array(X)
    with pytest.raises(ValueError, match="2D array"):
        AttenuatedPCA(2, alpha=0.5).fit(A[:, 0])
    with pytest.raises(ValueError, match="8 features"):
        AttenuatedPCA(2, alpha=0.5).fit(A).transform(A[:, :5])
    with pytest.raises(ValueError, match="2 components; inverse_transform takes scores"):
        AttenuatedPCA(2, alpha=0.5).fit(A).inverse_transform(A)
    with pytest.raises(ValueError, match="n_components=9 must be between 1 and 8"):
        AttenuatedPCA(9, alpha=0.5).fit(A)
    with pytest.raises(ValueError, match="smallest training set"):
        AttenuatedPCACV(8, cv=2).fit(A[:10, :])
    for wrong, match in (
        (np.ones(3), "sample_weight has"),
        (-np.ones(60), "nonnegative"),
        (np.zeros(60), "zero for every row"),
    ):
        for given in (wrong, lib.array(wrong)):
            with pytest.raises(ValueError, match=match):
                AttenuatedPCA(2, alpha=0.5).fit(A, sample_weight=given)


def test_complex_numbers_are_refused(lib):
    with pytest.raises(ValueError, match="Complex data not supported"):
        AttenuatedPCA(2, alpha=0.5).fit(lib.array(X + 1j))


def test_a_device_without_double_precision_is_refused(dispatch):
    with pytest.raises(TypeError, match="no float64"):
        AttenuatedPCA(2, alpha=0.5).fit(strict_array(X.astype(np.float32), "no_float64"))


def test_sparse_and_tracked_tensors_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="sparse torch array; only dense"):
        AttenuatedPCA(2, alpha=0.5).fit(torch.asarray(X).to_sparse())
    with pytest.raises(TypeError, match="detach"):
        AttenuatedPCA(2, alpha=0.5).fit(torch.asarray(X).requires_grad_())


def test_dask_blocks_on_a_device_are_refused():
    da = pytest.importorskip("dask.array")
    rows = da.from_array(X, chunks=(20, 8))
    rows._meta = type("ndarray", (), {"__module__": "cupy"})()
    for estimator in (AttenuatedPCA(2, alpha=0.5), AttenuatedPCACV(2)):
        with pytest.raises(TypeError, match="dask collection of cupy blocks"):
            estimator.fit(rows)


def test_without_array_api_compat_the_error_names_the_extra(lib, monkeypatch):
    monkeypatch.setitem(sys.modules, "array_api_compat", None)
    with pytest.raises(ImportError, match=r"attenua\[array-api\]"):
        namespace_of(lib.array(X))


@pytest.mark.parametrize("shape", [(200, 20), (300, 150), (40, 600)])
def test_rows_are_not_copied_to_the_host(lib, shape, monkeypatch):
    """Small matrices are decomposed there, but nothing as large as the data is moved."""
    A = lib.array(spiked_rows(*shape))
    moved = []
    for name in {"strict": ["to_device"], "torch": ["cpu", "__array__"], "cupy": ["get"]}[lib.name]:
        original = getattr(type(A), name)

        def noting(self, *args, _original=original, **options):
            moved.append(math.prod(self.shape))
            return _original(self, *args, **options)

        monkeypatch.setattr(type(A), name, noting)
    model = AttenuatedPCACV(3, cv=3).fit(A)
    model.score(A)
    model.inverse_transform(model.transform(A))
    assert 0 < max(moved) < 0.8 * math.prod(shape)


def test_an_object_of_no_library_is_left_to_scikit_learn():
    with pytest.raises((ValueError, TypeError)):
        AttenuatedPCA(2, alpha=0.5).fit(SimpleNamespace(a=1))
