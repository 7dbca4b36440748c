"""Each task on a small data set, against values that are computed another way."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score, roc_auc_score

from attenua import CorrectedPCACV
from attenua_evidence.cell import Cell
from attenua_evidence.collection.table import Table
from attenua_evidence.covariance_rivals import BASE as LEDOIT_WOLF
from attenua_evidence.covariance_rivals import OURS as COVARIANCE
from attenua_evidence.outcome import Fit, Outcome
from attenua_evidence.tasks import (
    columns,
    densities,
    filling,
    forecasts,
    new_rows,
    outliers,
    regression,
    transfer,
)
from attenua_evidence.tasks.problem import (
    HOLES_FILLED,
    problem_of,
    rebuilt,
    scores,
    sizes_allowed,
    squared_errors,
)
from attenua_evidence.tasks.subspaces import COMPLETED, OF_COVARIANCE, OURS, PCA, TUNED, fit_subspace, methods
from attenua_paper.studies.gain import best_affine_risk

from ..sets import spiked

NAMES = [PCA, COMPLETED, "default", OURS, OF_COVARIANCE, "factor analysis", TUNED]
LABELS = np.arange(90) % 3


def table_of(X=None, target=None, **options):
    """Return a table."""
    return Table(spiked(90, 12) if X is None else X, target=target, **options)


def cell_of(rows=32, draw=0, order=None, unit="one", kind="table"):
    return Cell("develop", "some", kind, unit, order, rows, draw)


def by_method(results, task, rank=5):
    return {result.method: result for result in results if (result.task, result.rank) == (task, rank)}


def with_holes(X, share=0.1):
    return np.where(np.random.default_rng(3).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def problem():
    X = spiked(90, 12)
    target = X @ np.arange(12.0)
    target[:3] = np.nan
    return problem_of(cell_of(), table_of(X, target, labels=LABELS))


@pytest.fixture(scope="module")
def plain(problem):
    return SklearnPCA(5).fit(problem.rows.X)


def test_sizes_of_data_sets():
    assert [sizes_allowed(n) for n in (31, 32, 64, 127, 128, 256, 5000)] == [
        *((), (16,), (16, 32), (16, 32), (32, 64)),
        *((32, 128), (32, 128)),
    ]


def test_new_rows_are_rebuilt_and_noise_is_taken_off(problem, plain):
    results = list(new_rows.of_new_rows(problem, NAMES))
    found = by_method(results, new_rows.REBUILD)
    residuals = problem.test - plain.inverse_transform(plain.transform(problem.test))
    assert found[PCA].value == pytest.approx(np.mean(np.sum(residuals**2, axis=1)))
    assert found[PCA].reference == pytest.approx(best_affine_risk(problem.test, 5))
    assert found[PCA].nothing == pytest.approx(np.mean(np.sum((problem.test - plain.mean_) ** 2, axis=1)))
    assert all(result.value > result.reference for result in found.values() if result.status == "fitted")
    assert [name for name, result in found.items() if result.status == "unsuited"] == [COMPLETED, TUNED]

    denoised = by_method(results, new_rows.DENOISE)[PCA]
    # Noise of half a standard deviation adds a quarter of the variance if it stays.
    assert denoised.nothing == pytest.approx(problem.test.var(axis=0).sum() / 4, rel=0.15)
    within = np.sum(plain.components_**2 * problem.test.var(axis=0) / 4)
    assert denoised.value == pytest.approx(found[PCA].value + within, rel=0.1)
    assert denoised.value > denoised.reference > found[PCA].reference


def test_the_best_projection_of_noisy_rows():
    # Of variances 9, 4 and 1 and noise 5, 1 and 2, the second column gains most, and the third nothing.
    covariance, noise = np.diag([9.0, 4.0, 1.0]), np.array([5.5, 0.0, 2.0])
    assert new_rows.least_denoised(covariance, noise, 1) == pytest.approx(14 - 4)
    assert new_rows.least_denoised(covariance, noise, 3) == pytest.approx(14 - 4 - 3.5)


def test_regression_and_classes_by_scores(problem, plain):
    results = list(new_rows.of_new_rows(problem, [PCA]))
    known, asked = np.isfinite(problem.drawn.target), np.isfinite(problem.drawn.target_test)
    assert not (known.all() and asked.all())
    model = LinearRegression().fit(plain.transform(problem.rows.X)[known], problem.drawn.target[known])
    r2 = r2_score(problem.drawn.target_test[asked], model.predict(plain.transform(problem.test)[asked]))
    predicted = by_method(results, new_rows.TARGET)
    assert predicted[PCA].value == pytest.approx(1 - r2)
    # The target is a combination of the columns.
    assert predicted[regression.RIDGE].value < 1e-3
    assert set(predicted) == {PCA, *regression.DIRECT}
    assert 0 <= by_method(results, new_rows.LOGISTIC)[PCA].value <= 1
    nothing = np.zeros((4, 0))
    target = np.array([0.0, 0, 2, 2])
    assert regression.error_by_scores(nothing, target, nothing, target) == pytest.approx(1)


def test_a_column_is_predicted_from_the_others(problem):
    middle, other = columns.chosen_columns(problem)
    assert middle == 6
    assert other != 6
    results = by_method(columns.of_columns(problem, [PCA, OURS]), columns.COLUMN)
    errors = []
    for column in (middle, other):
        X, test = (np.delete(rows, column, axis=1) for rows in (problem.rows.X, problem.test))
        model = SklearnPCA(5).fit(X)
        fit = LinearRegression().fit(model.transform(X), problem.rows.X[:, column])
        truth = problem.test[:, column]
        errors.append(np.mean((fit.predict(model.transform(test)) - truth) ** 2) / truth.var())
    assert results[PCA].value == pytest.approx(np.mean(errors))
    assert set(results) == {PCA, OURS, *regression.DIRECT}
    assert all(result.value < 1 for result in results.values())


def test_hidden_cells_are_filled(problem):
    names = [PCA, filling.LEAST_SQUARES, filling.OURS, filling.PLAIN, "column means + PCA", "missMDA"]
    found = by_method(filling.of_filling(problem, names), filling.FILL)
    few = problem.test[: filling.MOST_FILLED]
    hidden = filling.hidden_cells(few, problem.seed)
    assert hidden.mean() == pytest.approx(filling.HIDDEN, abs=0.05)
    assert not hidden.all(axis=1).any()
    asked = np.where(hidden, np.nan, few)
    assert found["column means + PCA"].value == pytest.approx(found[PCA].nothing)
    ours = CorrectedPCACV(5).fit(problem.rows.X).impute(asked)
    assert found[filling.OURS].value == pytest.approx(np.mean((ours - few)[hidden] ** 2))
    assert found[filling.PLAIN].status == "unsuited"
    # Probabilistic PCA's conditional mean, by the inverse of its covariance.
    model = SklearnPCA(5).fit(problem.rows.X)
    covariance, errors = model.get_covariance(), []
    for row, holes in zip(few, hidden, strict=True):
        seen = ~holes
        part = covariance[np.ix_(holes, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        errors.extend((model.mean_[holes] + part @ (row - model.mean_)[seen] - row[holes]) ** 2)
    assert found[PCA].value == pytest.approx(np.mean(errors))


def test_outliers_by_every_distance():
    X = spiked(90, 12)
    X[LABELS == 1, 3] += 4
    table = table_of(X, labels=LABELS)
    # The class that is left out depends on the draw.
    number = next(
        draw for draw in range(3) if outliers.without_a_class(cell_of(16, draw), table)[1][:, 3].mean() > 7
    )
    problem, foreign = outliers.without_a_class(cell_of(16, number), table)
    assert foreign.shape == (30, 12)
    found = by_method(outliers.of_outliers(cell_of(16, number), table), outliers.OUTLIERS)
    assert set(found) == set(outliers.WHAT)
    judged = np.vstack([problem.test, foreign])
    truth = np.arange(len(judged)) >= len(problem.test)

    def area(values):
        return pytest.approx(roc_auc_score(truth, values))

    model = SklearnPCA(5).fit(problem.rows.X)
    residual = np.sum((judged - model.inverse_transform(model.transform(judged))) ** 2, axis=1)
    assert found[outliers.BASE].value == area(residual)
    squares = np.sum(model.transform(judged) ** 2 / model.explained_variance_, axis=1) * 16 / 15
    own = problem.rows.X
    mean = np.mean(np.sum((own - model.inverse_transform(model.transform(own))) ** 2, axis=1))
    assert found[f"{PCA}, {outliers.BOTH}"].value == area(squares / 5 + residual / mean)
    assert found[f"{PCA}, {outliers.LIKELIHOOD}"].value == area(-model.score_samples(judged))
    assert found[outliers.LEDOIT_WOLF].value == area(LedoitWolf().fit(own).mahalanobis(judged))


def test_outliers_share_no_group_with_fitted_rows():
    groups = np.arange(90) // 3
    table = table_of(labels=LABELS, groups=groups)
    # Each group has a row of every class, so the outliers are those of the tested groups.
    problem, foreign = outliers.without_a_class(cell_of(16), table)
    assert len(foreign) <= 90 / 3 - len(np.unique(problem.rows.groups))
    assert list(outliers.of_outliers(cell_of(16), table_of())) == []
    assert outliers.without_a_class(cell_of(64), table) is None


def test_covariances(problem):
    found = by_method(densities.of_densities(problem, "returns"), densities.DENSITY)
    model = LedoitWolf().fit(problem.rows.X)
    assert found[LEDOIT_WOLF].value == pytest.approx(model.score(problem.test) / 12)
    plain = SklearnPCA(5).fit(problem.rows.X)
    assert found[PCA].value == pytest.approx(plain.score(problem.test) / 12)
    assert found[densities.PLAIN].status == "unsuited"
    variances = by_method(densities.of_densities(problem, "returns"), densities.PORTFOLIO)
    weights = np.linalg.solve(model.covariance_, np.ones(12))
    expected = np.var(problem.test @ weights / weights.sum())
    assert variances[LEDOIT_WOLF].value == pytest.approx(expected)
    assert not by_method(densities.of_densities(problem, "spectra"), densities.PORTFOLIO)


def test_likelihood_of_seen_cells():
    covariance, mean = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([1.0, 0.0])
    X = np.array([[3.0, np.nan], [np.nan, 1.0]])
    expected = [-np.log(2 * np.pi * 2) / 2 - 4 / 4, -np.log(2 * np.pi) / 2 - 1 / 2]
    assert densities.likelihood_of_seen(covariance, mean, X) == pytest.approx(np.mean(expected))


def test_few_rows_and_a_reference():
    X = np.vstack([spiked(40, 12), spiked(120, 12, seed=1)])
    table = table_of(X, groups=np.repeat([0, 1], [40, 120]))
    chosen = [transfer.few_rows(cell_of(draw=draw), table) for draw in range(2)]
    assert {len(few.reference) for few in chosen} == {40, 120}
    few = next(few for few in chosen if len(few.reference) == 120)
    assert few.X.shape == (16, 12)
    assert len(few.test) == 24
    number = [len(few.reference) for few in chosen].index(120)
    found = by_method(transfer.of_transfer(cell_of(draw=number), table), transfer.TRANSFER)
    assert set(found) == set(transfer.WHAT)
    alone = SklearnPCA(5).fit(few.reference).components_
    centred = few.test - few.X.mean(axis=0)
    expected = np.mean(np.sum((centred - centred @ alone.T @ alone) ** 2, axis=1))
    assert found[transfer.ALONE].value == pytest.approx(expected)
    assert found[transfer.BORROWING].value < found[PCA].value
    # Without groups of 32 rows, classes are groups.
    assert transfer.few_rows(cell_of(), table_of(groups=np.arange(90) // 9)) is None
    by_class = transfer.few_rows(cell_of(), table_of(groups=np.arange(90) // 9, labels=LABELS % 2))
    assert len(by_class.reference) in (30, 60)


def test_forecasts(problem):
    found = by_method(forecasts.of_forecasts(problem), forecasts.FORECAST)
    model = CorrectedPCACV(5, nested=True).fit(problem.rows.X)
    assert found[forecasts.PILOT].value == pytest.approx(100 * model.left_out_gain_)
    assert list(found) == [forecasts.PILOT]


# --- missing cells ----------------------------------------------------------------------------------------


def test_all_tasks_take_rows_with_holes():
    X = with_holes(spiked(90, 12))
    X[:, 11] = np.where(np.arange(90) < 2, X[:, 11], np.nan)  # hardly seen
    table = table_of(X, labels=LABELS, target=np.arange(90.0))
    problem = problem_of(cell_of(), table)
    assert problem.test.shape[1] == 11
    rebuilding = by_method(new_rows.of_new_rows(problem, NAMES), new_rows.REBUILD)
    assert {name for name, result in rebuilding.items() if result.status != "fitted"} == {TUNED}
    assert {name for name, result in rebuilding.items() if HOLES_FILLED in result.note} == {
        PCA,
        "factor analysis",
    }
    assert all(np.isnan(result.reference) for result in rebuilding.values())
    results = [
        *columns.of_columns(problem, [PCA, OURS]),
        *filling.of_filling(problem, [PCA, filling.OURS, "missMDA"]),
        *outliers.of_outliers(cell_of(16), table),
        *densities.of_densities(problem, "table"),
        *transfer.of_transfer(cell_of(16), table_of(with_holes(spiked(160, 12)), labels=np.arange(160) % 2)),
    ]
    suited = [result for result in results if result.status != "unsuited"]
    assert len(suited) > 20
    assert all(result.status == "fitted" and np.isfinite(result.value) for result in suited)
    assert by_method(results, densities.DENSITY)[COVARIANCE].note == ""


def test_scores_of_seen_cells_fit_them_best():
    components = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 2)))[0].T
    X, centre = spiked(3, 6), np.arange(6.0)
    np.testing.assert_allclose(scores(X, centre, components), (X - centre) @ components.T)
    X[0, :2] = np.nan
    best = np.linalg.lstsq(components[:, 2:].T, (X - centre)[0, 2:])[0]
    np.testing.assert_allclose(scores(X, centre, components)[0], best)
    found = rebuilt(X, centre, components)
    assert np.isfinite(found).all()
    assert squared_errors(found, X)[0] == pytest.approx(np.sum((found - X)[0, 2:] ** 2))


# --- what is fitted ---------------------------------------------------------------------------------------


def test_rivals_without_their_package_are_left_out():
    versions = dict.fromkeys(("scikit-fda", "robustcov", "rrcov"), "") | {"robustcov": "1"}
    names = list(methods(versions))
    assert names[0] == PCA
    assert {"robustcov", TUNED} <= set(names)
    assert not {"ROBPCA", "functional PCA", "OAS"} & set(names)


def test_a_fit_that_fails_has_no_value(problem, monkeypatch):
    failing = SimpleNamespace(fit_subspaces=lambda names, rows, rank: {"bad": Outcome("failed", "why")})
    monkeypatch.setattr(new_rows, "fit_subspaces", failing.fit_subspaces)
    results = [result for result in new_rows.of_new_rows(problem, ["bad"]) if result.method == "bad"]
    assert {(result.status, result.note) for result in results} == {("failed", "why")}
    assert all(np.isnan(result.value) for result in results)
    monkeypatch.setattr(
        new_rows,
        "fit_subspaces",
        lambda names, rows, rank: {"none": Outcome("fitted", "", Fit(np.zeros(12), np.zeros((0, 12))))},
    )
    nothing = by_method(new_rows.of_new_rows(problem, ["none"]), new_rows.REBUILD)["none"]
    assert nothing.value == pytest.approx(nothing.nothing)


def test_columns_in_an_order(problem):
    rows = problem.rows._replace(order="line")
    assert fit_subspace(TUNED, rows, 5).status == "fitted"
    graph = problem._replace(rows=rows).with_columns(np.arange(12) != 4).rows
    assert graph.order.shape == (11, 11)
    assert fit_subspace(TUNED, graph, 5).status == "fitted"
    assert fit_subspace("functional PCA", graph, 5).note == "needs columns along a line"
    fitted = fit_subspace(OURS, graph, 5)
    assert fitted.status == "fitted"
    assert "smoothing" in fitted.fit.strengths
