"""Missing cells completed by expectation and maximisation, against dense formulas of the Gaussian law."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from attenua._data import completion
from attenua._data.completion import Completion, FactorLaw, complete, score_means, score_roots
from tests.literal import conditional, holed_rows


def dense(law):
    return law.factors.T @ law.factors + np.diag(law.noise)


def some_law(p=7, q=3, seed=0):
    random = np.random.default_rng(seed)
    mean, factors, noise = (
        random.standard_normal(p),
        random.standard_normal((q, p)),
        random.uniform(0.2, 2, p),
    )
    return FactorLaw(mean, factors, noise, noise)


def by_law(rows, law):
    """The completion that a law gives."""
    seen = ~np.isnan(rows)
    means = score_means(np.where(seen, rows - law.mean, 0.0), score_roots(seen.astype(float), law), law)
    filled = np.where(seen, rows, means @ law.factors + law.mean)
    return Completion(filled, np.ones(len(rows)), ~seen, np.ones(rows.shape[1], dtype=bool), law)


def test_cells_are_filled_with_their_conditional_mean_and_variances():
    law, (_, rows) = some_law(), holed_rows(12, 7, 0.4)
    found = by_law(rows, law)
    for i, row in enumerate(rows):
        mean, left = conditional(dense(law), law.mean, row)
        np.testing.assert_allclose(found.rows[i, np.isnan(row)], mean, atol=1e-12)
        assert found.traces[i] == pytest.approx(np.trace(left))


@pytest.mark.parametrize("n", [12, 700])
def test_the_spread_is_the_sum_over_rows(n):
    law, (_, rows) = some_law(), holed_rows(n, 7, 0.4)
    random = np.random.default_rng(0)
    shares, V = random.random(n), random.standard_normal((7, 2))
    exact, noise = np.zeros((7, 7)), np.zeros(7)
    for row, share in zip(rows, shares, strict=True):
        missing = np.isnan(row)
        exact[np.ix_(missing, missing)] += share * conditional(dense(law), law.mean, row)[1]
        noise += share * missing * law.noise
    found = by_law(rows, law)
    np.testing.assert_allclose(found.spread(shares), exact, atol=1e-10)
    of_factors = exact - np.diag(noise)
    np.testing.assert_allclose(found.spread_along(V, shares), of_factors @ V, atol=1e-10)
    # As rows, it is what the factors span of it.
    basis = np.linalg.qr(law.factors.T)[0]
    extra, inside = found.spread_rows(shares), basis @ basis.T
    np.testing.assert_allclose(extra.T @ extra, inside @ of_factors @ inside, atol=1e-10)


def test_at_the_end_the_law_follows_from_the_rows_it_filled(monkeypatch):
    monkeypatch.setattr(completion, "_TOLERANCE", 1e-11)
    monkeypatch.setattr(completion, "_MOST_STEPS", 5_000)
    _, rows = holed_rows(40, 8, 0.2)
    found = complete(rows, np.ones(40))
    mean, scale = found.rows.mean(axis=0), np.nanstd(rows, axis=0)
    assert scale.max() < 4 * np.median(scale)  # so no column is scaled
    np.testing.assert_allclose(found.law.mean, mean, atol=1e-8)
    Z = found.rows - mean
    S = Z.T @ Z / 40 + found.spread(np.full(40, 1 / 40))
    # Ledoit and Wolf's closed form of the filled rows, by loops.
    filled = Z.T @ Z / 40
    noise = sum(np.sum((np.outer(z, z) - filled) ** 2) for z in Z) / 40**2
    part = noise / np.sum((filled - np.trace(filled) / 8 * np.eye(8)) ** 2)
    shrunk = (1 - part) * S + part * np.trace(S) / 8 * np.eye(8)
    # Seven factors leave the least eigenvalue as noise: nothing is lost.
    np.testing.assert_allclose(dense(found.law), shrunk, atol=1e-6)
    np.testing.assert_allclose(found.law.remainder, np.linalg.eigvalsh(S)[0], atol=1e-6)


def test_many_rows_have_a_factor_for_every_column():
    """Few factors with equal noise would miss what the columns have of their own."""
    random = np.random.default_rng(0)
    X = random.standard_normal((3_000, 24)) @ random.standard_normal((24, 24))
    rows = np.where(random.random(X.shape) < 0.1, np.nan, X)
    error = (complete(rows, np.ones(3_000)).rows - X)[np.isnan(rows)]
    best = [
        conditional(np.cov(X.T), X.mean(axis=0), row)[0] - x[np.isnan(row)]
        for row, x in zip(rows, X, strict=True)
    ]
    # With sixteen factors it is 1.8 times the best.
    assert np.mean(error**2) < 1.2 * np.mean(np.concatenate(best) ** 2)


def test_shrinkage_is_not_part_of_what_is_unknown():
    random = np.random.default_rng(0)
    factors = random.standard_normal((60, 4)) * [4, 3, 2, 1]
    X = factors @ random.standard_normal((4, 100)) + 0.6 * random.standard_normal((60, 100))
    rows = np.where(random.random(X.shape) < 0.3, np.nan, X)
    found, missing = complete(rows, np.ones(60)), np.isnan(rows)
    # With the noise of the shrunk law it would be six times as large.
    assert found.traces.sum() == pytest.approx(np.sum((found.rows - X)[missing] ** 2), rel=0.3)


def test_rows_without_missing_cells_stay_as_they_are():
    X, _ = holed_rows(20, 5, 0.0)
    found = complete(X, np.ones(20))
    np.testing.assert_array_equal(found.rows, X)
    moments = found.moments(1.0, forms_scatter=True)
    np.testing.assert_allclose(moments.covariance, np.cov(X.T, bias=True), atol=1e-12)


def test_many_rows_give_the_covariance_of_the_law_they_were_drawn_from():
    X, rows = holed_rows(4_000, 6, 0.3)
    found = complete(rows, np.ones(4_000)).moments(1.0, forms_scatter=True).covariance
    whole, filled = np.cov(X.T), np.where(np.isnan(rows), np.nanmean(rows, axis=0), rows)
    error, of_means = (np.linalg.norm(S - whole) for S in (found, np.cov(filled.T)))
    # The standard error of a covariance of 4,000 rows is about 0.02 of its size.
    assert error < 0.04 * np.linalg.norm(whole)
    assert error < 0.1 * of_means


def test_a_weight_of_two_counts_a_row_twice():
    _, rows = holed_rows(30, 6, 0.2)
    weights = np.where(np.arange(30) < 10, 2.0, 1.0)
    twice = complete(np.vstack([rows, rows[:10]]), np.ones(40))
    found = complete(rows, weights)
    np.testing.assert_allclose(found.rows, twice.rows[:30], atol=1e-10)
    kept = {"unit": 1.0, "forms_scatter": True}
    np.testing.assert_allclose(found.moments(**kept).covariance, twice.moments(**kept).covariance, atol=1e-10)


@pytest.mark.parametrize("shape", [(30, 6), (12, 40)])
def test_units_and_origins_do_not_matter(shape):
    _, rows = holed_rows(*shape, 0.2)
    expected = complete(rows, np.ones(len(rows))).rows
    for unit in (1e6, 1e-8):
        found = complete(unit * rows, np.ones(len(rows))).rows
        np.testing.assert_allclose(found, unit * expected, rtol=1e-8)
    shifted = complete(rows + 1e4, np.ones(len(rows))).rows - 1e4
    np.testing.assert_allclose(shifted, expected, atol=1e-6)


def test_a_column_in_much_smaller_units_is_filled_as_well():
    X, rows = holed_rows(200, 6, 0.2)
    units = np.array([1, 1e-4, 1, 1e4, 1, 1])
    filled = complete(rows * units, np.ones(200)).rows / units
    for column in (1, 3):
        missing = np.isnan(rows[:, column])
        error, of_mean = (
            np.mean((some - X)[missing, column] ** 2) for some in (filled, np.nanmean(rows, axis=0) + 0 * X)
        )
        assert error < 0.5 * of_mean


def test_wide_rows_have_the_same_completion_and_nearly_the_same_moments():
    X, rows = holed_rows(30, 200, 0.2)
    found = complete(rows, np.ones(30))
    error = np.mean((found.rows - X)[np.isnan(rows)] ** 2)
    assert error < 0.25 * np.mean((np.nanmean(rows, axis=0) - X)[np.isnan(rows)] ** 2)
    kept = found.moments(1.0, forms_scatter=False)
    formed = found.moments(1.0, forms_scatter=True)
    assert not kept.forms_covariance
    np.testing.assert_allclose(kept.mean, formed.mean, atol=1e-12)
    Z, extra = found.rows - kept.mean, found.spread_rows(np.full(30, 1 / 30))
    np.testing.assert_allclose(kept.covariance, Z.T @ Z / 30 + extra.T @ extra, atol=1e-10)
    assert kept.squared_norm == pytest.approx(np.sum(kept.covariance**2))
    difference = kept.covariance - formed.covariance
    np.fill_diagonal(difference, 0.0)
    assert np.linalg.norm(difference) < 0.02 * np.linalg.norm(formed.covariance)


def test_columns_that_do_not_vary_or_are_not_seen_add_nothing():
    _, rows = holed_rows(20, 6, 0.2)
    rows[:, 2] = np.where(np.arange(20) % 3 == 0, np.nan, 7.0)
    rows[:, 4] = np.nan
    found = complete(rows, np.ones(20))
    np.testing.assert_allclose(found.rows[:, 2], 7.0, rtol=1e-15)
    np.testing.assert_array_equal(found.rows[:, 4], 0.0)
    S = found.moments(1.0, forms_scatter=True)
    np.testing.assert_allclose(S.covariance[[2, 4]], 0.0, atol=1e-12)
    # Exactly, since even roundings have correlations, which a shift of the column would change.
    for forms_scatter in (True, False):
        moments = found.moments(1.0, forms_scatter=forms_scatter)
        assert not np.any(np.diagonal(moments.covariance)[[2, 4]])
    assert S.varies.tolist() == [True, True, False, True, False, True]
    small = complete(1e-12 * rows, np.ones(20)).moments(1.0, forms_scatter=True)
    np.testing.assert_allclose(1e24 * small.covariance[[2, 4]], 0.0, atol=1e-12)


@pytest.mark.parametrize(("n", "p", "share"), [(20, 500, 0.1), (32, 91, 0.5)])
def test_factors_do_not_fit_the_noise_of_few_rows(n, p, share):
    random = np.random.default_rng(0)
    X = 0.7 * random.standard_normal((n, 1)) + random.standard_normal((n, p))
    rows = np.where(random.random(X.shape) < share, np.nan, X)
    found, missing = complete(rows, np.ones(n)), np.isnan(rows)
    error = np.mean((found.rows - X)[missing] ** 2)
    # The best error is 1, the noise; that of the means is 1.5.
    assert error < 1.2
    assert found.traces.sum() / missing.sum() == pytest.approx(error, rel=0.25)


@pytest.mark.parametrize("p", [2, 6])
def test_patterns_of_missing_cells_do_not_turn_covariances(p):
    """What is unknown of a row depends on which cells were seen: a mean over the rows is off by a fifth."""
    random = np.random.default_rng(0)
    X = random.standard_normal((4_000, 3)) @ random.standard_normal((3, p)) + 0.7 * random.standard_normal(
        (4_000, p)
    )
    rows = np.where(np.arange(p) > random.integers(0, p, 4_000)[:, None], np.nan, X)
    found = complete(rows, np.ones(4_000)).moments(1.0, forms_scatter=True).covariance
    assert np.linalg.norm(found - np.cov(X.T)) < 0.05 * np.linalg.norm(np.cov(X.T))


@pytest.mark.parametrize("shape", [(2, 2), (2, 9), (9, 1), (3, 40)])
def test_the_smallest_rows_are_completed(shape):
    X, rows = holed_rows(*shape, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = complete(rows, np.ones(shape[0]))
    assert np.isfinite(found.rows).all()
    np.testing.assert_array_equal(found.rows[~np.isnan(rows)], X[~np.isnan(rows)])
    assert np.isfinite(found.moments(1.0, forms_scatter=True).covariance).all()


def test_an_early_end_is_told(monkeypatch):
    monkeypatch.setattr(completion, "_MOST_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="still change after 2 steps"):
        complete(holed_rows(30, 8, 0.5)[1], np.ones(30))
