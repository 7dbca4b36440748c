"""Weights of pairs of rows, against loops."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, ShuffleSplit

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._data.opening import open_for_cv, open_for_fit
from attenua._data.reweighting import laplacian, laplacian_root
from tests.helpers import in_turn, spiked_rows

X = spiked_rows(30, 6)
WIDE = spiked_rows(20, 530)


def pair_weighing(squares):
    return np.where(squares > 0, 1 / (1 + squares), 0.0)


def by_pairs(rows, all_rows):
    """The sum over all pairs."""
    total = all_rows.var(axis=0).sum()
    pairs = np.array([rows[i] - rows[j] for i in range(len(rows)) for j in range(i)])
    weights = pair_weighing(np.sum(pairs**2, axis=1) / (2 * total))
    return (pairs.T * weights) @ pairs / len(rows) ** 2


CONTAINERS = {"array": lambda rows: rows, "sparse": sp.csr_array}


def in_data_units(moments):
    return moments.covariance * moments.unit**2


@pytest.mark.parametrize(("rows", "container"), in_turn([X, WIDE, X * 1e140, X + 1e5], CONTAINERS, times=2))
def test_moments_of_all_rows_and_of_training_sets(container, rows):
    data = open_for_cv(CorrectedPCACV(cv=4), CONTAINERS[container](rows))
    (splits,) = data.reweighter.with_pair_weights([pair_weighing])
    assert (splits.n_splits, splits.n_features) == (4, rows.shape[1])
    # Sparse rows are counted from zero: rounding errors are those of the squares of their entries.
    close = 16 * np.finfo(float).eps * np.abs(rows).max() ** 2
    np.testing.assert_allclose(in_data_units(splits.total), by_pairs(rows, rows), atol=close)
    plain = list(data.moments.pairs())
    folds = np.arange(len(rows)) % 4
    for pair in splits.pairs():
        training, held = rows[folds != pair.number], rows[folds == pair.number]
        np.testing.assert_allclose(in_data_units(pair.training), by_pairs(training, rows), atol=close)
        np.testing.assert_allclose(pair.training.mean * pair.training.unit, training.mean(axis=0), rtol=1e-10)
        # Rows that are held out are never weighed.
        assert pair.held_out.weight == len(held)
        expected = plain[pair.number].held_out
        np.testing.assert_allclose(in_data_units(pair.held_out), in_data_units(expected), atol=close)


@pytest.mark.parametrize(
    ("rows", "cv"), in_turn([X, WIDE], [KFold(3), ShuffleSplit(3, random_state=0), KFold(len(WIDE))])
)
def test_other_splits(cv, rows):
    data = open_for_cv(CorrectedPCACV(cv=cv), rows)
    (weighted,) = data.reweighter.with_pair_weights([pair_weighing])
    splits = list(cv.split(rows))
    for pair in list(weighted.pairs())[:3]:
        training, held = splits[pair.number]
        expected = by_pairs(rows[training], rows)
        np.testing.assert_allclose(in_data_units(pair.training), expected, atol=1e-11 * expected.max())
        assert pair.held_out.weight == len(held)


@pytest.mark.parametrize(("rows", "container"), in_turn([X, WIDE], CONTAINERS))
def test_frequencies(container, rows):
    counts = np.arange(len(rows)) % 3
    repeated = np.repeat(rows, counts, axis=0)
    data = open_for_fit(CorrectedPCA(), CONTAINERS[container](rows), counts)
    assert data.reweighter.n_samples == np.count_nonzero(counts)
    (splits,) = data.reweighter.with_pair_weights([pair_weighing])
    expected = by_pairs(repeated, repeated)
    np.testing.assert_allclose(in_data_units(splits.total), expected, atol=1e-11 * expected.max())


def test_roots_of_laplacians():
    rng = np.random.default_rng(0)
    weights = rng.uniform(size=(8, 8))
    weights = np.triu(weights, 1) + np.triu(weights, 1).T
    parts = weights * (np.arange(8)[:, None] // 4 == np.arange(8) // 4)  # not connected
    shares = rng.uniform(size=8)
    shares /= shares.sum()
    V = rng.standard_normal((8, 3))
    V -= shares @ V
    for some in (weights, parts, np.zeros((8, 8))):
        L = laplacian(some)
        np.testing.assert_allclose(L @ np.ones(8), 0, atol=1e-15)
        M = laplacian_root(L, shares)
        expected = sum(some[i, j] * np.outer(V[i] - V[j], V[i] - V[j]) for i in range(8) for j in range(i))
        np.testing.assert_allclose((M @ V).T @ (M @ V), expected, atol=1e-12)
