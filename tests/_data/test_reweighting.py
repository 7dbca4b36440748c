"""Rows that are read again with weights, of rows and of pairs, against loops."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.model_selection import KFold, ShuffleSplit

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._data import reweighting
from attenua._data.opening import open_for_cv, open_for_fit
from attenua._data.reweighting import Gathered, factored, joined, laplacian, laplacian_root
from tests.helpers import in_turn, spiked_rows
from tests.literal import robust_centre

X = spiked_rows(30, 6)
WIDE = spiked_rows(20, 530)


def row_weighing(squares):
    return 1 / (1 + squares)


def pair_weighing(squares):
    return np.where(squares > 0, 1 / (1 + squares), 0.0)


def by_rows(rows, all_rows):
    """The covariance with weights."""
    centre, square = robust_centre(all_rows)
    weights = row_weighing(np.sum((rows - centre) ** 2, axis=1) / square)
    centred = rows - np.average(rows, axis=0, weights=weights)
    return (centred.T * weights) @ centred / weights.sum()


def by_pairs(rows, all_rows):
    """The sum over all pairs."""
    total = all_rows.var(axis=0).sum()
    pairs = np.array([rows[i] - rows[j] for i in range(len(rows)) for j in range(i)])
    weights = pair_weighing(np.sum(pairs**2, axis=1) / (2 * total))
    return (pairs.T * weights) @ pairs / len(rows) ** 2


BY_HAND = {"with_row_weights": (row_weighing, by_rows), "with_pair_weights": (pair_weighing, by_pairs)}
CONTAINERS = {
    "array": lambda rows: rows,
    "sparse": sp.csr_array,
    "batches": lambda rows: np.split(rows, [4, 5, 17]),
    "sparse batches": lambda rows: [sp.csr_array(batch) for batch in np.split(rows, [4, 5, 17])],
}


def in_data_units(moments):
    return moments.covariance * moments.unit**2


@pytest.mark.parametrize(
    ("rows", "container", "kind"), in_turn([X, WIDE, X * 1e140, X + 1e5], CONTAINERS, BY_HAND, times=2)
)
def test_moments_of_all_rows_and_of_training_sets(kind, container, rows):
    weigh, by_hand = BY_HAND[kind]
    data = open_for_cv(CorrectedPCACV(cv=4), CONTAINERS[container](rows))
    (splits,) = getattr(data.reweighter, kind)([weigh])
    assert (splits.n_splits, splits.n_features) == (4, rows.shape[1])
    # Sparse rows are counted from zero: rounding errors are those of the squares of their entries.
    close = 16 * np.finfo(float).eps * np.abs(rows).max() ** 2
    np.testing.assert_allclose(in_data_units(splits.total), by_hand(rows, rows), atol=close)
    plain = list(data.moments.pairs())
    folds = np.arange(len(rows)) % 4
    for pair in splits.pairs():
        training, held = rows[folds != pair.number], rows[folds == pair.number]
        np.testing.assert_allclose(in_data_units(pair.training), by_hand(training, rows), atol=close)
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
    for kind, (weigh, by_hand) in BY_HAND.items():
        (weighted,) = getattr(data.reweighter, kind)([weigh])
        splits = list(cv.split(rows))
        for pair in list(weighted.pairs())[:3]:
            training, held = splits[pair.number]
            expected = by_hand(rows[training], rows)
            np.testing.assert_allclose(in_data_units(pair.training), expected, atol=1e-11 * expected.max())
            assert pair.held_out.weight == len(held)


@pytest.mark.parametrize(("rows", "container"), in_turn([X, WIDE], CONTAINERS))
def test_frequencies(container, rows):
    counts = np.arange(len(rows)) % 3
    repeated = np.repeat(rows, counts, axis=0)
    data = open_for_fit(CorrectedPCA(), CONTAINERS[container](rows), counts)
    assert data.reweighter.n_samples == np.count_nonzero(counts)
    for kind, (weigh, by_hand) in BY_HAND.items():
        (splits,) = getattr(data.reweighter, kind)([weigh])
        expected = by_hand(repeated, repeated)
        np.testing.assert_allclose(in_data_units(splits.total), expected, atol=1e-11 * expected.max())


@pytest.mark.parametrize("container", [*CONTAINERS, "Dask"])
def test_the_centre_is_that_of_the_same_sample_in_every_container(container):
    """Uneven parts, and rows that drift: other samples would have another centre."""
    drift = np.linspace(0, 3, 700)[:, None]
    rows, counts = spiked_rows(700, 4) * (1 + drift) + drift, np.arange(700) % 4
    repeated = np.repeat(rows, counts, axis=0)
    convert = CONTAINERS.get(container, lambda rows: da.from_array(rows, chunks=(300, 4)))
    for some, weights in ((rows, counts), (repeated, None)):
        again = open_for_fit(CorrectedPCA(), convert(some), weights).reweighter
        (splits,) = again.with_row_weights([row_weighing])
        np.testing.assert_allclose(in_data_units(splits.total), by_rows(repeated, repeated), rtol=1e-10)


def test_several_weighings_take_two_readings():
    class Counted:
        readings = 0

        def __iter__(self):
            self.readings += 1
            return iter(np.split(X, 3))

    batches = Counted()
    again = open_for_fit(CorrectedPCA(), batches).reweighter
    found = again.with_row_weights([row_weighing, np.ones_like, lambda squares: squares])
    assert batches.readings == 3
    assert len(found) == 3
    np.testing.assert_allclose(in_data_units(found[1].total), np.cov(X.T, bias=True), rtol=1e-10)
    again.with_pair_weights([pair_weighing])
    assert batches.readings == 4


def test_batches_that_change_are_found_out():
    class Growing:
        def __init__(self):
            self.batches = [X[:20]]

        def __iter__(self):
            yield from self.batches
            self.batches.append(X[20:])

    for kind in BY_HAND:
        again = open_for_fit(CorrectedPCA(), Growing()).reweighter
        with pytest.raises(ValueError, match=r"X gave 20 rows when it was first read and [34]0 after that"):
            getattr(again, kind)([np.ones_like])


def test_few_rows():
    again = open_for_fit(CorrectedPCA(), X).reweighter
    assert again.has_few_rows
    again.n_samples = reweighting.MOST_PAIRED_ROWS + 1
    assert not again.has_few_rows


def test_rows_that_can_be_read_once():
    assert open_for_fit(CorrectedPCA(), iter([X])).reweighter is None
    assert open_for_cv(CorrectedPCACV(), (batch for batch in [X])).reweighter is None
    assert open_for_cv(CorrectedPCACV(cv=2), [X], groups=iter([np.arange(30)])).reweighter is None


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


def test_parts_are_joined():
    rows, groups, weights = joined([Gathered(X[:3], ["a"] * 3, None), Gathered(X[3:], ["b"] * 27, None)])
    np.testing.assert_array_equal(rows, X)
    assert groups.tolist() == ["a"] * 3 + ["b"] * 27
    assert weights is None
    rows, groups, weights = joined(
        [Gathered(X[:3], None, np.ones(3)), Gathered(sp.csr_array(X[3:]), None, np.zeros(27))]
    )
    np.testing.assert_array_equal(rows.toarray(), X)
    assert (groups, weights.sum()) == (None, 3)


def test_factors_multiply_weights():
    assert factored(None, X, None) is None
    weights = np.arange(30.0)
    assert factored(weights, X, None) is weights
    np.testing.assert_array_equal(factored(None, X, len), 30)
    np.testing.assert_array_equal(factored(weights, X, len), 30 * weights)
