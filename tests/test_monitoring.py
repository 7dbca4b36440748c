"""T2 and Q against R and by their definitions; limits against R, simulated laws and rows not seen."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_wine

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from tests.helpers import spiked_rows, uneven_rows

ALL = [
    CorrectedPCA(2, damping=0.3),
    CorrectedPCACV(2),
    AttenuatedPCA(2, alpha=0.5),
    AttenuatedPCACV(2),
]


@pytest.fixture(scope="module")
def wine():
    """The first kind of wine, columns divided by their standard deviations, and the two others."""
    rows = load_wine().data
    rows = rows / rows.std(axis=0)
    return rows[:59], rows[59:]


def test_values_of_r(wine):
    """By prcomp, qf, qchisq and qnorm of R 4.2.2, with the formulas written out there."""
    fitted, new = wine
    model = CorrectedPCA(3).fit(fitted)
    limits = model.control_limits(fitted, held_out=False)
    np.testing.assert_allclose(
        [limits.t2(0.95), limits.t2(0.99)], [8.75086529368085, 13.11932974624368], rtol=1e-10
    )
    np.testing.assert_allclose(
        [limits.q(0.95), limits.q(0.99)], [3.99822821397049, 5.24550984050906], rtol=1e-10
    )
    jackson_mudholkar = [4.04095317609230, 5.44614911940726]
    np.testing.assert_allclose([limits.q(0.95), limits.q(0.99)], jackson_mudholkar, rtol=0.04)
    np.testing.assert_allclose(
        model.t2(new)[:3], [33.2341815372029, 17.0191780435486, 10.5910718105370], rtol=1e-10
    )
    np.testing.assert_allclose(
        model.q(new)[:3], [16.6061158397874, 15.5187910318974, 16.8197902197433], rtol=1e-10
    )


@pytest.mark.parametrize("estimator", ALL, ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("whiten", [False, True])
def test_definitions_hold_for_every_class(estimator, whiten):
    fitted, new = uneven_rows(40, 7), uneven_rows(9, 7, seed=1)
    model = estimator.set_params(whiten=whiten).fit(fitted)
    W, centred = model.components_, new - fitted.mean(axis=0)
    scores = np.cov((fitted @ W.T).T)
    inside = np.einsum("ij,jk,ik->i", centred @ W.T, np.linalg.inv(scores), centred @ W.T)
    np.testing.assert_allclose(model.t2(new), inside, rtol=1e-8)
    outside = np.linalg.norm(centred - centred @ W.T @ W, axis=1) ** 2
    np.testing.assert_allclose(model.q(new), outside, rtol=1e-8)
    # The trace of all residual eigenvalues, and of their squares.
    S = np.cov(fitted.T)
    P = np.eye(7) - W.T @ W
    values = np.linalg.eigvalsh(P @ S @ P)
    textbook = model.control_limits(fitted, held_out=False)
    assert textbook.q_mean == pytest.approx(values.sum(), rel=1e-8)
    assert textbook.q_freedom == pytest.approx(values.sum() ** 2 / (values**2).sum(), rel=1e-8)
    np.testing.assert_allclose(textbook.q_rows, model.q(fitted), rtol=1e-10)


def test_limits_are_those_of_the_simulated_law():
    """T2 by Gaussian rows about the mean and covariance of n others, Q by sums of weighted squares."""
    random, n, k, draws = np.random.default_rng(0), 12, 2, 200_000
    weights = np.array([3.0, 1.0, 0.5, 0.2])
    # Rows whose residuals have exactly these variances: columns that are orthogonal and centred.
    basis = random.standard_normal((n, 6))
    basis = np.linalg.qr(basis - basis.mean(axis=0))[0]
    rows = basis * np.sqrt(np.array([50.0, 20.0, *weights]) * (n - 1))
    limits = CorrectedPCA(k).fit(rows).control_limits(rows, held_out=False)
    q = random.standard_normal((draws, 4)) ** 2 @ weights
    for level, error in ((0.95, 0.004), (0.99, 0.003)):  # Box's law is an approximation
        assert np.mean(q > limits.q(level)) == pytest.approx(1 - level, abs=error)
    samples = random.standard_normal((draws // 4, n + 1, k))
    t2 = []
    for some in np.array_split(samples, 50):
        known, new = some[:, :n], some[:, n]
        mean = known.mean(axis=1)
        centred = known - mean[:, None]
        covariance = np.einsum("rni,rnj->rij", centred, centred) / (n - 1)
        t2.append(
            np.einsum("ri,ri->r", new - mean, np.linalg.solve(covariance, (new - mean)[..., None])[..., 0])
        )
    beyond = np.concatenate(t2)
    for level in (0.95, 0.99):
        error = np.sqrt(level * (1 - level) / len(beyond))
        assert np.mean(beyond > limits.t2(level)) == pytest.approx(1 - level, abs=4 * error)


def test_limits_of_held_out_rows_by_hand():
    rows = spiked_rows(40, 6)
    limits = CorrectedPCA(2, damping=0.2).fit(rows).control_limits(rows, cv=4)
    t2, q = np.empty(40), np.empty(40)
    for fold in range(4):
        held = np.arange(40) % 4 == fold
        known = rows[~held]
        W = CorrectedPCA(2, damping=0.2).fit(known).components_
        scores, centred = (known - known.mean(axis=0)) @ W.T, rows[held] - known.mean(axis=0)
        t2[held] = ((centred @ W.T) ** 2 / scores.var(axis=0, ddof=1)).sum(axis=1)
        q[held] = np.sum((centred - centred @ W.T @ W) ** 2, axis=1)
    np.testing.assert_allclose(limits.t2_rows, t2, rtol=1e-8)
    np.testing.assert_allclose(limits.q_rows, q, rtol=1e-8)
    # No row is far out here, so the moments are those of all: F has the mean d / (d - 2).
    assert limits.t2_scale * 38 / 36 == pytest.approx(t2.mean(), rel=1e-8)
    assert limits.q_mean == pytest.approx(q.mean(), rel=1e-8)
    assert limits.q_freedom == pytest.approx(2 * q.mean() ** 2 / q.var(ddof=1), rel=1e-8)


def test_new_rows_of_a_small_sample_raise_as_many_alarms_as_promised():
    """At 30 x 100, limits of 95% give 3 to 6% by four fifths of the rows; the textbook's Q gives 11%."""
    random = np.random.default_rng(0)
    sizes = np.sqrt(np.concatenate([[120, 80, 40], np.linspace(1.5, 0.5, 97)]))
    alarms = {True: [], False: []}
    for _ in range(30):
        rows, new = (random.standard_normal((count, 100)) * sizes for count in (30, 500))
        model = CorrectedPCA(3).fit(rows)
        for held_out, found in alarms.items():
            limits = model.control_limits(rows, held_out=held_out)
            found.append([np.mean(model.t2(new) > limits.t2()), np.mean(model.q(new) > limits.q())])
    means = {held_out: np.mean(found, axis=0) for held_out, found in alarms.items()}
    errors = np.std(alarms[True], axis=0) / np.sqrt(30)
    assert (means[True] > 0.03 - 2 * errors).all()
    assert (means[True] < 0.06 + 2 * errors).all()
    assert means[False][1] > 0.08


def test_outliers_are_named_and_do_not_widen_the_limits():
    rows = spiked_rows(40, 10, rank=2)
    spoiled = rows.copy()
    spoiled[[3, 17]] += 30 * np.random.default_rng(3).standard_normal((2, 10))
    found = CorrectedPCA(2).fit(spoiled).control_limits(spoiled)
    assert {3, 17} <= set(found.beyond(0.99))
    assert len(found.beyond(0.99)) <= 5
    assert found.q(0.99) < found.q_rows[[3, 17]].min() / 5


def test_rows_with_missing_cells_share_the_limits_of_the_others():
    rows = spiked_rows(60, 12)
    model = CorrectedPCA(2).fit(rows)
    holes = rows[:20].copy()
    holes[:, :3] = np.nan
    np.testing.assert_allclose(model.q(holes), model.reconstruction_error(holes) * 12 / 9)
    np.testing.assert_allclose(model.q(sp.csr_array(holes)), model.q(holes))
    assert np.isfinite(model.t2(holes)).all()
    empty = np.full((1, 12), np.nan)
    with pytest.warns(UserWarning, match="row"):
        assert np.isnan(model.q(empty)).all()
    # Rows with missing cells raise no more alarms than others.
    random = np.random.default_rng(0)
    partial = np.where(random.random(rows.shape) < 0.2, np.nan, rows)
    limits = CorrectedPCA(2).fit(partial).control_limits(partial)
    complete = CorrectedPCA(2).fit(rows).control_limits(rows)
    assert limits.q(0.95) == pytest.approx(complete.q(0.95), rel=0.25)


def test_containers_give_the_same():
    rows = spiked_rows(30, 5)
    model = CorrectedPCA(2).fit(rows)
    frame = pd.DataFrame(rows, columns=list("abcde"))
    framed = CorrectedPCA(2).set_output(transform="pandas").fit(frame)
    sparse = CorrectedPCA(2).fit(sp.csr_array(rows))
    limits = model.control_limits(rows)
    for fitted, X in ((framed, frame), (sparse, sp.csr_array(rows))):
        np.testing.assert_allclose(fitted.t2(X), model.t2(rows), rtol=1e-8)
        np.testing.assert_allclose(fitted.q(X), model.q(rows), rtol=1e-8)
        for held_out in (True, False):
            same, known = (
                fitted.control_limits(X, held_out=held_out),
                model.control_limits(rows, held_out=held_out),
            )
            assert same.q(0.99) == pytest.approx(known.q(0.99), rel=1e-8)
            assert same.t2(0.99) == pytest.approx(known.t2(0.99), rel=1e-8)
    single = CorrectedPCA(2).fit(rows.astype(np.float32))
    assert single.control_limits(rows.astype(np.float32)).q(0.95) == pytest.approx(limits.q(0.95), rel=1e-3)
    # Units and order of columns make no difference to T2 and to which rows are beyond.
    scaled = CorrectedPCA(2).fit(1e6 * rows[:, ::-1])
    np.testing.assert_array_equal(scaled.control_limits(1e6 * rows[:, ::-1]).beyond(), limits.beyond())


def test_groups_and_splits_reach_the_refits():
    rows, groups = spiked_rows(40, 5), np.repeat(np.arange(10), 4)
    whole = CorrectedPCACV(2).fit(rows, groups=groups).control_limits(rows, groups=groups)
    singly = CorrectedPCACV(2).fit(rows, groups=groups).control_limits(rows)
    assert whole.q() != singly.q()
    half = [(np.arange(20, 40), np.arange(20))]
    model = AttenuatedPCACV(2, cv=[(np.arange(30), np.arange(30, 40))]).fit(rows)
    some = model.control_limits(rows, cv=half)
    assert np.isfinite(some.q_rows[:20]).all()
    assert np.isnan(some.q_rows[20:]).all()
    assert (some.beyond(0.5) < 20).all()
    assert np.isfinite([some.t2(), some.q()]).all()


def test_splits_that_hold_out_training_rows_are_told():
    rows = spiked_rows(40, 5)
    with pytest.warns(UserWarning, match="held-out rows are also training rows in 1 of the 1 splits"):
        CorrectedPCA(2).fit(rows).control_limits(rows, cv=[(np.arange(30), np.arange(20, 40))])


def test_all_components_leave_no_residual():
    rows = spiked_rows(30, 4, rank=2)
    limits = CorrectedPCA(4).fit(rows).control_limits(rows)
    assert limits.q(0.99) == pytest.approx(0, abs=1e-20 * np.sum(rows**2) + 1e-12)


def test_rows_too_large_to_square_are_infinitely_far():
    model = CorrectedPCA(2).fit(spiked_rows(30, 5))
    far = np.diag([1e154, 1e200, 1e300, 1.0, 1.0])
    far[0, 4] = far[1, 4] = np.nan
    assert np.isinf(model.t2(far)[1:3]).all()
    assert np.isinf(model.q(far)[1:3]).all()


def test_bad_input_is_named():
    rows = spiked_rows(20, 6)
    model = CorrectedPCA(2).fit(rows)
    with pytest.raises(ValueError, match="rows the estimator was fitted to, 20 x 6; got 19 x 6"):
        model.control_limits(rows[:19])
    for level in (0, 1, 95, True, "0.95"):
        with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
            model.control_limits(rows).q(level)
    with pytest.raises(ValueError, match="at least 3 rows more than components, 7; got 6"):
        CorrectedPCA(4).fit(rows[:6]).control_limits(rows[:6])
    with pytest.raises(ValueError, match="cannot fit the rows without those held out"):
        CorrectedPCA(4).fit(rows[:7]).control_limits(rows[:7], cv=2)
    flat = np.column_stack([rows[:, :5], np.ones(20)])
    full = CorrectedPCA().fit(flat)
    with pytest.raises(ValueError, match="component 6 has none; choose n_components below 6"):
        full.t2(flat)
    with pytest.raises(ValueError, match="infinity"):
        model.t2(np.full((1, 6), np.inf))
