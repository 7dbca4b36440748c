"""Missing cells in the estimators: fit, transform, score and impute, in every container."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupShuffleSplit, KFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedCovariance,
    CorrectedPCA,
    CorrectedPCACV,
    attenuation_path,
    load_model,
    save_model,
)
from attenua._data.missing import PartialRows
from tests.helpers import interleaved_splits, leading
from tests.literal import conditional, holed_rows, loss_of_seen

NAMES = list("abcdefg")
WHOLE, HOLES = holed_rows(40, 7, 0.15)
FRAME = pd.DataFrame(HOLES, columns=NAMES)
MISSING = np.isnan(HOLES)
PCAS = [AttenuatedPCA(2, alpha=0.3), AttenuatedPCACV(2), CorrectedPCA(2, damping=0.5), CorrectedPCACV(2)]
ALL = [*PCAS, CorrectedCovariance()]
every_pca = pytest.mark.parametrize("model", PCAS, ids=lambda model: type(model).__name__)
every_model = pytest.mark.parametrize("model", ALL, ids=lambda model: type(model).__name__)

CONTAINERS = {
    "pandas": FRAME,
    "nullable": FRAME.convert_dtypes(),
    "polars": pl.from_pandas(FRAME, nan_to_null=False),
    "nulls of polars": pl.from_pandas(FRAME),
    "arrow": pa.table({name: pa.array(column, from_pandas=True) for name, column in FRAME.items()}),
    "sparse": sp.csr_matrix(HOLES),
    "sparse array by columns": sp.csc_array(HOLES),
    "masked": np.ma.masked_invalid(HOLES),
    "objects": np.where(MISSING & (np.arange(7) > 3), pd.NA, HOLES.astype(object)),
    "lists": HOLES.tolist(),
}


def fitted_matrix(model):
    return model.covariance_ if hasattr(model, "covariance_") else model.components_


@every_model
@pytest.mark.parametrize("kind", CONTAINERS)
def test_every_container_gives_the_same(model, kind):
    expected, found = clone(model).fit(HOLES), clone(model).fit(CONTAINERS[kind])
    np.testing.assert_allclose(fitted_matrix(found), fitted_matrix(expected), atol=1e-8)
    np.testing.assert_allclose(
        found.score_samples(CONTAINERS[kind]), expected.score_samples(HOLES), rtol=1e-6, atol=1e-8
    )
    filled = found.impute(CONTAINERS[kind])
    filled = filled.toarray() if sp.issparse(filled) else np.asarray(filled, dtype=float)
    np.testing.assert_allclose(filled, expected.impute(HOLES), rtol=1e-6)


@every_model
def test_memory_maps_and_float32(model, tmp_path):
    np.save(tmp_path / "rows.npy", HOLES)
    mapped = clone(model).fit(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    np.testing.assert_allclose(fitted_matrix(mapped), fitted_matrix(clone(model).fit(HOLES)), atol=1e-12)
    single = clone(model).fit(HOLES.astype(np.float32))
    np.testing.assert_allclose(fitted_matrix(single), fitted_matrix(mapped), atol=1e-4)
    assert single.impute(HOLES.astype(np.float32)).dtype == np.float32
    if hasattr(single, "components_"):
        assert single.components_.dtype == single.transform(HOLES.astype(np.float32)).dtype == np.float32


@every_model
def test_rows_without_missing_cells_are_not_completed(model, monkeypatch):
    monkeypatch.setattr(PartialRows, "complete", None)
    clone(model).fit(WHOLE)


@every_pca
def test_one_missing_cell_changes_little(model):
    X = WHOLE.copy()
    X[3, 2] = np.nan
    found, expected = (clone(model).fit(rows).get_covariance() for rows in (X, WHOLE))
    assert 0 < np.linalg.norm(found - expected) < 0.05 * np.linalg.norm(expected)


def test_risks_are_those_of_the_definition():
    alphas = [0.0, 0.4, 1.0]
    model = AttenuatedPCACV(2, alphas=alphas, cv=4).fit(HOLES)
    for k, (training, held_out) in enumerate(interleaved_splits(40, 4)):
        own = PartialRows(HOLES[training])
        moments = own.complete().moments(own.unit, forms_scatter=True)
        for a, alpha in enumerate(alphas):
            U = leading(moments.covariance - alpha * np.diag(moments.variances), 2).T
            losses = [loss_of_seen(HOLES[i] - moments.mean, U) for i in held_out]
            assert model.cv_risk_folds_[k, a] == pytest.approx(np.mean(losses), rel=1e-6)


def test_likelihoods_are_those_of_the_seen_cells():
    model = CorrectedCovariance(corrections=["decoupling"], cv=4).fit(HOLES)
    strengths = [candidate["decoupling"] for candidate in model.candidates_]
    for k, (training, held_out) in enumerate(interleaved_splits(40, 4)):
        own = PartialRows(HOLES[training])
        completion = own.complete()
        moments = completion.moments(own.unit, forms_scatter=True)
        S, n = moments.covariance, len(training)
        lengths = np.sum((completion.rows - moments.mean) ** 2, axis=1) + completion.traces
        structure = np.sum(S**2) - np.trace(S) ** 2 / 7
        part = (np.sum(lengths**2) / n - np.sum(S**2)) / (n * structure)
        for c, strength in enumerate(strengths):
            decoupled = (1 - strength) * S + strength * np.diag(np.diag(S))
            Sigma = (1 - part) * decoupled + part * np.trace(S) / 7 * np.eye(7)
            losses = []
            for i in held_out:
                seen = ~MISSING[i]
                own_part, z = Sigma[np.ix_(seen, seen)], (HOLES[i] - moments.mean)[seen]
                log_det = np.linalg.slogdet(2 * np.pi * own_part)[1]
                losses.append((log_det + z @ np.linalg.solve(own_part, z)) / 2)
            assert model.cv_risk_folds_[k, c] == pytest.approx(np.mean(losses), rel=1e-6)


@every_pca
def test_transform_projects_the_row_that_the_model_completes(model):
    model = clone(model).fit(HOLES)
    Sigma = model.get_covariance()
    scores, errors = model.transform(HOLES), model.reconstruction_error(HOLES)
    for i, row in enumerate(HOLES):
        filled = row.copy()
        filled[MISSING[i]] = conditional(Sigma, model.mean_, row)[0]
        expected = model.components_ @ (filled - model.mean_)
        np.testing.assert_allclose(scores[i], expected, atol=1e-9)
        rebuilt = model.mean_ + expected @ model.components_
        assert errors[i] == pytest.approx(np.sum((row - rebuilt)[~MISSING[i]] ** 2))
    whole = ~MISSING.any(axis=1)
    np.testing.assert_array_equal(scores[whole], model.transform(HOLES[whole]))


def test_transform_of_a_model_without_noise():
    model = CorrectedPCA().fit(WHOLE)
    assert model.noise_variance_ == 0
    rebuilt = model.inverse_transform(model.transform(HOLES))
    np.testing.assert_allclose(rebuilt[~MISSING], HOLES[~MISSING], atol=1e-6)


def test_cells_are_filled_with_their_conditional_mean_and_deviation():
    model = CorrectedCovariance().fit(HOLES)
    filled, std = model.impute(HOLES, return_std=True)
    for i, row in enumerate(HOLES):
        mean, left = conditional(model.covariance_, model.location_, row)
        np.testing.assert_allclose(filled[i, MISSING[i]], mean, atol=1e-9)
        np.testing.assert_allclose(std[i, MISSING[i]], np.sqrt(np.diag(left)), atol=1e-9)
    np.testing.assert_array_equal(filled[~MISSING], HOLES[~MISSING])
    np.testing.assert_array_equal(std[~MISSING], 0)


@every_model
def test_draws_have_the_law_of_the_missing_cells_given_the_seen_ones(model):
    model = clone(model).fit(HOLES)
    law = model if isinstance(model, CorrectedCovariance) else CorrectedCovariance().fit(HOLES)
    draws, std = model.impute(HOLES, n_draws=4_000, random_state=0, return_std=True)
    assert (draws[:, ~MISSING] == HOLES[~MISSING]).all()
    np.testing.assert_array_equal(draws, model.impute(HOLES, n_draws=4_000, random_state=0))
    errors = np.abs(draws.mean(axis=0) - model.impute(HOLES))[MISSING] / std[MISSING]
    assert errors.max() < 4 / np.sqrt(4_000)
    np.testing.assert_allclose(draws.std(axis=0)[MISSING], std[MISSING], rtol=0.06)
    for i in np.flatnonzero(MISSING.sum(axis=1) > 1):
        left = conditional(law.covariance_, law.location_, HOLES[i])[1]
        unit = np.sqrt(np.outer(np.diag(left), np.diag(left)))
        np.testing.assert_allclose(np.corrcoef(draws[:, i, MISSING[i]].T), left / unit, atol=0.08)


def test_draws_of_frames_are_frames():
    expected = CorrectedCovariance().fit(HOLES).impute(HOLES, n_draws=2, random_state=1)
    for kind in ("pandas", "polars", "arrow", "sparse"):
        drawn = (
            CorrectedCovariance().fit(CONTAINERS[kind]).impute(CONTAINERS[kind], n_draws=2, random_state=1)
        )
        assert [type(each) for each in drawn] == [type(CONTAINERS[kind])] * 2
        dense = [each.toarray() if sp.issparse(each) else np.asarray(each) for each in drawn]
        np.testing.assert_allclose(dense, expected, rtol=1e-6)
    with pytest.raises(ValueError, match="n_draws"):
        CorrectedCovariance().fit(HOLES).impute(HOLES, n_draws=0)


@every_pca
def test_subspaces_fill_by_the_whole_covariance(model):
    expected = CorrectedCovariance().fit(HOLES)
    for found in (clone(model).set_params(n_components=k).fit(HOLES) for k in (1, 3)):
        for got, wanted in zip(
            found.impute(HOLES, return_std=True), expected.impute(HOLES, return_std=True), strict=True
        ):
            np.testing.assert_allclose(got, wanted, atol=1e-12)


def test_the_order_of_columns_and_groups_are_used_to_fill():
    groups = np.arange(40) // 4
    model = CorrectedPCACV(2, neighbours="line").fit(HOLES, groups=groups)
    expected = CorrectedCovariance(neighbours="line").fit(HOLES, groups=groups)
    np.testing.assert_allclose(model.impute(HOLES), expected.impute(HOLES), atol=1e-12)


def test_frames_come_back_as_frames():
    frame = FRAME.assign(n=pd.array([pd.NA, *range(39)], dtype="Int64"), m=np.arange(40), f=np.float32(2))
    frame["f"] = frame["f"].mask(frame["m"] == 3) + frame["m"].astype(np.float32)
    frame.index = [f"row {i}" for i in range(40)]
    before = frame.copy()
    filled = CorrectedCovariance().fit(frame).impute(frame)
    pd.testing.assert_frame_equal(frame, before)
    assert filled.index.equals(frame.index)
    assert filled.columns.equals(frame.columns)
    expected = {**dict.fromkeys(NAMES, "float64"), "n": "float64", "m": "int64", "f": "float32"}
    assert {name: str(dtype) for name, dtype in filled.dtypes.items()} == expected
    assert not filled.isna().any().any()
    assert ((filled == frame) | frame.isna()).all().all()
    nullable = CorrectedCovariance().fit(FRAME.convert_dtypes()).impute(FRAME.convert_dtypes())
    assert set(map(str, nullable.dtypes)) == {"Float64"}


@pytest.mark.parametrize("kind", ["Int64", "UInt64"])
def test_seen_whole_numbers_stay_to_the_bit(kind):
    numbers = [2**60 + 10_000 * i + 1 for i in range(39)]
    frame = FRAME.assign(n=pd.array([pd.NA, *numbers], dtype=kind))
    model = CorrectedCovariance().fit(frame)
    for given in (frame, pl.from_pandas(frame), pa.table(frame)):
        filled = model.impute(given)["n"]
        found = filled.to_pylist() if isinstance(given, pa.Table) else filled.to_list()
        assert found[1:] == numbers
        assert min(numbers) < found[0] < max(numbers)


def test_polars_arrow_and_sparse_come_back_as_they_were():
    frame = pl.from_pandas(FRAME).with_columns(
        n=pl.Series([None, *range(39)]), f=pl.Series(np.arange(40), dtype=pl.Float32)
    )
    filled = CorrectedCovariance().fit(frame).impute(frame)
    assert filled.schema == frame.schema | {"n": pl.Float64}
    assert filled.null_count().sum_horizontal().item() == 0
    table = frame.to_arrow()
    found = CorrectedCovariance().fit(table).impute(table)
    assert found.column_names == table.column_names
    np.testing.assert_allclose(found["n"].to_numpy(), filled["n"].to_numpy())
    matrix = sp.coo_array(np.where(WHOLE > 1, HOLES, 0.0))
    back = CorrectedCovariance().fit(matrix).impute(matrix)
    assert back.format == "coo"
    assert back.nnz == matrix.nnz
    assert not np.isnan(back.data).any()


def test_zeros_of_sparse_rows_are_zeros():
    X = np.where(WHOLE > 0, WHOLE, 0.0)
    X[4, 1] = np.nan
    expected, found = (CorrectedPCACV(2).fit(rows).components_ for rows in (X, sp.csr_matrix(X)))
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_many_rows_and_weights():
    X, rows = holed_rows(1_200, 5, 0.1)
    model = CorrectedPCACV(2).fit(rows)
    assert model.steps_["row_tempering"].why
    assert np.linalg.norm(model.get_covariance() - np.cov(X.T)) < 0.1 * np.linalg.norm(np.cov(X.T))
    weights = np.where(np.arange(40) < 10, 2.0, 1.0)
    weights[11] = 0
    repeated = np.vstack([HOLES[:11], HOLES[12:], HOLES[:10]])
    for model in (AttenuatedPCA(2, alpha=0.3), CorrectedPCA(2, damping=0.5)):
        found = clone(model).fit(HOLES, sample_weight=weights)
        np.testing.assert_allclose(found.components_, clone(model).fit(repeated).components_, atol=1e-7)


def test_a_column_that_only_one_block_has_seen():
    X = HOLES.copy()
    X[:, 3] = np.where(np.arange(40) % 5 == 0, X[:, 3], np.nan)
    X[[0, 5], 3] = [1.0, 2.0]
    for model in (CorrectedPCACV(2, nested=True), CorrectedCovariance(nested=True)):
        assert np.isfinite(model.fit(X).left_out_gain_)
        # The fits without the block have no mean of the column, so its zero must not stand for one.
        moved = clone(model).fit(X + 1000 * (np.arange(7) == 3))
        np.testing.assert_allclose(moved.cv_risk_, model.cv_risk_, rtol=1e-6)
        assert moved.left_out_gain_ == pytest.approx(model.left_out_gain_, rel=1e-6)


def test_splitters_groups_and_nested_choices():
    for model in (CorrectedPCACV(2, nested=True, cv=KFold(4)), CorrectedCovariance(nested=True)):
        model.fit(HOLES, groups=None)
        assert np.isfinite(model.left_out_gain_)
        assert np.isfinite(model.left_out_gain_error_)
    overlapping = CorrectedPCACV(2, cv=GroupShuffleSplit(10, random_state=0))
    assert overlapping.fit(HOLES, groups=np.arange(40) // 4).cv_risk_folds_.shape[0] == 10


def test_wide_rows():
    X, rows = holed_rows(30, 600, 0.2)
    model = CorrectedPCACV(3).fit(rows)
    whole = CorrectedPCACV(3).fit(X)
    angles = np.linalg.svd(model.components_ @ whole.components_.T, compute_uv=False)
    assert angles.min() > 0.95
    covariance = CorrectedCovariance().fit(rows)
    error = np.mean((covariance.impute(rows) - X)[np.isnan(rows)] ** 2)
    assert error < 0.25 * np.mean((np.nanmean(rows, axis=0) - X)[np.isnan(rows)] ** 2)


def test_wide_rows_of_which_a_training_set_has_only_one():
    rows = np.random.default_rng(0).standard_normal((6, 520))
    rows[2:] = np.nan  # of three folds, one holds out row 0 and one row 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rows without cells, and components that nothing tells
        model = CorrectedPCACV(1, corrections=["row_tempering"], cv=3).fit(rows)
    assert np.isfinite(model.cv_risk_folds_).all()


@pytest.mark.slow
def test_very_wide_rows_are_filled_by_a_law_of_factors():
    X, rows = holed_rows(30, 4_100, 0.2)
    model = AttenuatedPCA(3, alpha=0.2).fit(rows)
    filled, std = model.impute(rows, return_std=True)
    error = (filled - X)[np.isnan(rows)]
    assert np.mean(error**2) < 0.25 * np.mean((np.nanmean(rows, axis=0) - X)[np.isnan(rows)] ** 2)
    assert 0.5 < np.mean(std[np.isnan(rows)] ** 2) / np.mean(error**2) < 1.5
    np.testing.assert_array_equal(filled[~np.isnan(rows)], X[~np.isnan(rows)])
    few, seen = rows[:4], ~np.isnan(rows[:4])
    draws = model.impute(few, n_draws=200, random_state=0)
    assert (draws[:, seen] == few[seen]).all()
    ratios = (draws - filled[:4])[:, ~seen] / std[:4][~seen]
    assert np.mean(ratios**2) == pytest.approx(1, abs=0.05)


def test_the_path_with_missing_cells():
    path = attenuation_path(HOLES, 2, alphas=[0, 0.3])
    expected = AttenuatedPCA(2, alpha=0.3).fit(HOLES)
    np.testing.assert_allclose(path.components[1], expected.components_, atol=1e-10)


def test_deviations_cover_the_cells_of_new_rows():
    random = np.random.default_rng(0)
    X, _ = holed_rows(600, 8, 0.0, seed=1)
    missing = random.random(X.shape) < 0.2
    model = CorrectedCovariance().fit(np.where(missing, np.nan, X)[:200])
    filled, std = model.impute(np.where(missing, np.nan, X)[200:], return_std=True)
    new = missing[200:]
    inside = np.abs(filled - X[200:])[new] < 1.96 * std[new]
    # 640 cells; their standard error is about 0.01, and the covariance is not known but estimated.
    assert 0.90 < inside.mean() < 0.98


@every_model
def test_what_cannot_be_known_is_told(model):
    X = HOLES.copy()
    X[5] = np.nan
    X[:20, 0], X[20:, 1] = np.nan, np.nan
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = clone(model).fit(X)
    told = " ".join(str(warning.message) for warning in caught)
    assert "1 row of X has no values at all" in told
    assert "No row has values in both of the columns 0, 1" in told
    with pytest.warns(UserWarning, match="1 row of X has no values at all"):
        filled = model.impute(X)
    mean = model.location_ if hasattr(model, "location_") else model._filling.law(model).location_
    np.testing.assert_allclose(filled[5], mean)
    if hasattr(model, "components_"):
        with pytest.warns(UserWarning, match="1 row of X has no values at all"):
            np.testing.assert_allclose(model.transform(X)[5], 0, atol=1e-9)


@every_model
def test_bad_cells_are_named(model):
    frame = FRAME.copy()
    frame["c"] = np.nan
    with pytest.raises(ValueError, match=r"no values in column 2 \('c'\): all are missing"):
        clone(model).fit(frame)
    frame["c"] = np.inf
    with pytest.raises(ValueError, match=r"infinity in column 2 \('c'\)"):
        clone(model).fit(frame)
    fitted = clone(model).fit(FRAME)
    for method in (fitted.impute, fitted.score_samples):
        with pytest.raises(ValueError, match=r"infinity in column 2 \('c'\)"):
            method(frame)
        with pytest.raises(ValueError, match="The feature names should match"):
            method(FRAME[NAMES[:6]])


def test_rows_are_kept_for_impute_as_they_were():
    X, groups = HOLES.copy(), np.arange(40) // 4
    expected = CorrectedPCACV(2).fit(HOLES, groups=groups.copy()).impute(HOLES)
    model = CorrectedPCACV(2).fit(X, groups=groups)
    X[:], groups[:] = 0, np.arange(40) % 3
    stored = pickle.dumps(model)
    np.testing.assert_array_equal(model.impute(HOLES), expected)
    np.testing.assert_array_equal(pickle.loads(stored).impute(HOLES), expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).impute(HOLES), expected)
    with pytest.raises(ValueError, match="came in batches or are on a device"):
        AttenuatedPCA(2).fit([WHOLE]).impute(HOLES)
    model.fit(HOLES[:, :5])
    assert model.impute(HOLES[:, :5]).shape == (40, 5)


def test_large_rows_are_not_pickled(monkeypatch):
    monkeypatch.setattr("attenua.imputing._MOST_KEPT", 100)
    model = CorrectedPCA(2).fit(HOLES)
    loaded = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="too large to be stored with the model"):
        loaded.impute(HOLES)
    expected = model.impute(HOLES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).impute(HOLES), expected)


def test_model_files(tmp_path):
    covariance, subspace = CorrectedCovariance().fit(FRAME), CorrectedPCACV(2).fit(FRAME)
    for name, model in (("covariance", covariance), ("subspace", subspace)):
        save_model(model, tmp_path / f"{name}.safetensors")
    loaded = load_model(tmp_path / "covariance.safetensors")
    pd.testing.assert_frame_equal(loaded.impute(FRAME), covariance.impute(FRAME))
    loaded = load_model(tmp_path / "subspace.safetensors")
    np.testing.assert_array_equal(loaded.transform(FRAME), subspace.transform(FRAME))
    with pytest.raises(ValueError, match="a model that was saved before its first impute"):
        loaded.impute(FRAME)


@pytest.mark.parametrize("k", [2, 4])
def test_choices_of_few_rows_with_many_missing_cells(k, tmp_path):
    """Risks are not negative, models can be saved, and no choice is far worse than PCA of completed rows."""
    for seed in range(6):
        X, rows = holed_rows(24, 5, 0.3, seed)
        for model in (AttenuatedPCACV(k), CorrectedPCACV(k)):
            model.fit(rows)
            assert (model.cv_risk_folds_ >= 0).all()
            save_model(model, tmp_path / f"{type(model).__name__}{seed}.safetensors")
            pca = CorrectedPCA(k).fit(rows)
            assert model.reconstruction_error(X).mean() < 2.5 * pca.reconstruction_error(X).mean()


def test_splits_of_labels_and_of_tables():
    y = np.arange(40) % 2
    model = CorrectedPCACV(2, cv=StratifiedKFold(3)).fit(HOLES, y)
    expected = CorrectedCovariance(cv=StratifiedKFold(3)).fit(HOLES, y)
    np.testing.assert_allclose(model.impute(HOLES), expected.impute(HOLES), atol=1e-12)
    table = CONTAINERS["arrow"]
    found = CorrectedPCACV(2, cv=KFold(4)).fit(table).components_
    np.testing.assert_allclose(found, CorrectedPCACV(2, cv=KFold(4)).fit(HOLES).components_, atol=1e-8)


def test_missing_objects_of_pandas():
    frame = FRAME.astype(object).where(FRAME.notna(), pd.NA)
    before = frame.copy()
    found = CorrectedPCACV(2).fit(frame)
    np.testing.assert_allclose(found.components_, CorrectedPCACV(2).fit(FRAME).components_, atol=1e-10)
    assert set(map(str, found.impute(frame).dtypes)) == {"float64"}
    pd.testing.assert_frame_equal(frame, before)


def test_a_row_too_large_to_square_with_a_missing_cell():
    model = CorrectedPCA(2).fit(HOLES)
    row = np.full((1, 7), 1.0)
    row[0, :2] = [1e200, np.nan]
    assert model.score_samples(row)[0] == -np.inf


def test_a_column_with_one_value_is_told():
    X = HOLES.copy()
    X[1:, 3] = np.nan
    X[0, 3] = 1.0
    with pytest.warns(UserWarning, match="only one value in column 3"):
        CorrectedPCA(2).fit(X)


def test_a_step_of_a_pipeline_that_fills():
    y = WHOLE @ np.arange(7)
    pipeline = make_pipeline(CorrectedCovariance(), StandardScaler(), Ridge()).fit(FRAME, y)
    assert pipeline.score(FRAME, y) > 0.8
    step = CorrectedCovariance().set_output(transform="pandas").fit(FRAME)
    pd.testing.assert_frame_equal(step.transform(FRAME), step.impute(FRAME))
    assert step.get_feature_names_out().tolist() == NAMES
    np.testing.assert_array_equal(CorrectedCovariance().fit_transform(FRAME), step.impute(FRAME))


def test_pipelines_and_searches_with_missing_cells():
    y = WHOLE @ np.arange(7)
    search = GridSearchCV(
        make_pipeline(CorrectedPCACV(2), Ridge()), {"correctedpcacv__n_components": [1, 3]}, cv=3
    )
    assert search.fit(FRAME, y).best_score_ > 0.5
    scores = CorrectedPCACV(2).set_output(transform="pandas").fit_transform(FRAME)
    assert scores.columns.tolist() == ["correctedpcacv0", "correctedpcacv1"]
    assert not scores.isna().any().any()
