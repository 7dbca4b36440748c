"""Corrections on every backend, against numpy."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit

from attenua import CorrectedPCA, CorrectedPCACV, load_model, save_model
from attenua._data import reweighting
from tests.backends.comparison import agree, fit_both
from tests.backends.conftest import BACKENDS
from tests.helpers import in_turn
from tests.literal import smooth_rows

SMALL = smooth_rows(40, 8, seed=3)
LABELS = np.arange(40) // 3
# Strong smoothing leaves few columns with fewer directions than are asked for.
SMOOTHING = {"row_tempering": [0.5, 1], "smoothing": [0.5, 1], "damping": [0.5]}

GIVEN = {
    "PCA": CorrectedPCA(3),
    "row tempering": CorrectedPCA(3, row_tempering=0.5),
    "spatial signs": CorrectedPCA(3, row_tempering=1.0),
    "tempering": CorrectedPCA(3, tempering=0.5),
    "attenuation": CorrectedPCA(3, attenuation=0.5, feature_groups=np.arange(8) // 2),
    "damping": CorrectedPCA(3, damping=0.25),
    "pooling": CorrectedPCA(3, pooling=1.0, attenuation=0.5, feature_groups=np.arange(8) // 2),
    "smoothing": CorrectedPCA(3, smoothing=0.8, neighbours=(2, 4), whiten=True),
    "all": CorrectedPCA(
        2,
        attenuation=0.6,
        tempering=0.5,
        row_tempering=0.5,
        damping=0.25,
        smoothing=0.7,
        pooling=0.5,
        neighbours="line",
    ),
}


@pytest.fixture(params=[True, False], ids=["pairs", "rows"])
def few_rows(request, monkeypatch):
    """Row tempering by pairs of rows, or by rows."""
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 1_000 if request.param else 1)


def on_backends(name, values):
    """Parametrise a test by values, each on one of the backends, by pairs or by rows."""
    return pytest.mark.parametrize(
        ("few_rows", "backend", name),
        in_turn([True, False], BACKENDS, values),
        indirect=["few_rows", "backend"],
    )


@on_backends("case", GIVEN)
def test_given_strengths(backend, few_rows, case):
    agree(backend, *fit_both(backend, GIVEN[case], SMALL), SMALL)


CHOSEN = {
    "default": CorrectedPCACV(2),
    "least risk": CorrectedPCACV(2, pca_share=0, cv=3),
    "smoothing": CorrectedPCACV(2, corrections=SMOOTHING, neighbours="line", pca_share=0, cv=3),
    "blocks": CorrectedPCACV(2, pca_share=0, cv=3, feature_groups=np.arange(8) // 2),
    "fraction": CorrectedPCACV(0.7, pca_share=0, cv=3, whiten=True),
    "all": CorrectedPCACV(pca_share=0, cv=3),
    "nothing": CorrectedPCACV(2, corrections=[]),
    "splitter": CorrectedPCACV(2, pca_share=0, cv=KFold(4, shuffle=True, random_state=0)),
    "overlapping splits": CorrectedPCACV(2, pca_share=0, cv=ShuffleSplit(3, test_size=0.3, random_state=0)),
    "one split": CorrectedPCACV(2, cv=[(range(30), range(30, 40))]),
    "training rows twice": CorrectedPCACV(2, cv=[(range(30), range(30, 40)), ([5, 5, *range(9, 40)], [0])]),
    "leave one out": CorrectedPCACV(2, corrections=["row_tempering"], cv=LeaveOneOut()),
    "repeated": CorrectedPCACV(2, pca_share=0, cv=3, n_repeats=2, random_state=0),
}


@on_backends("case", CHOSEN)
def test_chosen_strengths(backend, few_rows, case):
    agree(backend, *fit_both(backend, CHOSEN[case], SMALL), SMALL)


@pytest.mark.slow
@on_backends("cv", [3, GroupKFold(4)])
def test_groups_of_rows(backend, few_rows, cv):
    agree(backend, *fit_both(backend, CorrectedPCACV(2, pca_share=0, cv=cv), SMALL, groups=LABELS), SMALL)


def test_weights_of_rows(backend, few_rows):
    weights = np.arange(40) % 4 + 0.5 * (np.arange(40) % 3)  # some of them are zero
    model = CorrectedPCA(3, row_tempering=0.75, tempering=0.5, attenuation=0.3)
    agree(backend, *fit_both(backend, model, SMALL, sample_weight=weights), SMALL, close=1e-7)


@pytest.mark.slow
@on_backends("scale", [1e150, 1e-150])
def test_huge_and_tiny_numbers(backend, few_rows, scale):
    agree(backend, *fit_both(backend, CorrectedPCACV(2, pca_share=0, cv=3), SMALL * scale), SMALL * scale)


@on_backends("dtype", [np.float32])
def test_single_precision(backend, few_rows, dtype):
    X = SMALL.astype(dtype)
    agree(backend, *fit_both(backend, CorrectedPCACV(2, pca_share=0, cv=3), X), X)


ITERATED = {"kept rows": (24, 600), "tall": (60, 140), "few rows": (24, 140)}


@pytest.mark.slow
@on_backends("shape", ITERATED)
def test_subspaces_that_are_iterated(backend, few_rows, shape):
    X = smooth_rows(*ITERATED[shape], seed=2)
    few = {
        "row_tempering": [0.5],
        "tempering": [0.5],
        "attenuation": [0.6],
        "damping": [0.25],
        "smoothing": [2],
        "pooling": [1],
    }
    model = CorrectedPCACV(2, corrections=few, neighbours="line", cv=3, pca_share=0)
    # A candidate is known to a hundredth of what it differs from the one it began from: here from 37 to 22.
    agree(backend, *fit_both(backend, model, X), X, close=1e-6, rough=1e-3)


def test_a_saved_model_comes_back_on_the_host(backend, tmp_path):
    theirs, ours = fit_both(backend, CorrectedPCACV(2, pca_share=0, cv=3), SMALL)
    save_model(theirs, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.steps_ == theirs.steps_
    assert loaded.choices_ == ours.choices_
    np.testing.assert_allclose(loaded.transform(SMALL), ours.transform(SMALL), atol=1e-8)
