"""Borrowing: moments of all kinds, with references of all kinds, against dense matrices; and fits with it."""

import pickle

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from attenua import CorrectedPCA, CorrectedPCACV, load_model, save_model
from attenua._correct import reference as module
from attenua._correct.borrowing import BorrowedRows, borrowed
from attenua._correct.columns import column_smoother
from attenua._correct.damping import damped
from attenua._correct.reference import as_reference
from attenua._correct.smoothing import smoothed
from attenua._correct.tempering import tempered
from attenua._data.dask_rows import _light
from attenua._data.row_moments import RowMoments
from attenua._solve.family import MatrixFamily
from attenua._solve.leading import leading_subspaces
from tests._correct.bases import BASES, WIDE, check_moments, kept, sparse_rows
from tests.helpers import (
    covariance,
    in_turn,
    interleaved_splits,
    leading,
    sine,
    spiked_rows,
    uneven_rows,
)
from tests.literal import GRIDS, Search


def references(p):
    """References that are formed, kept as rows, and kept as sparse rows."""
    rows, sparse = uneven_rows(30, p, seed=1), sparse_rows(30, p)
    formed = as_reference(rows, p)
    return {
        "formed": (formed, covariance(rows)),
        "rows": (with_rows(formed, rows), covariance(rows)),
        "sparse rows": (with_rows(formed, sparse), covariance(sparse.toarray())),
    }


def with_rows(reference, rows):
    return type(reference)(kept(rows))


@pytest.mark.parametrize(
    ("kind", "of_reference", "w"), in_turn(BASES, ["formed", "rows", "sparse rows"], [0.1, 0.6, 1.0], times=2)
)
def test_moments_of_any_kind(kind, of_reference, w):
    base = BASES[kind]()
    S, p = base.covariance, base.n_features
    reference, R = references(p)[of_reference]
    moments = borrowed(base, w, reference)
    T = np.trace(S) * ((1 - w) * S / np.trace(S) + w * R / np.trace(R))
    check_moments(moments, T, base.mean)
    np.testing.assert_allclose(moments.rough_variances, np.diag(T), rtol=1e-9, atol=1e-12)
    assert moments.forms_covariance == (base.forms_covariance or of_reference == "formed")
    assert (moments.weight, moments.unit) == (base.weight, base.unit)
    assert borrowed(base, 0.0, reference) is base


def test_the_size_of_the_reference_does_not_matter():
    base, rows = kept(WIDE), uneven_rows(30, 40, seed=1)
    one, other = (borrowed(base, 0.6, as_reference(rows * size, 40)).covariance for size in (1, 1e-80))
    np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12 * np.abs(one).max())


def test_a_column_varies_where_the_rows_or_the_reference_vary():
    X, others = uneven_rows(20, 6), uneven_rows(20, 6, seed=1)
    X[:, [0, 1]], others[:, [0, 2]] = 0.3, 0.7
    base, reference = kept(X), as_reference(others, 6)
    assert borrowed(base, 0.5, reference).varies.tolist() == [False, True, True, True, True, True]
    assert borrowed(base, 1.0, reference).varies.tolist() == [False, True, False, True, True, True]


def test_nothing_varies_where_the_rows_do_not():
    """The reference is scaled to the variance of the rows."""
    moments = borrowed(kept(np.ones((5, 3))), 0.5, as_reference(spiked_rows(9, 3), 3))
    assert not moments.varies.any()
    with pytest.warns(UserWarning, match="falls on a tie"):
        CorrectedPCA(1, borrowing=0.5, tempering=0.5, reference=spiked_rows(9, 3)).fit(np.ones((5, 3)))


@pytest.mark.parametrize(("sparse", "rank"), in_turn([False, True], [3, 20]))
def test_leading_subspaces_without_a_matrix(sparse, rank):
    X, others = uneven_rows(40, 530), uneven_rows(25, 530, seed=1)
    others = sp.csr_array(others) if sparse else others
    moments = borrowed(kept(X), 0.4, as_reference(others, 530))
    assert isinstance(moments, BorrowedRows)
    (subspace,) = leading_subspaces(MatrixFamily(moments, np.zeros(1)), rank)
    assert sine(subspace.basis.T, leading(moments.covariance, rank)) < 1e-6


@pytest.mark.parametrize("of_reference", ["formed", "rows"])
@pytest.mark.parametrize(
    "base", [kept, lambda rows: kept(rows).mixed(lambda: np.eye(9) / 2, 1.0)], ids=["plain", "mixed"]
)
def test_other_corrections_go_on_from_it(base, of_reference):
    """Products of what comes after are those of its matrix; rough variances of mixed rows are rough."""
    reference, _ = references(40)[of_reference]
    moments = borrowed(base(WIDE), 0.3, reference)
    T, V = moments.covariance, np.random.default_rng(0).standard_normal((40, 3))
    later = [
        tempered(moments, 0.5),
        damped(moments, 0.25),
        smoothed(moments, 0.8, column_smoother("line", 40)),
    ]
    for some in later:
        np.testing.assert_allclose(some.apply(V), some.covariance @ V, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(some.variances, np.diag(some.covariance), rtol=1e-8)
    g = np.diag(T) ** -0.25
    np.testing.assert_allclose(later[0].covariance, T * np.outer(g, g), rtol=1e-8, atol=1e-12)


# --- fits ---------------------------------------------------------------------------------------------------


def alike(n, p, seed=0):
    """Rows, and 60 others with the same leading directions."""
    return np.split(spiked_rows(n + 60, p, seed=seed), [n])


X, OTHERS = alike(20, 10)
NAMES = [f"x{i}" for i in range(10)]


def frame(rows, names=NAMES):
    return pd.DataFrame(rows, columns=names)


@pytest.mark.parametrize("wide", [False, True])
def test_the_search_by_its_definitions(wide):
    p = 530 if wide else 10
    rows, others = alike(24, p, seed=1)
    grids = {"borrowing": GRIDS["borrowing"], "tempering": (0.0, 0.5)}
    expected = Search(rows, interleaved_splits(24, 4), 2, grids, reference=others).run()
    model = CorrectedPCACV(2, corrections=grids, reference=others, cv=4).fit(rows)
    assert expected.chosen["borrowing"] > 0
    assert {step.correction: step.best for step in model.steps_ if step.best} == expected.chosen
    np.testing.assert_allclose(model.steps_["borrowing"].risks, expected.steps[0]["risks"], rtol=1e-5)
    assert sine(model.components_, expected.components) < 1e-4


def test_at_strength_1_the_subspace_is_that_of_the_reference():
    model = CorrectedPCA(3, borrowing=1, reference=OTHERS).fit(X)
    assert sine(model.components_, PCA(3).fit(OTHERS).components_) < 1e-9
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))


WAYS = {
    "array": lambda model: model.fit(X),
    "sparse": lambda model: model.fit(sp.csr_array(X)),
}


@pytest.mark.parametrize(
    "estimator", [CorrectedPCA(2), CorrectedPCACV(2)], ids=["CorrectedPCA", "CorrectedPCACV"]
)
@pytest.mark.parametrize("way", WAYS)
def test_rows_of_x_in_the_reference_are_refused(way, estimator):
    model = clone(estimator).set_params(reference=np.vstack([OTHERS, X[12:15]]))
    with pytest.raises(ValueError, match=r"rows? of X (is|are) in reference too, the first is row "):
        WAYS[way](model)
    WAYS[way](model.set_params(reference=OTHERS))


def test_workers_that_transform_are_not_sent_the_reference():
    model = CorrectedPCA(2, borrowing=0.5, reference=OTHERS).fit(X)
    lazy = model.transform(da.from_array(X, chunks=(7, 10)))
    assert _light(model).reference is None
    assert model.reference is OTHERS
    np.testing.assert_allclose(lazy.compute(), model.transform(X))


def test_names_must_match():
    swapped = [NAMES[1], NAMES[0], *NAMES[2:]]
    model = CorrectedPCACV(2, reference=frame(OTHERS, swapped))
    model.fit(X)  # without names there is nothing to compare
    with pytest.raises(
        ValueError, match="reference must have the columns of X in the same order; column 0 is"
    ):
        model.fit(frame(X))
    for given in (frame(OTHERS), PCA(3).fit(frame(OTHERS)), OTHERS):
        model.set_params(reference=given).fit(frame(X))
    with pytest.raises(ValueError, match="reference has 9 columns, but X has 10"):
        model.set_params(reference=OTHERS[:, 1:]).fit(X)


def test_clones_keep_a_fitted_reference():
    fitted = PCA(3).fit(OTHERS)
    model = CorrectedPCACV(2, reference=fitted)
    assert clone(model).reference is model.reference is model.get_params()["reference"] is fitted
    assert pickle.loads(pickle.dumps(model)).fit(X).choices_ == model.fit(X).choices_
    search = GridSearchCV(CorrectedPCA(2, reference=fitted), {"borrowing": [0.0, 0.5]}, cv=3).fit(X)
    assert search.best_params_["borrowing"] in (0.0, 0.5)


GIVEN = {
    "rows": lambda: OTHERS,
    "frame": lambda: frame(OTHERS),
    "sparse": lambda: sp.csr_array(OTHERS),
    "model": lambda: PCA(3).fit(OTHERS),
    "covariance": lambda: covariance(OTHERS),
}


@pytest.mark.parametrize("given", GIVEN)
def test_a_loaded_model_refits_to_the_same_without_the_rows(given, tmp_path):
    model = CorrectedPCACV(2, reference=GIVEN[given]()).fit(frame(X))
    assert model.steps_["borrowing"].weight > 0
    save_model(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert loaded.choices_ == model.choices_
    assert loaded.reference.shape == (10, 10)
    again = clone(loaded).fit(frame(X))
    assert again.choices_ == model.choices_
    assert sine(again.components_, model.components_) < 1e-9


def test_a_loaded_model_of_many_columns_refits_to_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_LARGEST_FORMED", 529)
    rows, others = alike(24, 530)
    model = CorrectedPCA(2, borrowing=0.6, reference=others).fit(rows)
    save_model(model, tmp_path / "model.safetensors")
    loaded = load_model(tmp_path / "model.safetensors")
    assert loaded.reference.shape == (2 * 59, 530)
    assert sine(loaded.fit(rows).components_, model.components_) < 1e-9


def test_no_matrix_of_all_columns_is_formed(monkeypatch):
    """Neither of the rows nor of the reference: 20,000 columns would take 3 GB."""
    monkeypatch.setattr(RowMoments, "covariance", property(lambda self: pytest.fail("S was formed")))
    rows, others = alike(12, 20_000)
    model = CorrectedPCACV(2, reference=others, cv=3, corrections=["borrowing", "tempering"]).fit(rows)
    assert model.steps_["borrowing"].strengths[:2] == (0.0, 0.1)
