"""Rows with missing cells: what training sets are completed by, and how held-out rows are judged."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

from attenua._correct.row_tempering import pair_weights
from attenua._data.missing import PartialInMemory, PartialRows, PartialSplits, has_missing, partial_rows
from attenua._select.comparison import row_losses
from attenua._solve.subspace import Subspace
from tests.helpers import interleaved_splits
from tests.literal import conditional, covariance_of_pairs, holed_rows, loss_of_seen


def a_subspace(p, rank, seed=0):
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, rank)))[0]
    return Subspace(basis, None, np.ones(rank), 1.0, False, 0.0)


def splits_of(rows, k=4):
    return PartialSplits(PartialRows(rows), interleaved_splits(len(rows), k))


@pytest.mark.parametrize("rank", [1, 2, 6])
def test_held_out_rows_are_judged_as_the_definition_says(rank):
    _, rows = holed_rows(20, 7, 0.4)
    held, subspaces = (
        PartialRows(rows).in_rows(np.arange(12)),
        [a_subspace(7, rank, seed) for seed in range(3)],
    )
    centre = np.linspace(-1, 1, 7)
    found = row_losses(held, subspaces, centre)
    for i, j in product(range(12), range(3)):
        assert found[i, j] == pytest.approx(loss_of_seen(rows[i] - centre, subspaces[j].basis), abs=1e-9)


def test_whole_rows_lose_what_is_outside_of_the_subspace():
    X, _ = holed_rows(10, 6, 0.0)
    subspace = a_subspace(6, 2)
    found = row_losses(PartialRows(X).in_rows(np.arange(10)), [subspace], np.ones(6))
    Z = X - 1
    np.testing.assert_allclose(found[:, 0], np.sum((Z - Z @ subspace.basis @ subspace.basis.T) ** 2, axis=1))


def test_the_subspace_of_the_law_loses_least_whatever_is_missing():
    """Of rows with factors and equal noise, in expectation: the trace of R Sigma R' over the seen cells."""
    random = np.random.default_rng(0)
    true = a_subspace(6, 2).basis
    Sigma = true @ np.diag([9.0, 4.0]) @ true.T + 0.3 * np.eye(6)

    def expected(basis, seen):
        U, M = basis[seen], basis[~seen]
        R = np.eye(seen.sum()) - U @ np.linalg.inv(U.T @ U + 0.01 * M.T @ M) @ U.T
        return np.trace(R @ Sigma[np.ix_(seen, seen)] @ R.T)

    for _ in range(200):
        other = np.linalg.qr(true + 0.2 * random.standard_normal(true.shape))[0]
        seen = random.permutation(6) < random.integers(4, 7)
        assert expected(true, seen) < (1 + 1e-6) * expected(other, seen)


def test_units_of_held_out_rows():
    _, rows = holed_rows(10, 6, 0.3)
    held, centre = PartialRows(rows).in_rows(np.arange(4)), np.ones(6)
    found = row_losses(held.in_unit(0.25), [a_subspace(6, 2)], centre / 0.25)
    np.testing.assert_allclose(found * 0.25**2, row_losses(held, [a_subspace(6, 2)], centre))


@pytest.mark.parametrize("value", [1e3, -40.0, np.nan])
@pytest.mark.parametrize("p", [6, 600])
def test_nothing_of_a_held_out_row_enters_its_training_set(value, p):
    _, rows = holed_rows(24, p, 0.2)
    other = rows.copy()
    other[0, : p // 2] = value  # held out in split 0
    before, after = (next(iter(splits_of(some).pairs())).training for some in (rows, other))
    for of_moments in (lambda m: m.mean, lambda m: m.variances, lambda m: m.apply(np.eye(p)[:, :3])):
        np.testing.assert_allclose(of_moments(after), of_moments(before), rtol=1e-9, atol=1e-9)
    # The others do.
    changed = list(splits_of(other).pairs())[1].training
    assert not np.allclose(changed.variances, list(splits_of(rows).pairs())[1].training.variances, rtol=1e-6)


def test_the_mean_of_a_column_that_a_training_set_has_not_seen_is_not_that_of_held_out_rows():
    _, rows = holed_rows(24, 6, 0.2)
    rows[:, 2] = np.where(np.arange(24) % 4 == 0, 1e3 + np.arange(24), np.nan)
    assert next(iter(splits_of(rows).pairs())).training.mean[2] == 0


def test_training_moments_are_those_of_the_completed_rows():
    _, rows = holed_rows(20, 5, 0.2)
    splits = splits_of(rows)
    pair = list(splits.pairs())[2]
    training = splits.training_rows(2)
    completion = PartialRows(rows[training]).complete()
    law = completion.law
    Sigma = law.factors.T @ law.factors + np.diag(law.noise)
    expected = np.zeros((5, 5))
    filled = rows[training].copy()
    for i, row in enumerate(rows[training]):
        missing = np.isnan(row)
        mean, left = conditional(Sigma, law.mean, row)
        filled[i, missing] = mean
        # What shrinkage adds to the noise is not part of what is unknown.
        expected[np.ix_(missing, missing)] += (left - np.diag((law.noise - law.remainder)[missing])) / len(
            training
        )
    expected += np.cov(filled.T, bias=True)
    np.testing.assert_allclose(pair.training.covariance, expected, atol=1e-8)
    np.testing.assert_allclose(pair.training.mean, filled.mean(axis=0), atol=1e-8)
    assert pair.held_out.weight == 5


def expected_squares(completion):
    """Squared distances of all pairs, as they are expected of missing cells, by loops."""
    n = len(completion.rows)
    squares = np.zeros((n, n))
    for i, j in product(range(n), repeat=2):
        if i != j:
            squares[i, j] = np.sum((completion.rows[i] - completion.rows[j]) ** 2)
            squares[i, j] += completion.traces[i] + completion.traces[j]
    return squares


@pytest.mark.parametrize("p", [5, 520])
def test_pairs_of_completed_rows_have_weights(p):
    _, rows = holed_rows(12, p, 0.2)
    memory = PartialInMemory(PartialRows(rows), splits_of(rows))
    (weighted,) = memory.with_pair_weights([lambda squares: pair_weights(squares, 0.5)])
    completion = memory.splits.completion(None)
    total = memory.splits.total
    weights = pair_weights(expected_squares(completion) / (2 * total.total_variance), 0.5) / 12**2
    S = np.zeros((p, p))
    for i, j in product(range(12), repeat=2):
        d = completion.rows[i] - completion.rows[j]
        S += weights[i, j] / 2 * np.outer(d, d)
    if p == 5:
        S += completion.spread(weights.sum(axis=1))
    else:
        extra = completion.spread_rows(weights.sum(axis=1))
        S += extra.T @ extra
    found = weighted.total
    np.testing.assert_allclose(found.covariance, S, atol=1e-9 * np.abs(S).max())
    np.testing.assert_allclose(found.mean, total.mean, atol=1e-9)


def test_weights_of_pairs_without_missing_cells_are_those_of_row_tempering():
    X, _ = holed_rows(12, 5, 0.0)
    memory = PartialInMemory(PartialRows(X), splits_of(X))
    (weighted,) = memory.with_pair_weights([lambda squares: pair_weights(squares, 0.5)])
    expected = covariance_of_pairs(X, 0.5)
    found = weighted.total.covariance
    np.testing.assert_allclose(found / np.trace(found), expected / np.trace(expected), atol=1e-10)


def test_fourth_powers_count_what_is_expected_of_missing_cells():
    _, rows = holed_rows(12, 5, 0.3)
    splits = splits_of(rows)
    completion, centre = splits.completion(1), np.linspace(0, 1, 5)
    Z = completion.rows - centre
    expected = np.sum((np.sum(Z**2, axis=1) + completion.traces) ** 2)
    training = splits.plain(1)
    assert splits.fourth_powers(1, training, centre) == pytest.approx(expected)
    smaller = training.in_unit(4 * training.unit)
    assert splits.fourth_powers(1, smaller, centre / 4) == pytest.approx(expected / 4**4)


def test_some_of_the_rows_are_as_if_there_were_no_others():
    _, rows = holed_rows(30, 6, 0.2)
    chosen = np.arange(3, 20)
    memory = PartialInMemory(PartialRows(rows), splits_of(rows), np.repeat(np.arange(10), 3))
    part = memory.some(chosen, interleaved_splits(17, 3))
    alone = splits_of(rows[chosen], 3)
    np.testing.assert_allclose(part.splits.total.covariance, alone.total.covariance, atol=1e-8)
    assert part.groups.tolist() == (chosen // 3 - 1).tolist()


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_missing_cells_are_found(convert):
    X = np.zeros((600, 3))
    assert not has_missing(convert(X))
    X[0] = np.inf
    assert not has_missing(convert(X))
    X[1] = -np.inf
    assert not has_missing(convert(X))
    X[599, 2] = np.nan
    assert has_missing(convert(X))
    assert not has_missing(convert(np.ones((3, 3), dtype=int)))


def test_large_sparse_rows_with_missing_cells_are_refused():
    X = sp.csr_matrix(([np.nan], ([0], [1])), shape=(100_000, 100_000))
    with pytest.raises(ValueError, match="100,000 x 100,000 cells would have to be made dense"):
        partial_rows(X, None, None)
