"""CorrectedPCACV against the search by its definitions, in every container and with every kind of split."""

import warnings
from functools import cache

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GroupKFold, KFold, LeaveOneOut, RepeatedKFold, ShuffleSplit

from attenua import CorrectedPCACV
from attenua._data import reweighting
from attenua._data.folds import folds_by_group, make_splits
from tests.helpers import assert_risks_close_enough, dealt_out_splits, in_turn, interleaved_splits, sine
from tests.literal import GRIDS, OWN_GRIDS, PCA, At, Search, line, smooth_rows

FEW = {
    "row_tempering": (0.0, 0.5),
    "tempering": (0.0, 0.5),
    "damping": (0.0, 0.25),
    "attenuation": (0.0, 0.6),
    "smoothing": (0.0, 2.0),
}
WITHOUT_ROWS = {name: grid for name, grid in OWN_GRIDS.items() if name != "row_tempering"}


def strengths_of(choice):
    assert list(choice) == list(GRIDS)
    return At(**choice)


def agree(model, reference, close=1e-9):
    """Check everything that the search reports; close=None where subspaces of folds are iterated."""
    assert strengths_of(model.corrections_) == reference.chosen
    choices = [strengths_of(choice) for choice in model.choices_]
    assert set(choices) == set(reference.weights)
    weights = [reference.weights[choice] for choice in choices]
    np.testing.assert_allclose(model.choice_weights_, weights, rtol=1e-12)
    assert model.choice_weights_ == sorted(model.choice_weights_, reverse=True)
    candidates = [strengths_of(candidate) for candidate in model.candidates_]
    assert candidates[0] == PCA
    assert len(candidates) == len(reference.candidates)
    assert set(candidates) == set(reference.candidates)
    exact = np.column_stack([reference.risk_of(candidate) for candidate in candidates])
    pooled = np.average(model.cv_risk_folds_, axis=0, weights=reference.held)
    np.testing.assert_allclose(model.cv_risk_, pooled, rtol=1e-12)
    if close is None:
        assert_risks_close_enough(model.cv_risk_folds_, exact, reference.overlap)
    else:
        np.testing.assert_allclose(model.cv_risk_folds_, exact, rtol=close)
    steps = [step for step in model.steps_ if step.strengths]
    for step, expected in zip(steps, reference.steps, strict=True):
        same_step(step, expected, close)
    # Gains are parts of PCA's risk; iterated ones are off by less than the splits can tell apart.
    off = 0.1 * max(step["standard_error"] for step in reference.steps) if close is None else close
    assert model.gain_ == pytest.approx(reference.gain, abs=off)
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
def few_columns(pca_share=0.0, few_rows=True, by_rows=None):
    """Data of 45 rows, and the search through them: the choices differ, and all corrections are chosen."""
    X = smooth_rows(45, 10, seed=3)
    grids = WITHOUT_ROWS if by_rows is False else GRIDS
    splits = interleaved_splits(45, 5)
    return Search(X, splits, 2, grids, pca_share, line(10), has_few_rows=few_rows, by_rows=by_rows).run()


def test_the_data_ask_for_several_corrections():
    pairs = few_columns()
    assert len(pairs.chosen) >= 2
    assert len(pairs.weights) >= 5
    assert any(choice["damping"] for choice in pairs.candidates)
    rows = few_columns(few_rows=False)
    assert rows.chosen["row_tempering"] > 0
    assert few_columns(pca_share=0.15).weights[PCA] > 0.15


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


def dask_array(X):
    return da.from_array(X, chunks=((7, 1, 12, len(X) - 20), (X.shape[1],)))


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
    "batches": lambda X, _: uneven(X),
    "sparse batches": lambda X, _: [sp.csr_array(batch) for batch in uneven(X)],
    "Arrow table": lambda X, _: table(X),
    "Arrow dataset": lambda X, _: ds.dataset([table(batch) for batch in uneven(X)]),
    "Dask array": lambda X, _: dask_array(X),
    "Dask data frame": lambda X, _: dd.from_pandas(frame(X), npartitions=4),
    "sparse Dask blocks": lambda X, _: dask_array(X).map_blocks(sp.csr_matrix, meta=sp.csr_matrix((0, 0))),
}


# One container of every kind; the others differ in how rows come to the same array.
DISTINCT = ("C order", "csr", "batches", "sparse batches", "Dask array", "sparse Dask blocks")


@pytest.mark.parametrize("container", CONTAINERS)
def test_few_rows_in_any_container(container, tmp_path):
    reference = few_columns()
    model = CorrectedPCACV(2, neighbours="line", pca_share=0)
    agree(model.fit(CONTAINERS[container](reference.X, tmp_path)), reference)
    assert model.folds_ == "row i is held out in fold i % cv"


@pytest.mark.parametrize("container", DISTINCT)
def test_the_pca_share_in_any_container(container, tmp_path):
    reference = few_columns(pca_share=0.15)
    model = CorrectedPCACV(2, neighbours="line")
    agree(model.fit(CONTAINERS[container](reference.X, tmp_path)), reference)


@pytest.mark.slow
@pytest.mark.parametrize("container", DISTINCT)
def test_many_rows_in_any_container(container, tmp_path, monkeypatch):
    """Rows are weighed instead of pairs, and strengths are compared up to the first that is worse."""
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 44)
    reference = few_columns(few_rows=False)
    model = CorrectedPCACV(2, neighbours="line", pca_share=0)
    agree(model.fit(CONTAINERS[container](reference.X, tmp_path)), reference)


def test_strengths_up_to_the_first_that_is_worse(monkeypatch):
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 44)
    X = smooth_rows(45, 10, seed=7)
    reference = Search(X, interleaved_splits(45, 5), 2, GRIDS, 0.0, line(10), has_few_rows=False).run()
    assert reference.steps[0]["strengths"] == (0.0, 0.5, 0.8, 1.2, 2.0)
    agree(CorrectedPCACV(2, neighbours="line", pca_share=0).fit(X), reference)


ONCE = {
    "generator": lambda X: iter(uneven(X)),
    "Arrow reader": lambda X: table(X).to_reader(max_chunksize=11),
}


@pytest.mark.parametrize("container", ONCE)
def test_rows_that_can_be_read_once_are_not_tempered(container):
    reference = few_columns(by_rows=False)
    with pytest.warns(UserWarning, match="row_tempering is left out") as said:
        model = CorrectedPCACV(2, neighbours="line", pca_share=0).fit(ONCE[container](reference.X))
    assert len(said) == 1
    assert said[0].filename == __file__
    step = model.steps_["row_tempering"]
    assert (step.correction, step.strengths, step.weight) == ("row_tempering", (), 0.0)
    assert step.why.startswith("left out: it reads the rows again, and they came from an iterator")
    agree(model, reference)


def test_batches_one_by_one_are_not_tempered():
    reference = few_columns(by_rows=False)
    model = CorrectedPCACV(2, neighbours="line", pca_share=0)
    for batch in uneven(reference.X):
        model.partial_fit(batch)
    with pytest.warns(UserWarning, match="row_tempering is left out") as said:
        assert model.steps_["row_tempering"].why.startswith("left out")
    assert len(said) == 1
    agree(model, reference)
    quiet = CorrectedPCACV(2, neighbours="line", pca_share=0, corrections=list(WITHOUT_ROWS))
    agree(quiet.partial_fit(reference.X), reference)


@pytest.mark.parametrize("container", ["list of batches", "dask"])
def test_no_row_tempering_to_compare(container, monkeypatch):
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 10)
    X = smooth_rows(45, 10, seed=3)
    rows = [X[:20], X[20:]] if container == "list of batches" else da.from_array(X, chunks=(20, 10))
    model = CorrectedPCACV(2, corrections={"row_tempering": [0.0]}).fit(rows)
    (step,) = model.steps_
    assert (step.strengths, step.weight) == ((0.0,), 0.0)


def test_batches_that_can_be_read_once_under_another_name(monkeypatch):
    """What says that it can be read again, but is empty then, is found out."""

    class Once:
        def __init__(self, batches):
            self._batches = iter(batches)

        def __iter__(self):
            return self._batches

    X = smooth_rows(45, 10, seed=3)
    with pytest.raises(ValueError, match="X gave 45 rows when it was first read and 0 after that"):
        CorrectedPCACV(2).fit(Once(uneven(X)))
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 44)
    with pytest.raises(ValueError, match="X gave 45 rows when it was first read and 0 after that"):
        CorrectedPCACV(2).fit(Once(uneven(X)))


@pytest.mark.slow
@pytest.mark.parametrize("as_container", [np.asarray, sp.csr_array, uneven, dask_array])
def test_single_precision(as_container):
    """The risks are those of the rounded numbers, in double precision; what is fitted is rounded itself."""
    X = few_columns().X.astype(np.float32)
    reference = rounded()
    model = CorrectedPCACV(2, neighbours="line", pca_share=0).fit(as_container(X))
    assert (model.components_.dtype, model.cv_risk_.dtype) == (np.float32, np.float64)
    model.components_ = model.components_.astype(float)
    agree(model, reference, close=1e-8)


@cache
def rounded():
    X = few_columns().X.astype(np.float32).astype(float)
    return Search(X, interleaved_splits(45, 5), 2, GRIDS, 0.0, line(10)).run()


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


@pytest.mark.parametrize(("kind", "few_rows"), in_turn(SPLITS, [True, False]))
def test_any_splits(kind, few_rows, monkeypatch):
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 20 if few_rows else 19)
    cv = SPLITS[kind]
    splits = list(cv.split(SMALL)) if hasattr(cv, "split") else cv
    reference = Search(SMALL, splits, 2, WEAK, 0.5, line(6), has_few_rows=few_rows).run()
    model = CorrectedPCACV(2, corrections=WEAK, neighbours="line", pca_share=0.5, cv=cv).fit(SMALL)
    agree(model, reference)
    # What a single split says has no standard error.
    assert all(np.isnan(step.standard_error) == (len(splits) == 1) for step in model.steps_)


def test_repetitions():
    splits = make_splits(3, 20, n_repeats=2, random_state=7)
    reference = Search(SMALL, splits, 2, WEAK, 0.5, line(6)).run()
    model = CorrectedPCACV(
        2, corrections=WEAK, neighbours="line", pca_share=0.5, cv=3, n_repeats=2, random_state=7
    ).fit(SMALL)
    agree(model, reference)


def test_groups_of_rows():
    reference = few_columns()
    groups = np.arange(45) // 2
    for cv, splits in ((4, dealt_out_splits(groups, 4)), (GroupKFold(3), None)):
        splits = list(splits or cv.split(reference.X, groups=groups))
        expected = Search(reference.X, splits, 2, GRIDS, 0.0, line(10), groups=groups).run()
        agree(
            CorrectedPCACV(2, neighbours="line", pca_share=0, cv=cv).fit(reference.X, groups=groups), expected
        )


GROUPED = {
    "batches": lambda X, groups: (uneven(X), groups),
    "batches of labels": lambda X, groups: (uneven(X), uneven(groups)),
    "Arrow column": lambda X, groups: (ds.dataset(table(X).append_column("subject", [groups])), "subject"),
    "Dask array": lambda X, groups: (dask_array(X), groups),
    "Dask column": lambda X, groups: (dd.from_pandas(frame(X).assign(g=groups), npartitions=3), "g"),
}


@pytest.mark.parametrize(("container", "few_rows"), in_turn(GROUPED, [True, False]))
def test_groups_of_rows_in_streams(container, few_rows, monkeypatch):
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 45 if few_rows else 44)
    model = CorrectedPCACV(2, neighbours="line", pca_share=0, cv=3)
    X, groups = GROUPED[container](few_columns().X, GROUPS)
    agree(model.fit(X, groups=groups), grouped(few_rows))
    assert model.folds_.startswith("a hash of the group's label")


@pytest.mark.parametrize("few_rows", [True, False])
def test_row_tempering_of_streams_with_groups(few_rows, monkeypatch):
    """The folds follow the groups, though a group is in several batches, and lengths are of training rows."""
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 45 if few_rows else 44)
    X, groups = few_columns().X, np.arange(45) % 9
    folds = folds_by_group(groups, 3)
    splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(3)]
    grids = {"row_tempering": (0.0, 0.5, 1.0)}
    reference = Search(X, splits, 2, grids, 0.0, has_few_rows=few_rows, groups=groups).run()
    assert reference.chosen["row_tempering"] > 0
    model = CorrectedPCACV(2, corrections=grids, pca_share=0, cv=3)
    agree(model.fit(uneven(X), groups=uneven(groups)), reference)


GROUPS = np.arange(45) // 2


@cache
def grouped(few_rows):
    folds = folds_by_group(GROUPS, 3)
    splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(3)]
    X = few_columns().X
    return Search(X, splits, 2, GRIDS, 0.0, line(10), has_few_rows=few_rows, groups=GROUPS).run()


def test_groups_of_columns():
    X, labels = smooth_rows(45, 10, seed=1), np.arange(10) // 3
    splits = interleaved_splits(45, 5)
    reference = Search(X, splits, 2, GRIDS, 0.0, line(10), labels).run()
    assert len({choice["attenuation"] for choice in reference.weights}) > 1
    agree(CorrectedPCACV(2, neighbours="line", pca_share=0, feature_groups=labels).fit(X), reference)


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
    reference = Search(X, interleaved_splits(45, 5), 2, GRIDS, 0.0, adjacency).run()
    agree(CorrectedPCACV(2, neighbours=given, pca_share=0).fit(X), reference)


# --- what to expect of new rows -----------------------------------------------------------------------------


@pytest.mark.parametrize("few_rows", [True, False])
def test_the_choice_is_made_again_without_every_fifth_of_the_rows(few_rows, monkeypatch):
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 45 if few_rows else 10)
    X = smooth_rows(45, 10, seed=7)
    search = Search(X, interleaved_splits(45, 5), 2, GRIDS, 0.15, line(10), has_few_rows=few_rows)
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


@pytest.mark.parametrize("container", ["batches", "Dask array", "csr"])
def test_nested_in_other_containers(container, tmp_path):
    X = smooth_rows(45, 10, seed=7)
    model = CorrectedPCACV(2, neighbours="line", nested=True)
    expected = model.fit(X).left_out_gain_
    assert model.fit(CONTAINERS[container](X, tmp_path)).left_out_gain_ == pytest.approx(expected, rel=1e-8)


def test_nested_needs_the_rows(monkeypatch):
    X = smooth_rows(45, 10, seed=7)
    with pytest.raises(ValueError, match="nested=True makes the choice again"):
        CorrectedPCACV(2, nested=True).fit(iter(uneven(X)))
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", 10)
    with pytest.raises(ValueError, match="nested=True makes the choice again"):
        CorrectedPCACV(2, nested=True).fit(uneven(X))


# --- many columns, where subspaces are iterated ------------------------------------------------------------

MANY = {"summed": (60, 140), "few rows, summed": (30, 140), "kept": (24, 530)}


@cache
def many_columns(shape, few_rows=True):
    X = smooth_rows(*MANY[shape], seed=2)
    n, p = X.shape
    return Search(X, interleaved_splits(n, 3), 2, FEW, 0.15, line(p), has_few_rows=few_rows).run()


@pytest.mark.parametrize(
    ("shape", "container", "few_rows"),
    [
        ("few rows, summed", "csr", True),
        *(pytest.param(*case, marks=pytest.mark.slow) for case in in_turn(MANY, DISTINCT, [True, False])),
    ],
)
def test_many_columns_in_any_container(shape, container, few_rows, tmp_path, monkeypatch):
    n, _ = MANY[shape]
    monkeypatch.setattr(reweighting, "MOST_PAIRED_ROWS", n if few_rows else n - 1)
    reference = many_columns(shape, few_rows)
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
    reference = Search(X, splits, 2, grids, 0.0).run()
    assert reference.chosen["row_tempering"] > 0
    agree(CorrectedPCACV(2, corrections=grids, pca_share=0, cv=splits).fit(X), reference, close=None)


def test_labels_of_batches_may_be_numbers_and_texts():
    """A number and its text are two labels, and stay so when the batches are joined."""
    X = few_columns().X
    labels = [np.arange(20) // 2, np.array([str(i // 2) for i in range(25)])]
    folds = np.concatenate([folds_by_group(some, 2) for some in labels])
    splits = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(2)]
    groups = [label for some in labels for label in some.tolist()]
    reference = Search(X, splits, 2, {"row_tempering": GRIDS["row_tempering"]}, 0.0, groups=groups).run()
    model = CorrectedPCACV(2, corrections=["row_tempering"], pca_share=0, cv=2)
    agree(model.fit([X[:20], X[20:]], groups=labels), reference)
