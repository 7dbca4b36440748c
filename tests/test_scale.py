"""scale=True is StandardScaler in front of the fit, in every training set by its own rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from attenua import (
    AttenuatedPCACV,
    CorrectedCovariance,
    CorrectedPCA,
    CorrectedPCACV,
    imputing,
)
from attenua.model_files import load_model, save_model
from tests.helpers import spiked_rows


def rows_in_units(n, p, seed=0):
    """Rows whose columns have different units; one of them does not vary."""
    units = np.random.default_rng(seed).permutation(np.geomspace(1e-3, 1e4, p))
    X = spiked_rows(n, p, seed=seed) * units
    X[:, 1] = 7.0
    return X


X, WIDE = rows_in_units(40, 8), rows_in_units(30, 530)
NEW = X[:11] * 1.3
OTHERS = rows_in_units(50, 8, seed=0)[:, ::-1] * X.std(axis=0)
HOLES = np.where(np.random.default_rng(1).random(X.shape) < 0.1, np.nan, X)
SPARSE = np.where(np.random.default_rng(2).random(X.shape) < 0.6, 0.0, X)
STRENGTHS = {
    "PCA": {},
    "row tempering": {"row_tempering": 1.0},
    "borrowing": {"borrowing": 0.4},
    "damping and smoothing": {"damping": 0.5, "smoothing": 0.8, "neighbours": "line"},
}


def with_reference(strengths, scale):
    """Parameters of a fit; a reference has the units of its rows."""
    return strengths | ({"reference": OTHERS / scale} if "borrowing" in strengths else {})


@pytest.mark.parametrize("strengths", STRENGTHS.values(), ids=STRENGTHS)
@pytest.mark.parametrize("rows", [X, SPARSE, HOLES], ids=["dense", "zeros", "holes"])
def test_a_fit_is_that_of_standardised_columns(rows, strengths):
    scaler = StandardScaler().fit(rows)
    by_hand = CorrectedPCA(3, **with_reference(strengths, scaler.scale_)).fit(scaler.transform(rows))
    for given in (rows, sp.csr_array(rows)):
        scaled = CorrectedPCA(3, scale=True, **with_reference(strengths, 1.0)).fit(given)
        np.testing.assert_allclose(scaled.scale_, scaler.scale_)
        np.testing.assert_allclose(scaled.components_, by_hand.components_, atol=1e-8)
        np.testing.assert_allclose(scaled.explained_variance_, by_hand.explained_variance_)
    new = rows if np.isnan(rows).any() else NEW
    there = scaler.transform(new)
    np.testing.assert_allclose(scaled.transform(new), by_hand.transform(there), atol=1e-7)
    for method in ("reconstruction_error", "t2", "q"):
        expected = getattr(by_hand, method)(there)
        np.testing.assert_allclose(getattr(scaled, method)(new), expected, atol=1e-8 * expected.max())
    scores = by_hand.transform(there)
    back = scaler.inverse_transform(by_hand.inverse_transform(scores))
    np.testing.assert_allclose(scaled.inverse_transform(scores), back)
    # A likelihood is in the units of the data.
    jacobian = ~np.isnan(new) @ np.log(scaler.scale_)
    expected = by_hand.score_samples(there) - jacobian
    np.testing.assert_allclose(scaled.score_samples(new), expected, rtol=1e-6)
    limits = scaled.control_limits(rows, held_out=False)
    theirs = by_hand.control_limits(scaler.transform(rows), held_out=False)
    assert (limits.t2(), limits.q()) == pytest.approx((theirs.t2(), theirs.q()))


@pytest.mark.parametrize("kind", [CorrectedPCA, CorrectedPCACV])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_number_that_is_rounded_in_two_ways_does_not_vary(kind, form):
    rows = X.copy()
    rows[:, 1] = np.where(np.arange(len(X)) % 2, 0.3, 0.1 * 3)
    model = kind(3, scale=True).fit(form(rows))
    np.testing.assert_allclose(model.scale_, StandardScaler().fit(rows).scale_)
    np.testing.assert_allclose(model.components_[:, 1], 0, atol=1e-9)
    moved = rows[:1] + 1e-3 * (np.arange(X.shape[1]) == 1)
    assert model.q(moved) - model.q(rows[:1]) == pytest.approx(1e-6)


def test_the_model_of_the_rows_is_in_their_units():
    scaled = CorrectedPCA(3, scale=True).fit(X)
    centred, p = NEW - scaled.mean_, X.shape[1]
    squares = np.einsum("ij,jk,ik->i", centred, scaled.get_precision(), centred)
    log_det = np.linalg.slogdet(scaled.get_covariance())[1]
    expected = -(squares + log_det + p * np.log(2 * np.pi)) / 2
    np.testing.assert_allclose(scaled.score_samples(NEW), expected)


def test_missing_cells_are_imputed_in_scaled_columns(monkeypatch):
    found = CorrectedPCA(3, scale=True).fit(HOLES).impute(HOLES)
    np.testing.assert_allclose(found, CorrectedCovariance(scale=True).fit_transform(HOLES))
    monkeypatch.setattr(imputing, "MOST_COLUMNS", 4)
    scaler = StandardScaler().fit(HOLES)
    by_hand = CorrectedPCA(3).fit(scaler.transform(HOLES)).impute(scaler.transform(HOLES))
    found = CorrectedPCA(3, scale=True).fit(HOLES).impute(HOLES)
    np.testing.assert_allclose(found, scaler.inverse_transform(by_hand))


@pytest.mark.parametrize("rows", [X, WIDE], ids=["few columns", "many columns"])
@pytest.mark.parametrize("name", ["damping", "row_tempering", "borrowing"])
def test_a_training_set_is_scaled_by_its_own_rows(name, rows):
    others = {"borrowing": np.roll(rows, 3, axis=1)[:20]}.get(name)
    model = CorrectedPCACV(3, corrections={name: [0.5]}, reference=others, scale=True).fit(rows)
    risks = np.empty_like(model.cv_risk_folds_)
    for k in range(5):
        held = np.arange(len(rows)) % 5 == k
        scaler = StandardScaler().fit(rows[~held])
        training, reference = scaler.transform(rows[~held]), None
        if others is not None:
            reference = others / scaler.scale_
        for place, strengths in enumerate(model.candidates_):
            fit = CorrectedPCA(3, reference=reference, **strengths).fit(training)
            risks[k, place] = fit.reconstruction_error(scaler.transform(rows[held])).mean()
    np.testing.assert_allclose(model.cv_risk_folds_, risks, rtol=1e-5)


@pytest.mark.parametrize("rows", [HOLES, rows_in_units(1_300, 6)], ids=["missing cells", "many rows"])
def test_one_split_is_that_of_rows_scaled_by_hand(rows):
    folds = list(KFold(4).split(rows))
    model = CorrectedPCACV(3, cv=folds, corrections=[], scale=True).fit(rows)
    for number, (train, held) in enumerate(folds):
        by_hand = StandardScaler().fit(rows[train]).transform(rows)
        alone = CorrectedPCACV(3, cv=[(train, held)], corrections=[]).fit(by_hand)
        np.testing.assert_allclose(model.cv_risk_folds_[number], alone.cv_risk_, rtol=1e-8)


def test_what_new_rows_gain_is_measured_on_columns_scaled_by_the_other_rows():
    given = {"corrections": {"damping": [0.1]}, "scale": True}
    model = CorrectedPCACV(3, nested=True, **given).fit(X)
    losses = np.empty((len(X), 2))
    blocks = np.arange(len(X)) % 5
    for k in range(5):
        scaler = StandardScaler().fit(X[blocks != k])
        others, held = scaler.transform(X[blocks != k]), scaler.transform(X[blocks == k])
        folds = [
            (np.flatnonzero(fold), np.flatnonzero(~fold))
            for fold in (blocks[blocks != k] != j for j in range(5) if j != k)
        ]
        # Each fold of the others has a scale of its own again.
        choice = CorrectedPCACV(3, cv=folds, **given).fit(others)
        ordinary = CorrectedPCA(3).fit(others)
        losses[blocks == k] = np.column_stack(
            [ordinary.reconstruction_error(held), choice.reconstruction_error(held)]
        )
    gain = 0.8 * (losses[:, 0] - losses[:, 1]).sum() / losses[:, 0].sum()
    assert model.left_out_gain_ == pytest.approx(gain, rel=1e-4)
    assert abs(gain) > 1e-3


def test_a_covariance_is_shrunk_in_scaled_columns():
    for given in (np.delete(X, 1, axis=1), np.delete(HOLES, 1, axis=1)):
        scaler = StandardScaler().fit(given)
        only = {"corrections": {"shrinkage": [1.0]}}
        by_hand = CorrectedCovariance(**only).fit(scaler.transform(given))
        scaled = CorrectedCovariance(scale=True, **only).fit(given)
        sizes = np.outer(scaler.scale_, scaler.scale_)
        np.testing.assert_allclose(scaled.covariance_ / sizes, by_hand.covariance_, atol=1e-10)
        np.testing.assert_allclose(scaled.precision_ * sizes, by_hand.precision_, rtol=1e-6, atol=1e-8)
        location = scaler.mean_ + by_hand.location_ * scaler.scale_
        np.testing.assert_allclose(scaled.location_, location)
        np.testing.assert_array_equal(scaled.covariance_, scaled.covariance_.T)


def test_a_covariance_is_judged_in_the_units_of_the_data():
    rows = np.delete(X, 1, axis=1)
    train, held = np.arange(30), np.arange(30, 40)
    only = {"corrections": {"shrinkage": [1.0]}, "scale": True}
    model = CorrectedCovariance(cv=[(train, held)], **only).fit(rows)
    alone = CorrectedCovariance(cv=[(np.arange(20), np.arange(20, 30))], **only).fit(rows[train])
    assert model.cv_risk_[0] == pytest.approx(-alone.score(rows[held]))


@pytest.mark.parametrize(
    ("model", "advice"),
    [
        (AttenuatedPCACV(2), "consider CorrectedPCACV with scale=True"),
        (CorrectedPCACV(2, corrections=[]), "consider scale=True"),
        (CorrectedCovariance(corrections=[]), "consider scale=True"),
    ],
)
def test_columns_of_different_units_are_noticed(model, advice):
    frame = load_wine(as_frame=True).data
    said = f"One column, proline, has 99.8% of the variance: look for a wrong cell, {advice}, or leave it out"
    assert said in clone(model).fit(frame).verdict_
    nameless = frame.rename(columns={"proline": " "})
    for unnamed in (frame.to_numpy(), nameless):
        assert "One column, number 13, has 99.8%" in clone(model).fit(unnamed).verdict_
    pair = X[:, [0, 2]] / X[:, [0, 2]].std(axis=0)
    small = clone(model).fit(np.hstack([pair / 31, pair[::-1]]))
    said = f"columns differ by a factor of 31: if columns have different units, {advice}."
    assert small.verdict_.endswith(said)
    even = clone(model).fit(np.hstack([pair / 29, pair[::-1]]))
    for other in (clone(model).fit(pair), even):
        assert "scale=True" not in other.verdict_
    if "scale" in model.get_params():
        assert "scale=True" not in clone(model).set_params(scale=True).fit(frame).verdict_


@pytest.mark.parametrize(
    ("n_large", "n_small", "said"),
    [
        (3, 9, "3 columns, number 1, number 2 and number 3, together have 9"),
        (2, 6, "2 columns, number 1 and number 2, together have 9"),
        (2, 5, "differ by a factor of"),
        (4, 30, "differ by a factor of"),
    ],
)
def test_few_columns_with_nearly_all_of_the_variance_are_noticed(n_large, n_small, said):
    rows = np.random.default_rng(0).standard_normal((60, n_large + n_small))
    rows *= np.concatenate([np.linspace(12, 10, n_large), np.full(n_small, 0.3)])
    model = CorrectedCovariance(corrections=[], neighbours="line").fit(rows)
    assert f" {said}" in model.verdict_


def test_weights_count_in_the_scale():
    weights = np.arange(len(X)) % 3
    weighted = CorrectedPCA(3, scale=True).fit(X, sample_weight=weights)
    repeated = CorrectedPCA(3, scale=True).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.scale_, repeated.scale_)
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-8)


@pytest.mark.parametrize("scale", [True, False])
def test_a_model_file_has_the_scale(tmp_path, scale):
    model = CorrectedPCA(3, scale=scale).fit(X.astype(np.float32))
    save_model(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert (loaded.scale_ is not None) == scale
    assert model.transform(NEW.astype(np.float32)).dtype == (np.float32)
    np.testing.assert_array_equal(
        loaded.inverse_transform(loaded.transform(NEW)), model.inverse_transform(model.transform(NEW))
    )


def test_a_scaled_model_as_a_reference_is_in_the_units_of_the_data():
    others = CorrectedPCA(3, scale=True).fit(OTHERS)
    given = CorrectedPCA(3, borrowing=0.5, reference=others.get_covariance()).fit(X)
    found = CorrectedPCA(3, borrowing=0.5, reference=others).fit(X)
    np.testing.assert_allclose(found.components_, given.components_, atol=1e-8)
