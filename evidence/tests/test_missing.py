"""The script that compares methods for missing cells: its rivals, its patterns, and a page that resumes."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import LedoitWolf
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from tests.helpers import each

from attenua_evidence import missing as script
from attenua_evidence import missing_rivals as rivals
from attenua_evidence.cell import risk_around
from attenua_evidence.collection.table import Table
from attenua_evidence.draws import draw
from attenua_evidence.methods import Rows
from attenua_evidence.missing import attempt, hidden_cells, main, measure, measure_draw, with_enough
from attenua_evidence.missing_models import (
    Fitted,
    conditional,
    filled_by_factors,
    filled_by_nipals,
    ledoit_wolf_em,
    miss_mda,
    soft_impute,
    soft_path,
)
from attenua_evidence.missing_rivals import (
    LEDOIT_WOLF,
    MEANS,
    METHODS,
    OUR_FILLING,
    OUR_SUBSPACE,
    OURS,
    PLAIN,
    Method,
    gaussian_factors,
    statsmodels_em,
)
from attenua_evidence.missing_tables import (
    BY_VALUE,
    FILLING,
    PATTERNS,
    SUBSPACE,
    best_rank,
    ranked_errors,
    relative,
    shares,
)
from attenua_evidence.needs import version_in_r
from attenua_evidence.pcamethods import RFit, shared_process
from attenua_paper.studies.gain import best_affine_risk

from .sets import Entry, spiked


@cache
def has_pca_methods():
    return bool(version_in_r("pcaMethods"))


def with_holes(n, p, rate=0.2, seed=0):
    X = spiked(n, p, seed=seed)
    hidden = np.random.default_rng([seed, 7]).random(X.shape) < rate
    return X, np.where(hidden, np.nan, X)


def explicit(X, mean, covariance):
    """Fill rows by a solve with the observed block, which the code never forms."""
    filled = X.copy()
    for row in filled:
        m = np.isnan(row)
        o = ~m
        row[m] = mean[m] + covariance[np.ix_(m, o)] @ np.linalg.solve(
            covariance[np.ix_(o, o)], row[o] - mean[o]
        )
    return filled


def same_subspace(one, other):
    np.testing.assert_allclose(one.T @ one, other.T @ other, atol=1e-8)


# --- rivals -----------------------------------------------------------------------------------------------


def test_without_holes_all_are_pca_and_ledoit_wolf():
    X = spiked(40, 8)
    expected = PCA(3).fit(X)
    for name in (MEANS, "missMDA", "softImpute + PCA", "KNNImputer + PCA", LEDOIT_WOLF):
        found = METHODS[name].fit(Rows(X), 3)
        np.testing.assert_allclose(found.mean, expected.mean_)
        same_subspace(found.components[:3], expected.components_)
    new = with_holes(30, 8, seed=1)[1]
    matrix = LedoitWolf().fit(X).covariance_
    np.testing.assert_allclose(
        ledoit_wolf_em(Rows(X), 0).fill(new), explicit(new, expected.mean_, matrix), rtol=1e-9
    )


def test_conditional_mean_and_covariance():
    X, holed = with_holes(12, 5, 0.4)
    matrix, mean = np.cov(spiked(40, 5).T), X.mean(axis=0)
    filled, uncertain = conditional(holed, mean, matrix)
    np.testing.assert_allclose(filled, explicit(holed, mean, matrix))
    expected = np.zeros((5, 5))
    for row in holed:
        m, o = np.isnan(row), np.isfinite(row)
        block = matrix[np.ix_(m, m)]
        block = block - matrix[np.ix_(m, o)] @ np.linalg.solve(matrix[np.ix_(o, o)], matrix[np.ix_(o, m)])
        expected[np.ix_(m, m)] += block / 12
    np.testing.assert_allclose(uncertain, expected, atol=1e-12)


def test_ledoit_wolf_by_em_ends_at_a_fixed_point():
    _, holed = with_holes(40, 6)
    found = ledoit_wolf_em(Rows(holed), 0, threshold=1e-9)
    filled = found.fill(holed)
    np.testing.assert_allclose(filled.mean(axis=0), found.mean, atol=1e-6)
    assert np.corrcoef(filled[np.isnan(holed)], with_holes(40, 6)[0][np.isnan(holed)])[0, 1] > 0.8


@each("noise", [0.5, 0.0])
def test_filling_by_factors(noise):
    X, holed = with_holes(20, 8)
    W, mean = np.random.default_rng(0).standard_normal((8, 2)), X.mean(axis=0)
    if noise:
        expected = explicit(holed, mean, W @ W.T + noise * np.eye(8))
    else:
        expected = holed.copy()
        for row in expected:
            m = np.isnan(row)
            row[m] = mean[m] + W[m] @ np.linalg.lstsq(W[~m], row[~m] - mean[~m])[0]
    np.testing.assert_allclose(filled_by_factors(holed, mean, W, noise), expected, rtol=1e-8)
    empty = np.full((1, 8), np.nan)
    np.testing.assert_allclose(filled_by_factors(empty, mean, W, noise)[0], mean)
    np.testing.assert_array_equal(filled_by_factors(X, mean, W, noise), X)
    np.testing.assert_allclose(filled_by_factors(empty, mean, W[:, :0], noise)[0], mean)


def test_nipals_regresses_one_component_after_another():
    _, holed = with_holes(20, 8)
    W = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 3)))[0]
    mean = np.nanmean(holed, axis=0)
    expected = holed.copy()
    for row in expected:
        o = np.isfinite(row)
        left, fitted = row - mean, mean.copy()
        for w in W.T:
            t = left[o] @ w[o] / (w[o] @ w[o])
            left, fitted = left - t * w, fitted + t * w
        row[~o] = fitted[~o]
    np.testing.assert_allclose(filled_by_nipals(holed, mean, W), expected)
    np.testing.assert_allclose(filled_by_nipals(np.full((1, 8), np.nan), mean, W)[0], mean)


@each("n, p", [(40, 9), (12, 30)])
def test_miss_mda_repeats_itself(n, p):
    _, holed = with_holes(n, p, 0.1)
    k = 2
    found = miss_mda(Rows(holed), k, threshold=1e-14, most=20000)
    # One more round, with the singular values of numpy, changes nothing; so does filling as a new row.
    filled = found.fill(holed)
    np.testing.assert_allclose(filled.mean(axis=0), found.mean, atol=1e-4)
    U, sizes, V = np.linalg.svd(filled - filled.mean(axis=0), full_matrices=False)
    values = (sizes**2 / n)[: min(p, n - 1)]
    freedom = (n - 1) * p - (n - 1) * k - p * k + k**2
    noise = min(n * p / min(p, n - 1) * values[k:].sum() / freedom, values[k])
    fit = (U[:, :k] * (sizes[:k] * (1 - noise / values[:k]))) @ V[:k] + filled.mean(axis=0)
    np.testing.assert_allclose(fit[np.isnan(holed)], filled[np.isnan(holed)], atol=1e-4)
    with pytest.warns(ConvergenceWarning):
        miss_mda(Rows(holed), k, threshold=0, most=6)


@each("n, p", [(30, 9), (12, 30)])
def test_soft_impute_is_a_fixed_point_and_the_least(n, p):
    Z = with_holes(n, p)[1] - 5
    seen = np.isfinite(Z)
    penalty, fit, (sizes, vectors) = soft_path(Z, np.geomspace(1, 0.1, 5), threshold=1e-20, most=5000)[-1]
    U, values, V = np.linalg.svd(np.where(seen, Z, fit), full_matrices=False)
    shrunk = np.maximum(values - penalty, 0)
    np.testing.assert_allclose((U * shrunk) @ V, fit, atol=1e-7)
    np.testing.assert_allclose(shrunk[: len(sizes)], sizes, atol=1e-7)

    def objective(M):
        return np.sum((Z - M)[seen] ** 2) / 2 + penalty * np.linalg.norm(M, "nuc")

    random = np.random.default_rng(0)
    for _ in range(20):
        assert objective(fit) < objective(fit + 0.1 * random.standard_normal(fit.shape))
    # A fitted row that is filled as a new one gets the fit.
    loadings = (vectors * np.sqrt(sizes)[:, None]).T
    filled = filled_by_factors(Z, np.zeros(p), loadings, penalty)
    np.testing.assert_allclose(filled[~seen], fit[~seen], atol=1e-5)


def test_soft_impute_of_noise_fills_means():
    noise = np.random.default_rng(0).standard_normal((40, 6))
    noise[np.random.default_rng(1).random(noise.shape) < 0.3] = np.nan
    found = soft_impute(Rows(noise), 0)
    filled = found.fill(noise)[np.isnan(noise)]
    assert np.mean(filled**2) < 0.3


def test_statsmodels_fills_by_least_squares():
    pca = pytest.importorskip("statsmodels.multivariate.pca")
    X, holed = with_holes(60, 9, 0.05)
    hidden = np.isnan(holed)
    found = statsmodels_em(Rows(holed), 2)
    own = pca.PCA(holed, 2, standardize=False, missing="fill-em")._adjusted_data
    np.testing.assert_allclose(own.mean(axis=0), found.mean)
    same_subspace(PCA(2).fit(own).components_, found.components)
    # Its repetition centres by observed means, so that filling around the final mean differs a little.
    difference = (found.fill(holed) - own)[hidden]
    assert np.sqrt(np.mean(difference**2)) < 0.05 * X.std()
    assert attempt("statsmodels fill-em", lambda: statsmodels_em(Rows(holed), 9))[1]["status"] == "failed"


def test_noise_of_the_greatest_likelihood():
    random = np.random.default_rng(0)
    W = random.standard_normal((10, 2)) * 3
    X = random.standard_normal((3000, 2)) @ W.T + 0.5 * random.standard_normal((3000, 10))
    X[random.random(X.shape) < 0.2] = np.nan
    centre = np.zeros(10)
    loadings, noise = gaussian_factors(X, RFit(centre, W, np.zeros((1, 2)), ""), is_scaled=True)
    assert noise == pytest.approx(0.25, rel=0.03)
    assert loadings is W
    U, sizes, _ = np.linalg.svd(W, full_matrices=False)
    scores = random.standard_normal((3000, 2))
    scores *= np.sqrt(sizes**2 + 0.25) / scores.std(axis=0)
    loadings, noise = gaussian_factors(X, RFit(centre, U, scores, ""), is_scaled=False)
    assert noise == pytest.approx(0.25, rel=0.03)
    np.testing.assert_allclose(loadings @ loadings.T, W @ W.T, atol=0.1)


@each("name", ["ppca", "bpca", "nipals"])
def test_r_fits_rows_with_holes(name):
    if not has_pca_methods():
        pytest.skip("no pcaMethods")
    X, holed = with_holes(60, 9, 0.05)
    found = METHODS[f"pcaMethods {name}"].fit(Rows(holed), 2)
    angles = np.linalg.svd(PCA(2).fit(X).components_ @ found.components[:2].T)[1]
    assert angles.min() > 0.97
    new, holed = with_holes(50, 9, seed=1)
    hidden = np.isnan(holed)
    error, base = (np.mean((Y - new)[hidden] ** 2) for Y in (found.fill(holed), np.tile(found.mean, (50, 1))))
    assert error < base / 2
    returned = shared_process().fit(name, with_holes(60, 9, 0.05)[1], 2)
    assert (returned.centre.shape, returned.loadings.shape, returned.scores.shape) == ((9,), (9, 2), (60, 2))


# --- patterns and measures --------------------------------------------------------------------------------


@each("pattern", list(PATTERNS))
def test_patterns_have_their_rates(pattern):
    X = np.random.default_rng(0).standard_normal((400, 50))
    hidden = hidden_cells(X, pattern, [1, 2])
    assert hidden.mean() == pytest.approx(PATTERNS[pattern], abs=0.01)
    np.testing.assert_array_equal(hidden, hidden_cells(X, pattern, [1, 2]))
    assert not np.array_equal(hidden, hidden_cells(X, pattern, [1, 3]))
    large = hidden[X > 0].mean() / hidden[X < 0].mean()
    assert large == pytest.approx(3 if pattern == BY_VALUE else 1, rel=0.15)


def test_cells_are_put_back():
    X = np.random.default_rng(0).standard_normal((20, 6))
    X[:, 1], X[3, 1] = 0.0, 1.0
    hidden = np.zeros(X.shape, bool)
    hidden[1:, 0] = hidden[3, 1] = hidden[7] = True
    kept = with_enough(X, hidden, [0])
    assert (~kept[:, 0]).sum() == 3
    assert not kept[3, 1]
    assert not kept[7].all()
    assert not (kept & ~hidden).any()
    assert with_enough(X, np.ones(X.shape, bool), [0]).sum(axis=0).max() == 17
    fine = hidden_cells(X[:, 2:], "20% at random", [5])
    np.testing.assert_array_equal(with_enough(X[:, 2:], fine, [0]), fine)


def test_one_draw_is_judged():
    entry = Entry("small", Table(spiked(80, 12)), order="line")
    lines = pd.DataFrame(measure_draw(entry, entry.table, 32, 0, [MEANS, "missMDA"]))
    drawn = draw(entry.table, "small", "one", 32, 0)
    line = lines[(lines["method"] == MEANS) & (lines["rank"] == 2) & (lines["pattern"] == BY_VALUE)].iloc[0]
    i, seed = list(PATTERNS).index(BY_VALUE), [script.SEED, *b"small", 32, 0]
    hidden = with_enough(drawn.X, hidden_cells(drawn.X, BY_VALUE, [*seed, i, 0]), [*seed, i, 1])
    means = np.ma.array(drawn.X, mask=hidden).mean(axis=0).data
    filled = np.where(hidden, means, drawn.X)
    model = PCA(2).fit(filled)
    assert line["value"] == pytest.approx(risk_around(means, model.components_, drawn.X_test))
    assert line["reference"] == pytest.approx(best_affine_risk(drawn.X_test, 2))
    fill = lines[(lines["use"] == FILLING) & (lines["pattern"] == BY_VALUE)]
    assert list(fill["rank"]) == [0, 2, 5]
    tested = hidden_cells(drawn.X_test, BY_VALUE, [*seed, i, 2])
    assert fill["value"].iloc[0] == pytest.approx(np.mean((drawn.X_test - means)[tested] ** 2))
    too_large = Table(spiked(80, 12), np.zeros(80, int))
    assert not list(measure_draw(entry, too_large, 32, 0, [MEANS]))


def test_what_counts_as_failed():
    found, result = attempt(MEANS, lambda: np.array([np.nan]))
    assert (found, result["status"], result["note"]) == (None, "failed", "not finite")

    def broken():
        raise ValueError("two\nlines")

    assert attempt(MEANS, broken)[1]["note"] == "ValueError: two"
    with pytest.raises(ValueError, match="two"):
        attempt(OUR_FILLING, broken)


# --- tables -----------------------------------------------------------------------------------------------


def test_numbers_by_hand():
    head = {"kind": "table", "columns": 12, "rows": 32, "draw": 0, "status": "fitted", "seconds": 0.1}
    pattern = "10% at random"
    lines = [
        head
        | {"data": "a", "pattern": pattern, "use": use, "rank": rank, "method": method, "value": value}
        | {"reference": 2.0 if use == SUBSPACE else np.nan}
        for use, rank, method, value in (
            (SUBSPACE, 2, MEANS, 6.0),
            (SUBSPACE, 2, "missMDA", 5.0),
            (FILLING, 0, LEDOIT_WOLF, 2.0),
            (FILLING, 2, "missMDA", 1.0),
            (FILLING, 5, "missMDA", 4.0),
        )
    ]
    wide = [line | {"data": "b", "value": 8.0} for line in lines] + [
        lines[-1] | {"data": "b", "rank": 10, "value": 2.0}
    ]
    lines = pd.DataFrame(lines + wide)
    assert shares(lines)["missMDA"].tolist() == [0.25, 0.0]
    errors = ranked_errors(lines)
    assert errors["missMDA"].to_numpy().tolist() == [[1.0, 4.0, 4.0], [8.0, 8.0, 2.0]]
    ratios = relative(errors, LEDOIT_WOLF)
    assert ratios["missMDA"].to_numpy().ravel() == pytest.approx([0.5, 2, 2, 1, 1, 0.25])
    assert best_rank(ratios, "missMDA") == 2


def test_a_small_page_is_written_and_resumes(monkeypatch, tmp_path):
    entries = [
        Entry("line", Table(spiked(70, 12)), order="line"),
        Entry("plain", Table(spiked(70, 11), np.arange(70) // 7)),
        Entry("last", None, part="final"),
        Entry("wide", Table(np.zeros((80, 201)))),
        Entry("short", Table(np.zeros((40, 20)))),
    ]
    calls = []

    def subspace(rows, rank, *, ordered=True):
        calls.append(rows.order)
        found = miss_mda(Rows(rows.X), rank)
        return Fitted(found.mean, found.components)

    def filling(rows, rank, *, ordered=True):
        return Fitted(fill=ledoit_wolf_em(Rows(rows.X), 0).fill)

    stubs = {
        name: Method(subspace if name.startswith(OUR_SUBSPACE) else filling, name.startswith(OUR_SUBSPACE))
        for name in OURS
    }
    quick = {name: METHODS[name] for name in (MEANS, "IterativeImputer + PCA", "missMDA", LEDOIT_WOLF)}
    for name in METHODS:
        monkeypatch.setitem(METHODS, name, (quick | stubs).get(name, METHODS[name]))
    monkeypatch.setattr(script, "ENTRIES", entries)
    monkeypatch.setattr(script, "CHOICES", {"rivals": tuple(quick), "ours": OURS, "all": (*quick, *OURS)})
    store, written = tmp_path / "store.csv", tmp_path / "page.md"
    options = [str(tmp_path), "--draws", "1", "--store", str(store), "--write", str(written)]
    main([*options, "--methods", "rivals"])
    assert not calls
    assert "Data sets on which" not in written.read_text(encoding="utf-8")
    before = pd.read_csv(store)
    main(options)
    # The fit without an order is the same where there is none.
    assert len(calls) == len(PATTERNS) * 2 * (2 + 1)
    after = pd.read_csv(store)
    pd.testing.assert_frame_equal(after.iloc[: len(before)], before)
    assert not after.duplicated(["data", "pattern", "method", "use", "rank"]).any()
    assert set(after["data"]) == {"line", "plain"}
    text = written.read_text(encoding="utf-8")
    main(options)
    assert len(calls) == len(PATTERNS) * 2 * (2 + 1)
    assert written.read_text(encoding="utf-8") == text
    lines = text.splitlines()
    for i in (i for i, line in enumerate(lines) if line.startswith("| ---")):
        assert lines[i - 1].count("|") == lines[i].count("|") == lines[i + 1].count("|")
    assert any(line.startswith(f"| {BY_VALUE} | {OUR_SUBSPACE}{PLAIN} |") for line in lines)
    assert any(line.startswith(f"| 10% at random | {OUR_FILLING} | 1.000 |") for line in lines)
    assert sum(line.startswith("Data sets on which") for line in lines) == 2
    # Without a store nothing is written.
    found = measure(entries[:1], tmp_path, 1, [MEANS])
    assert len(found) == len(PATTERNS) * 3


def test_ours_are_fitted_with_the_order_and_the_groups(monkeypatch):
    calls = []

    class Stub(SimpleNamespace):
        def fit(self, X, groups=None):
            calls.append((vars(self).copy(), groups))
            self.mean_, self.components_ = np.zeros(4), np.eye(4)[:2]
            return self

        def impute(self, X):
            return X

    monkeypatch.setattr(rivals, "CorrectedPCACV", lambda k, **options: Stub(k=k, **options))
    monkeypatch.setattr(rivals, "CorrectedCovariance", lambda **options: Stub(**options))
    rows = Rows(np.zeros((9, 4)), np.arange(9) // 3, "line")
    for name in OURS:
        METHODS[name].fit(rows, 2)
    found = [options for options, _ in calls]
    assert found == [
        {"k": 2, "neighbours": "line", "cv": 3},
        {"k": 2, "neighbours": None, "cv": 3},
        {"neighbours": "line"},
        {"neighbours": None},
    ]
    assert all(groups is rows.groups for _, groups in calls)
