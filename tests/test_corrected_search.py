"""CorrectedPCACV against the search by its definitions, in every container and with every kind of split."""

import re
import warnings
from functools import cache

import array_api_strict as xp
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit

from attenua import CorrectedCovariance, CorrectedPCA, CorrectedPCACV
from tests.helpers import assert_risks_close_enough, dealt_out_splits, in_turn, interleaved_splits, sine
from tests.literal import GRIDS, OWN_GRIDS, PCA, At, Search, line, smooth_rows

FEW = {
    "row_tempering": (0.0, 0.5),
    "tempering": (0.0, 0.5),
    "damping": (0.0, 0.25),
    "attenuation": (0.0, 0.6),
    "smoothing": (0.0, 2.0),
}


def strengths_of(choice):
    assert list(choice) == list(GRIDS)
    return At(**choice)


def agree(model, reference, close=1e-9):
    """Check everything that the search reports; close=None where subspaces of folds are iterated."""
    assert {step.correction: step.best for step in model.steps_ if step.best} == reference.chosen
    choices = [strengths_of(choice) for choice in model.choices_]
    assert set(choices) == set(reference.weights)
    weights = [reference.weights[choice] for choice in choices]
    np.testing.assert_allclose(model.choice_weights_, weights, rtol=1e-12)
    assert model.choice_weights_ == sorted(model.choice_weights_, reverse=True)
    candidates = [strengths_of(candidate) for candidate in model.candidates_]
    assert candidates[0] == PCA
    assert len(candidates) == len(reference.candidates)
    assert set(candidates) == set(reference.candidates)
    exact = np.column_stack([reference.reported_of(candidate) for candidate in candidates])
    pooled = np.average(model.cv_risk_folds_, axis=0, weights=reference.held)
    np.testing.assert_allclose(model.cv_risk_, pooled, rtol=1e-12)
    if close is None:
        assert_risks_close_enough(model.cv_risk_folds_, exact, reference.overlap)
    else:
        np.testing.assert_allclose(model.cv_risk_folds_, exact, rtol=close)
    steps = [step for step in model.steps_ if step.strengths]
    for step, expected in zip(steps, reference.steps, strict=True):
        same_step(step, expected, close)
    assert sine(model.components_, reference.components) <= (1e-6 if close is None else 100 * close)


def same_step(step, expected, close):
    found = {name: getattr(step, name) for name in ("correction", "strengths", "best")}
    assert found == {name: expected[name] for name in found}
    if close is None:
        off, of_risks = 0.1 * expected["standard_error"] + 1e-9, 1e-3
    else:
        off = of_risks = close
    np.testing.assert_allclose(step.risks, expected["risks"], rtol=of_risks)
    for name in ("gain", "standard_error"):
        np.testing.assert_allclose(getattr(step, name), expected[name], atol=off, rtol=0, err_msg=name)


@cache
def few_columns():
    """Data of 45 rows, and the search through them: the choices differ, and all corrections are chosen."""
    X = smooth_rows(45, 10, seed=3)
    return Search(X, interleaved_splits(45, 5), 2, GRIDS, line(10)).run()


def test_the_data_ask_for_several_corrections():
    reference = few_columns()
    assert len(reference.chosen) >= 2
    assert len(reference.weights) >= 5
    assert any(choice["damping"] for choice in reference.candidates)
    assert len(reference.ranks) == 4


def names_of(X):
    return [f"x{i}" for i in range(X.shape[1])]


def frame(X):
    return pd.DataFrame(X, columns=names_of(X))


def table(X):
    return pa.table(dict(zip(names_of(X), X.T, strict=True)))


def memory_map(X, folder):
    mapped = np.memmap(folder / "rows", dtype=float, mode="w+", shape=X.shape)
    mapped[:] = X
    return mapped


def uneven(X):
    return np.split(X, [7, 8, 20])


CONTAINERS = {
    "C order": lambda X, _: X,
    "Fortran order": lambda X, _: np.asfortranarray(X),
    "every second row of twice as many": lambda X, _: np.repeat(X, 2, axis=0)[::2],
    "list of lists": lambda X, _: X.tolist(),
    "memory map": memory_map,
    "csr": lambda X, _: sp.csr_array(X),
    "csc": lambda X, _: sp.csc_matrix(X),
    "pandas": lambda X, _: frame(X),
    "polars": lambda X, _: pl.DataFrame(X, schema=names_of(X)),
    "Arrow table": lambda X, _: table(X),
}
# The others differ in how rows come to the same array.
DISTINCT = ("C order", "csr")
# How rows are not in memory, and what they are called.
NOT_IN_MEMORY = {
    "batches": (uneven, "batches of rows (list)"),
    "iterator": (lambda X: iter(uneven(X)), "batches of rows (list_iterator)"),
    "Arrow reader": (lambda X: table(X).to_reader(), "batches of rows (RecordBatchReader)"),
    "Arrow dataset": (lambda X: ds.dataset(table(X)), "batches of rows (InMemoryDataset)"),
    "Dask array": (lambda X: da.from_array(X, chunks=(20, 10)), "a Dask collection"),
    "Dask data frame": (lambda X: dd.from_pandas(frame(X), npartitions=2), "a Dask collection"),
    "device": (
        lambda X: xp.asarray(X, device=xp.Device("device1")),
        "a array_api_strict array on device array_api_strict.Device('device1')",
    ),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_few_rows_in_any_container(container, tmp_path):
    reference = few_columns()
    model = CorrectedPCACV(2, neighbours="line")
    agree(model.fit(CONTAINERS[container](reference.X, tmp_path)), reference)


@pytest.mark.parametrize("container", NOT_IN_MEMORY)
@pytest.mark.parametrize(
    "model", [CorrectedPCACV(1, corrections=[]), CorrectedPCA(1), CorrectedCovariance(corrections=[])]
)
def test_rows_that_are_not_in_memory(model, container):
    make, called = NOT_IN_MEMORY[container]
    rows, model = make(few_columns().X), clone(model).fit(SMALL)
    before = joblib.hash(vars(model))
    who = type(model).__name__
    sentence = f"{who} takes rows in memory, as one array; X is {called}. The corrections are for few rows"
    for _ in range(2):  # an iterator is not read
        with pytest.raises(TypeError, match=f"^{re.escape(sentence)}.* AttenuatedPCA, AttenuatedPCACV and "):
            model.fit(rows)
    assert joblib.hash(vars(model)) == before


def test_row_tempering_of_many_rows_is_left_out():
    X = np.tile(smooth_rows(143, 4, seed=5), (7, 1))
    steps = CorrectedPCACV(2, corrections=["row_tempering"]).fit(X).steps_
    assert steps["row_tempering"].why.startswith("left out: it weighs all pairs of rows, of up to 1,000")
    assert CorrectedPCACV(2, corrections=["row_tempering"]).fit(X[:1000]).steps_["row_tempering"].strengths
    with pytest.raises(ValueError, match="row_tempering=1 cannot be used: it weighs all pairs of rows"):
        CorrectedPCA(2, row_tempering=1).fit(X)


@pytest.mark.parametrize(("rows", "columns", "rank", "most"), [(45, 10, 4, 8), (45, 5, 3, 4), (8, 10, 4, 5)])
def test_ranks_around_the_one_asked_for(rows, columns, rank, most):
    """Up to twice the rank, one less than the columns, and what the training rows span."""
    X = smooth_rows(rows, columns, seed=3)
    grids = {"tempering": (0.0, 0.25, 0.5), "attenuation": (0.0, 0.6)}
    reference = Search(X, interleaved_splits(rows, 5), rank, grids).run()
    assert len(reference.ranks) == most
    agree(CorrectedPCACV(rank, corrections=grids).fit(X), reference)


def test_pca_that_loses_nothing_stays():
    """Of rows in two directions, ranks below 2 lose more by PCA than by tempering; at 2 PCA loses nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 6)) * np.geomspace(1, 9, 6)
    grids = {"tempering": (0.0, 0.5, 1.0), "damping": (0.0, 0.5)}
    model = CorrectedPCACV(2, corrections=grids).fit(X)
    assert not any(step.best for step in model.steps_)
    assert Search(X, interleaved_splits(40, 5), 2, grids).run().chosen == {}


def test_blocks_of_too_many_rows_to_pair_are_not_paired():
    """Without a fifth, 1,100 rows are few enough for row tempering; the choice that is measured has none."""
    X = smooth_rows(1100, 4, seed=5)
    model = CorrectedCovariance(corrections=["row_tempering"], nested=True).fit(X)
    assert model.left_out_gain_ == 0


def test_ranks_that_few_different_rows_allow():
    """Six different rows span five directions, of which a training set may have four."""
    X = np.repeat(smooth_rows(6, 10, seed=3), 4, axis=0)
    groups = np.repeat(np.arange(6), 4)
    splits, grids = dealt_out_splits(groups, 3), {"damping": (0.0, 0.25), "tempering": (0.0, 0.5)}
    reference = Search(X, splits, 2, grids, groups=groups).run()
    assert len(reference.ranks) == 3
    agree(CorrectedPCACV(2, corrections=grids, cv=3).fit(X, groups=groups), reference)


@pytest.mark.slow
@pytest.mark.parametrize("as_container", [np.asarray, sp.csr_array])
def test_single_precision(as_container):
    """The risks are those of the rounded numbers, in double precision; what is fitted is rounded itself."""
    X = few_columns().X.astype(np.float32)
    reference = rounded()
    model = CorrectedPCACV(2, neighbours="line").fit(as_container(X))
    assert (model.components_.dtype, model.cv_risk_.dtype) == (np.float32, np.float64)
    model.components_ = model.components_.astype(float)
    agree(model, reference, close=1e-8)


@cache
def rounded():
    X = few_columns().X.astype(np.float32).astype(float)
    return Search(X, interleaved_splits(45, 5), 2, GRIDS, line(10)).run()


# --- splits -------------------------------------------------------------------------------------------------

SMALL = smooth_rows(20, 6, seed=4)
# At strength 4, six columns are left with one direction, and the cut after the second falls on a tie.
WEAK = OWN_GRIDS | {"smoothing": (0.0, 0.5, 1.0)}
ROWS = np.arange(20)
SPLITS = {
    "consecutive folds": KFold(4),
    "shuffled folds": KFold(3, shuffle=True, random_state=0),
    "overlapping splits": ShuffleSplit(4, test_size=0.3, random_state=0),
    "repeated folds": RepeatedKFold(n_splits=3, n_repeats=2, random_state=0),
    "leave one out": LeaveOneOut(),
    "one split": [(ROWS[:14], ROWS[14:])],
    "two splits": [(ROWS[:14], ROWS[14:]), (ROWS[6:], ROWS[:6])],
    "uneven splits": [(ROWS[:9], ROWS[9:]), (ROWS[4:], ROWS[:4]), (ROWS[1:], ROWS[:1])],
    "training rows twice": [
        ([*range(10), *range(5)], ROWS[12:]),
        (ROWS[5:], ROWS[:5]),
        (ROWS[::2], ROWS[1::2]),
    ],
}


@pytest.mark.parametrize("kind", SPLITS)
def test_any_splits(kind):
    cv = SPLITS[kind]
    splits = list(cv.split(SMALL)) if hasattr(cv, "split") else cv
    reference = Search(SMALL, splits, 2, WEAK, line(6)).run()
    model = CorrectedPCACV(2, corrections=WEAK, neighbours="line", cv=cv).fit(SMALL)
    agree(model, reference)
    # What a single split says has no standard error.
    assert all(np.isnan(step.standard_error) == (len(splits) == 1) for step in model.steps_)


def test_groups_of_rows():
    reference = few_columns()
    groups = np.arange(45) // 2
    for cv, splits in ((4, dealt_out_splits(groups, 4)), (GroupKFold(3), None)):
        splits = list(splits or cv.split(reference.X, groups=groups))
        expected = Search(reference.X, splits, 2, GRIDS, line(10), groups=groups).run()
        agree(CorrectedPCACV(2, neighbours="line", cv=cv).fit(reference.X, groups=groups), expected)


@pytest.mark.parametrize("neighbours", ["grid", "graph"])
def test_neighbours(neighbours):
    X = few_columns().X
    rng = np.random.default_rng(0)
    if neighbours == "grid":
        given, adjacency = (2, 5), np.kron(line(2), np.eye(5)) + np.kron(np.eye(2), line(5))
    else:
        adjacency = np.triu(rng.uniform(size=(10, 10)) * (rng.uniform(size=(10, 10)) < 0.4), 1)
        adjacency = adjacency + adjacency.T
        given = sp.csr_array(adjacency)
    reference = Search(X, interleaved_splits(45, 5), 2, GRIDS, adjacency).run()
    agree(CorrectedPCACV(2, neighbours=given).fit(X), reference)


# --- what to expect of new rows -----------------------------------------------------------------------------


def test_the_choice_is_made_again_without_every_fifth_of_the_rows():
    X = smooth_rows(45, 10, seed=7)
    search = Search(X, interleaved_splits(45, 5), 2, GRIDS, line(10))
    model = CorrectedPCACV(2, neighbours="line", nested=True, cv=3).fit(X)
    found = model.left_out_gain_, model.left_out_gain_error_
    np.testing.assert_allclose(found, search.nested_gain(), rtol=1e-8)
    plain = CorrectedPCACV(2, neighbours="line", cv=3).fit(X)
    assert np.isnan(plain.left_out_gain_)
    np.testing.assert_array_equal(plain.components_, model.components_)


def test_groups_stay_whole_when_the_choice_is_made_again():
    X, groups = smooth_rows(45, 10, seed=7), np.arange(45) % 9
    rows = np.argsort(groups, kind="stable")
    model = CorrectedPCACV(2, nested=True).fit(X[rows], groups=groups[rows])
    assert model.left_out_gain_ == pytest.approx(
        CorrectedPCACV(2, nested=True).fit(X, groups=groups).left_out_gain_
    )
    assert model.left_out_gain_ != pytest.approx(CorrectedPCACV(2, nested=True).fit(X).left_out_gain_)
    few = CorrectedPCACV(2, nested=True, cv=2).fit(X, groups=np.arange(45) % 2)
    assert np.isnan(few.left_out_gain_) or few.left_out_gain_ == 0


def test_rows_of_a_group_are_no_independent_witnesses():
    """Every row three times, in a group: the same gain, and an error of as many groups as there were rows."""
    X = smooth_rows(45, 10, seed=7)
    options = {"neighbours": "line", "nested": True, "corrections": {"smoothing": [0.8]}}
    once = CorrectedPCACV(2, **options).fit(X)
    groups = np.repeat(np.arange(45), 3)
    thrice = CorrectedPCACV(2, **options).fit(np.repeat(X, 3, axis=0), groups=groups)
    rows = CorrectedPCACV(2, **options).fit(np.repeat(X, 3, axis=0))
    assert thrice.left_out_gain_error_ == pytest.approx(once.left_out_gain_error_, rel=0.5)
    assert thrice.left_out_gain_error_ > 1.3 * rows.left_out_gain_error_


def test_nested_of_sparse_rows():
    X = smooth_rows(45, 10, seed=7)
    model = CorrectedPCACV(2, neighbours="line", nested=True)
    expected = model.fit(X).left_out_gain_
    assert model.fit(sp.csr_array(X)).left_out_gain_ == pytest.approx(expected, rel=1e-8)


# --- many columns, where subspaces are iterated ------------------------------------------------------------

MANY = {"summed": (60, 140), "few rows, summed": (30, 140), "kept": (24, 530)}


@cache
def many_columns(shape):
    X = smooth_rows(*MANY[shape], seed=2)
    n, p = X.shape
    return Search(X, interleaved_splits(n, 3), 2, FEW, line(p)).run()


@pytest.mark.parametrize(
    ("shape", "container"),
    [
        ("few rows, summed", "csr"),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in in_turn(MANY, DISTINCT)),
    ],
)
def test_many_columns_in_any_container(shape, container, tmp_path):
    reference = many_columns(shape)
    model = CorrectedPCACV(2, neighbours="line", corrections=FEW, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(CONTAINERS[container](reference.X, tmp_path))
    agree(model, reference, close=None)


def test_training_rows_twice_among_many_columns():
    X = many_columns("few rows, summed").X
    rows = np.arange(30)
    splits = [([*rows[:20], *rows[:9]], rows[20:]), (rows[10:], rows[:10]), (rows[::2], rows[1::2])]
    grids = {"row_tempering": (0.0, 0.5, 1.0), "attenuation": (0.0, 0.6)}
    reference = Search(X, splits, 2, grids).run()
    assert reference.chosen["row_tempering"] > 0
    agree(CorrectedPCACV(2, corrections=grids, cv=splits).fit(X), reference, close=None)
