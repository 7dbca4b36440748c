"""What a user does with a model besides fitting it, on every backend, against numpy."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    attenuation_path,
    load_model,
    save_model,
)
from tests.backends.comparison import agree, fit_both, same_array
from tests.helpers import spiked_rows

X = spiked_rows(60, 8)
MODELS = [
    AttenuatedPCA(3, alpha=0.4, whiten=True),
    AttenuatedPCACV(2, alphas=[0, 0.5, 1], cv=3),
]
IDS = ["one strength", "chosen"]


@pytest.mark.parametrize(("model", "dtype"), [(MODELS[0], np.float32), (MODELS[1], np.float64)], ids=IDS)
def test_a_saved_model_comes_back_on_the_host(backend, model, dtype, tmp_path):
    rows = X.astype(dtype)
    theirs, ours = fit_both(backend, model, rows)
    save_model(theirs, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert type(loaded) is type(model)
    for name in type(model)._fitted:
        found, fitted = getattr(loaded, name), getattr(theirs, name)
        if hasattr(fitted, "shape") and fitted.shape:
            assert type(found) is np.ndarray
            np.testing.assert_array_equal(found, backend.numpy(fitted), err_msg=name)
        else:
            assert found == fitted, name
    close = 1e-4 if dtype is np.float32 else 1e-9
    np.testing.assert_allclose(loaded.transform(rows), ours.transform(rows), rtol=close, atol=close)


def test_the_path(backend):
    options = {"n_components": 2, "alphas": [0, 0.4, 1]}
    theirs, ours = attenuation_path(backend.array(X), **options), attenuation_path(X, **options)
    for name in ("components", "mean"):
        same_array(backend, getattr(theirs, name), getattr(ours, name), name, 1e-9)
    for name in ("alphas", "explained_variance", "explained_variance_ratio", "gap", "tied"):
        np.testing.assert_allclose(getattr(theirs, name), getattr(ours, name), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(theirs.angles_to_pca(), ours.angles_to_pca(), atol=1e-7)
    assert theirs.n_samples == ours.n_samples
    assert "Attenuation path" in theirs._repr_html_()


@pytest.mark.parametrize(
    "model", [AttenuatedPCA(2, alpha=0.5), AttenuatedPCACV(2, alphas=[0, 0.5, 1])], ids=IDS
)
def test_batches_on_a_device_are_summed_up_on_the_host(backend, model):
    theirs = clone(model).fit([backend.array(X[:20]), backend.array(X[20:])])
    ours = clone(model).fit([X[:20], X[20:]])
    for name in type(model)._fitted:
        np.testing.assert_array_equal(getattr(theirs, name), getattr(ours, name), err_msg=name)
    assert type(theirs.components_) is np.ndarray
    assert type(theirs.transform(X)) is np.ndarray


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_fit_transform_clone_and_refit(backend, model):
    theirs, ours = fit_both(backend, model, X)
    same_array(backend, clone(model).fit_transform(backend.array(X)), ours.transform(X), "scores", 1e-8)
    assert not hasattr(clone(theirs), "components_")
    assert clone(theirs).get_params().keys() == model.get_params().keys()
    theirs.fit(X)  # an estimator may go back to numpy
    assert type(theirs.transform(X)) is np.ndarray
    theirs.fit(backend.array(X))
    agree(backend, theirs, ours, X)


@pytest.mark.parametrize("model", MODELS, ids=IDS)
def test_a_pickled_model(backend, model):
    theirs, ours = fit_both(backend, model, X)
    copy = pickle.loads(pickle.dumps(theirs))
    if backend.name == "strict":
        # Its devices are not equal after pickling, so only the numbers can be compared.
        found = np.asarray(copy.components_.to_device(type(copy.components_.device)("CPU_DEVICE")))
        np.testing.assert_allclose(found, ours.components_, atol=1e-8)
    else:
        agree(backend, copy, ours, X)


def test_pictures(backend):
    """They are drawn on the host, from arrays of any library."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    from attenua import pictures

    theirs, ours = fit_both(backend, MODELS[1], X)
    points = [
        pictures.scores(model, rows).collections[0].get_offsets()
        for model, rows in ((theirs, backend.array(X)), (ours, X))
    ]
    np.testing.assert_allclose(*points, atol=1e-8)
    for draw in (pictures.strengths, pictures.loadings):
        assert draw(theirs).has_data()
    curves = [
        pictures.scree(model, rows).lines[0].get_ydata()
        for model, rows in ((theirs, backend.array(X)), (ours, X))
    ]
    np.testing.assert_allclose(*curves)
    plt.close("all")


def test_names_of_what_comes_out(backend):
    theirs = AttenuatedPCA(2, alpha=0.5).fit(backend.array(X))
    assert theirs.get_feature_names_out().tolist() == ["attenuatedpca0", "attenuatedpca1"]
    assert theirs.n_features_in_ == 8
