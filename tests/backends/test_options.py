"""Every option of both estimators and every kind of rows, on every backend, against numpy."""

import numpy as np
import pytest
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, ShuffleSplit

from attenua import AttenuatedPCA, AttenuatedPCACV
from tests.backends.comparison import agree, fit_both, same_array
from tests.backends.conftest import BACKENDS
from tests.helpers import in_turn, spiked_rows

SMALL = spiked_rows(40, 8)
LABELS = np.arange(40) // 3
GRID = [0, 0.3, 0.7, 1]

ONE_STRENGTH = {
    "default": AttenuatedPCA(2, alpha=0.5),
    "PCA": AttenuatedPCA(3, alpha=0),
    "hollowed": AttenuatedPCA(3, alpha=1),
    "labels of columns": AttenuatedPCA(2, alpha=0.7, feature_groups=list("aabbccdd")),
    "lists of columns": AttenuatedPCA(2, alpha=0.7, feature_groups=[[0, 7], [1, 2, 3], [4, 5, 6]]),
    "whitened": AttenuatedPCA(3, alpha=0.5, whiten=True),
    "fraction": AttenuatedPCA(0.8, alpha=0.5),
    "all": AttenuatedPCA(),
    "as many as columns": AttenuatedPCA(8, alpha=0.5),
}


def on_backends(name, values, times=1):
    """Parametrise a test by values, each on one of the backends."""
    return pytest.mark.parametrize(
        ("backend", name), in_turn(BACKENDS, values, times=times), indirect=["backend"]
    )


@on_backends("case", ONE_STRENGTH)
def test_one_strength(backend, case):
    agree(backend, *fit_both(backend, ONE_STRENGTH[case], SMALL), SMALL)


CHOSEN = {
    "default": AttenuatedPCACV(2),
    "mask rates": AttenuatedPCACV(2, alphas="mask", cv=3),
    "grid": AttenuatedPCACV(2, alphas=GRID, cv=3),
    "labels of columns": AttenuatedPCACV(2, alphas=GRID, cv=3, feature_groups=np.arange(8) // 2),
    "whitened": AttenuatedPCACV(2, alphas=GRID, cv=3, whiten=True),
    "fraction": AttenuatedPCACV(0.7, alphas=GRID, cv=3),
    "all": AttenuatedPCACV(alphas=GRID, cv=3),
    "splitter": AttenuatedPCACV(2, alphas=GRID, cv=KFold(4, shuffle=True, random_state=0)),
    "overlapping splits": AttenuatedPCACV(2, alphas=GRID, cv=ShuffleSplit(3, test_size=0.3, random_state=0)),
    "list of splits": AttenuatedPCACV(
        2, alphas=GRID, cv=[(range(30), range(30, 40)), ([5, 5, *range(9, 40)], [0])]
    ),
    "leave one out": AttenuatedPCACV(2, alphas=[0, 0.5], cv=LeaveOneOut()),
    "many folds": AttenuatedPCACV(2, alphas=[0, 0.5], cv=25),
    "threads": AttenuatedPCACV(2, alphas=GRID, cv=3, n_jobs=2),
}


@on_backends("case", CHOSEN)
def test_a_chosen_strength(backend, case):
    agree(backend, *fit_both(backend, CHOSEN[case], SMALL), SMALL)


@pytest.mark.parametrize("cv", [3, GroupKFold(4)])
def test_groups_of_rows(backend, cv):
    labels = LABELS if cv == 3 else [f"subject {i}" for i in LABELS]
    model = AttenuatedPCACV(2, alphas=GRID, cv=cv)
    theirs, ours = fit_both(backend, model, SMALL, groups=labels)
    agree(backend, theirs, ours, SMALL)


@on_backends("shape", [(40, 8), (20, 600)])
def test_weights_of_rows(backend, shape):
    X = spiked_rows(*shape)
    weights = np.arange(shape[0]) % 4 + 0.5 * (np.arange(shape[0]) % 3)  # some of them are zero
    model = AttenuatedPCA(3, alpha=0.6)
    agree(backend, *fit_both(backend, model, X, sample_weight=weights), X, close=1e-7)


def constant_column():
    X = spiked_rows(40, 8)
    X[:, 3] = 1e6 / 3
    X[::3, 5] = 0.1
    return X


def two_directions():
    random = np.random.default_rng(0)
    return random.standard_normal((30, 2)) @ random.standard_normal((2, 12))


ROWS = {
    "float32": SMALL.astype(np.float32),
    "integers": np.random.default_rng(0).poisson(4, (40, 8)),
    "small integers": np.random.default_rng(0).poisson(4, (40, 8)).astype(np.int16),
    "fewer rows than columns": spiked_rows(12, 30),
    "a constant column": constant_column(),
    "a large shift": SMALL + 1e6,
    "tiny": SMALL * 1e-150,
    "huge": SMALL * 1e150,
}


# Far from zero, digits of the data themselves are lost: 1e-16 of 1e6, relative to a spread of 1, squared.
LOOSE = {"a large shift": 1e-6}


@on_backends("kind", ROWS)
def test_kinds_of_rows(backend, kind):
    X = ROWS[kind]
    model = AttenuatedPCACV(2, alphas=GRID, cv=3)
    agree(backend, *fit_both(backend, model, X), X, close=LOOSE.get(kind))
    model = AttenuatedPCA(2, alpha=0.4)
    agree(backend, *fit_both(backend, model, X), X, close=LOOSE.get(kind))


def test_an_outlier(backend):
    """Nothing else of the rows is left, so any second direction is as good."""
    X = np.concatenate([SMALL, SMALL[:1] * 1e9])
    theirs, ours = fit_both(backend, AttenuatedPCACV(2, alphas=GRID, cv=3), X)
    assert theirs.alpha_ == ours.alpha_
    for name in ("cv_risk_", "mean_", "explained_variance_"):
        same_array(backend, getattr(theirs, name), getattr(ours, name), name, 1e-8)


@on_backends("alpha", [0, 0.5])
def test_a_cut_that_falls_on_a_tie(backend, alpha):
    """Data of two directions, and four are asked for: of the tied ones the same are taken everywhere."""
    X = two_directions()
    theirs, ours = fit_both(backend, AttenuatedPCA(4, alpha=alpha), X)
    agree(backend, theirs, ours, X, close=1e-6, skip=("get_precision",))


@on_backends("shape", [(30, 8), (30, 200)])
def test_rows_that_do_not_vary(backend, shape):
    X = np.full(shape, 3.0)
    theirs, ours = fit_both(backend, AttenuatedPCA(2, alpha=0.5), X)
    agree(backend, theirs, ours, X)
    theirs, ours = fit_both(backend, AttenuatedPCACV(2, alphas=GRID, cv=3), X)
    agree(backend, theirs, ours, X)
    assert theirs.alpha_ == 0


# Iterated with a matrix, iterated with few rows, and rows that are kept.
LARGE = {"tall": (300, 150), "wide": (40, 300), "kept rows": (24, 600)}


MODELS = {
    "one strength": lambda p: AttenuatedPCA(3, alpha=0.6),
    "fraction": lambda p: AttenuatedPCA(0.5, alpha=0.3),
    "pairs of columns": lambda p: AttenuatedPCA(2, alpha=0.7, feature_groups=np.arange(p) // 2),
    "chosen": lambda p: AttenuatedPCACV(3, alphas=GRID, cv=3),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("backend", "shape", "kind"), in_turn(BACKENDS, LARGE, MODELS, times=2), indirect=["backend"]
)
def test_subspaces_that_are_iterated(backend, shape, kind):
    X = spiked_rows(*LARGE[shape])
    model = MODELS[kind](X.shape[1])
    agree(backend, *fit_both(backend, model, X), X, close=1e-6)
