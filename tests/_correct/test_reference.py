"""What may be given as a reference: the covariance that comes out of it, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA, FactorAnalysis, TruncatedSVD

from attenua import AttenuatedPCA, CorrectedPCA
from attenua._correct import reference as module
from attenua._correct.reference import Reference, as_reference, reference_rows, stored_reference
from tests.helpers import covariance, uneven_rows

P = 8
ROWS = uneven_rows(30, P) + 40.0
WIDE = uneven_rows(12, 700)
NAMES = [f"x{i}" for i in range(P)]


def trace_one(S):
    return S / np.trace(S)


def found(value, p=P):
    return as_reference(value, p).matrix


FORMS = {
    "array": lambda rows: rows,
    "lists": lambda rows: rows.tolist(),
    "float32": np.float32,
    "sparse": sp.csr_array,
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "Arrow": lambda rows: pa.table(dict(zip(NAMES, rows.T, strict=True))),
    "a column called fit": lambda rows: pd.DataFrame(rows, columns=["fit", *NAMES[1:]]),
    "columns without names": pd.DataFrame,
    "huge": lambda rows: rows * 1e150,
    "tiny": lambda rows: rows * 1e-150,
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_count_with_their_covariance(form):
    rows = FORMS[form](ROWS)
    np.testing.assert_allclose(found(rows), trace_one(covariance(ROWS)), rtol=2e-4, atol=1e-5)
    if form != "float32":
        np.testing.assert_allclose(found(rows), trace_one(covariance(ROWS)), rtol=1e-9, atol=1e-14)
    names = as_reference(rows, P).names
    assert (names is not None) == (form in ("pandas", "polars", "Arrow", "a column called fit"))
    assert names is None or names[1:] == NAMES[1:]
    assert len(reference_rows(rows).digests) == len(ROWS)


MODELS = {
    "PCA": lambda: PCA(3).fit(ROWS),
    "CorrectedPCA": lambda: CorrectedPCA(3).fit(ROWS),
    "AttenuatedPCA, whitened": lambda: AttenuatedPCA(3, whiten=True).fit(ROWS),
}


@pytest.mark.parametrize("kind", MODELS)
def test_models_of_components_count_with_the_covariance_of_probabilistic_pca(kind):
    expected = trace_one(PCA(3).fit(ROWS).get_covariance())
    np.testing.assert_allclose(found(MODELS[kind]()), expected, rtol=1e-9, atol=1e-12)
    assert reference_rows(MODELS[kind]()) is None


def test_models_of_a_covariance():
    model = LedoitWolf().fit(ROWS)
    np.testing.assert_allclose(found(model), trace_one(model.covariance_), rtol=1e-12)
    model = FactorAnalysis(2).fit(ROWS)
    np.testing.assert_allclose(found(model), trace_one(model.get_covariance()), rtol=1e-9, atol=1e-12)
    assert as_reference(PCA(2).fit(pd.DataFrame(ROWS, columns=NAMES)), P).names == NAMES


def test_a_covariance_matrix():
    S = covariance(ROWS)
    for given in (S, 1e300 * S, pd.DataFrame(S, columns=NAMES), S.tolist()):
        np.testing.assert_allclose(found(given), trace_one(S), rtol=1e-12)
        assert reference_rows(given) is None
    np.testing.assert_array_equal(found(np.eye(P, dtype=bool)), np.eye(P) / P)
    # As many rows as columns are rows, unless they are symmetric.
    np.testing.assert_allclose(found(ROWS[:P]), trace_one(covariance(ROWS[:P])), rtol=1e-9, atol=1e-14)
    assert len(reference_rows(ROWS[:P]).digests) == P


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_few_rows_are_kept(form):
    reference = as_reference(form(WIDE), 700)
    assert reference.keeps_rows
    np.testing.assert_allclose(reference.matrix, trace_one(covariance(WIDE)), rtol=1e-8, atol=1e-12)


def test_a_model_of_many_columns_forms_no_matrix(monkeypatch):
    monkeypatch.setattr(module, "_LARGEST_FORMED", 699)
    model = PCA(3).fit(WIDE)
    reference = as_reference(model, 700)
    assert reference.keeps_rows
    expected = (model.components_.T * model.explained_variance_) @ model.components_
    np.testing.assert_allclose(reference.matrix, trace_one(expected), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("largest", [699, 700])
def test_what_is_stored_is_the_same_reference_without_its_rows(largest, monkeypatch):
    monkeypatch.setattr(module, "_LARGEST_FORMED", largest)
    for given in (WIDE, sp.csr_array(WIDE), PCA(4).fit(WIDE)):
        stored = stored_reference(given, 700)
        assert stored.shape == (700, 700) if largest == 700 else stored.shape[0] <= 2 * len(WIDE)
        np.testing.assert_allclose(found(stored, 700), found(given, 700), rtol=1e-8, atol=1e-11)
        lengths = np.linalg.norm(stored, axis=1)
        alike = np.abs(stored @ WIDE.T) / np.outer(
            np.where(lengths > 0, lengths, 1), np.linalg.norm(WIDE, axis=1)
        )
        assert alike.max() < 0.999


BAD = {
    "columns": (ROWS[:, :5], "reference has 5 columns, but X has 8"),
    "a model's columns": (PCA(2).fit(ROWS[:, :5]), "reference has 5 columns, but X has 8"),
    "a covariance's columns": (LedoitWolf().fit(ROWS[:, :5]), "reference has 5 columns, but X has 8"),
    "not fitted": (PCA(2), "this PCA is not fitted, or has no covariance"),
    "no covariance": (TruncatedSVD(2).fit(ROWS), "this TruncatedSVD is not fitted, or has no covariance"),
    "constant": (np.ones((5, P)), "reference must vary"),
    "zero": (np.zeros((P, P)), "reference must vary"),
    "NaN": (np.where(np.eye(30, P) > 0, np.nan, ROWS), "reference contains NaN in column 0"),
    "text": (pd.DataFrame({"a": ["x", "y"], "b": [1, 2]}), "reference has a column with values that are not"),
    "one row": (ROWS[:1], "minimum of 2 is required"),
    "flat": (ROWS[0], "Expected 2D array"),
    "negative": (np.eye(P) - 0.5 * np.ones((P, P)), "has a negative eigenvalue: "),
    "without a positive one": (-np.eye(P), "eigenvalue: -1 times the largest in size"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_refused(kind):
    value, message = BAD[kind]
    with pytest.raises(ValueError, match=message):
        as_reference(value, P)


@pytest.mark.parametrize("value", ["others.csv", 3, iter([ROWS])], ids=["text", "number", "iterator"])
def test_what_is_no_reference(value):
    with pytest.raises(
        ValueError, match=r"^reference must be other rows with the columns of X, a fitted model"
    ):
        as_reference(value, P)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", "b", "d"], "must have the columns of X; 'c' is missing and 'd' is not in X"),
        (["a", "c", "b"], "must have the columns of X in the same order; column 1 is 'c' there and 'b' in X"),
        (["a", "b", "c"], None),
        (None, None),
    ],
)
def test_names_of_columns(names, message):
    reference = Reference(as_reference(ROWS[:, :3], 3).moments, names)
    reference.check_names(None)
    if message is None:
        reference.check_names(np.array(["a", "b", "c"], dtype=object))
    else:
        with pytest.raises(ValueError, match=f"^reference {message}"):
            reference.check_names(np.array(["a", "b", "c"], dtype=object))
