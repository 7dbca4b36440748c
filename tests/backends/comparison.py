"""One comparison of a model fitted on a backend with the same model fitted by numpy."""

import warnings

import numpy as np
from sklearn.base import clone

from attenua._estimate.fitted import Kind

CLOSE = {"float64": 1e-8, "float32": 3e-5}
# Subspaces of folds are iterated above 128 columns, and only as accurate as comparing them needs.
ITERATED = 1e-5


def fit_both(backend, model, X, **given):
    """Return the model fitted on the backend and by numpy; both must warn of the same things."""
    on_device = {name: _on(backend, value) for name, value in given.items()}
    theirs, said = _fitted(clone(model), backend.array(X), on_device)
    ours, expected = _fitted(clone(model), X, given)
    assert said == expected
    return theirs, ours


def _on(backend, value):
    return backend.array(value) if isinstance(value, np.ndarray) and value.dtype.kind in "fiu" else value


def _fitted(model, X, given):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model.fit(X, **given)
    return model, sorted(str(warning.message) for warning in said)


def agree(backend, theirs, ours, X, *, close=None, skip=()):
    """Compare every fitted attribute and every method.

    Signs are fixed, so components are compared as they are. Arrays must be of the backend's library, on its
    device, and of the type that numpy's are.

    Parameters
    ----------
    backend : Backend
        Where `theirs` was fitted.
    theirs, ours : estimator
        The model fitted there and by numpy.
    X : ndarray
        The rows.
    close : float, optional
        Largest difference, as a part of the largest entry.
    skip : sequence of str
        What the data do not determine.
    """
    close = CLOSE[str(ours.components_.dtype)] if close is None else close
    for name, kind in type(ours)._fitted.items():
        if name not in skip:
            _same(backend, kind, getattr(theirs, name), getattr(ours, name), name, close)
    A, scores = backend.array(X), ours.transform(X)
    found = {
        "transform": (theirs.transform(A), scores),
        "inverse_transform": (
            theirs.inverse_transform(backend.array(scores)),
            ours.inverse_transform(scores),
        ),
        "reconstruction_error": (theirs.reconstruction_error(A), ours.reconstruction_error(X)),
        "score_samples": (theirs.score_samples(A), ours.score_samples(X)),
        "get_covariance": (theirs.get_covariance(), ours.get_covariance()),
        "get_precision": (theirs.get_precision(), ours.get_precision()),
    }
    for name, (array, expected) in found.items():
        if name not in skip:
            least = _rounding(X) if name == "reconstruction_error" else 0.0
            same_array(backend, array, expected, name, close, least)
    if "score" not in skip:
        assert type(theirs.score(A)) is float
        np.testing.assert_allclose(theirs.score(A), ours.score(X), rtol=10 * close, atol=_rounding(X))


def _rounding(X):
    """Squares of reconstruction errors that are rounding errors only."""
    return float(np.max((1e-13 * np.asarray(X, dtype=float)) ** 2)) * X.shape[1]


def _same(backend, kind, found, expected, name, close):
    if expected is None:
        assert found is None, name
        return
    rough = max(close, ITERATED) if close > 1e-8 else close
    if kind in (Kind.DATA, Kind.GRID):
        # Every candidate's risk is rough where subspaces are iterated, and the chosen one is found again.
        same_array(backend, found, expected, name, rough if name.startswith("cv_risk") else close)
    elif kind in (Kind.COUNT, Kind.TEXT) or name == "alpha_":
        assert found == expected, name
        assert type(found) is type(expected), name
    elif name == "shortfall_":
        assert 0 <= found <= 1e-8
    else:
        assert type(found) is type(expected), name
        # A gain is one less a ratio of risks, and as rough as they are.
        least = 10 * rough if name.endswith("gain_") and close > 1e-8 else 1e-12
        np.testing.assert_allclose(found, expected, rtol=10 * close, atol=least, err_msg=name)


def same_array(backend, found, expected, name, close, least=0.0):
    """Compare an array of the backend with one of numpy: library, device, type, shape and numbers."""
    assert backend.holds(found), f"{name} is {type(found)} on {getattr(found, 'device', None)}"
    found = backend.numpy(found)
    assert found.dtype == expected.dtype, name
    assert found.shape == expected.shape, name
    scale = np.abs(expected).max(initial=0.0)
    scale = scale if np.isfinite(scale) else 1.0
    np.testing.assert_allclose(found, expected, rtol=close, atol=max(close * scale, least), err_msg=name)
