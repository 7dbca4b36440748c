"""Groups of columns, and kernels of neighbours against matrix exponentials of dense Laplacians."""

import re
import tracemalloc
from decimal import Decimal, localcontext

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import expm
from sklearn.feature_extraction.image import grid_to_graph

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._correct import columns
from attenua._correct.columns import GraphSmoother, column_labels, column_smoother
from tests.helpers import in_turn

P = 24
LINE = np.eye(P, k=1) + np.eye(P, k=-1)


def random_graph(seed=0):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.uniform(0.1, 3, (P, P)) * (rng.uniform(size=(P, P)) < 0.15), 1)
    return upper + upper.T


def kernel(adjacency, h):
    adjacency = adjacency - np.diag(np.diag(adjacency))
    return expm(-(h**2) / 2 * (np.diag(adjacency.sum(axis=1)) - adjacency))


# What a user gives, and the adjacency matrix that it means.
CASES = {
    "line": ("line", LINE),
    "shape of a line": ((P,), LINE),
    "grid": ((4, 6), grid_to_graph(4, 6).toarray()),
    "grid as a list": ([4, 6], grid_to_graph(4, 6).toarray()),
    "numpy integers": (tuple(np.array([6, 4])), grid_to_graph(6, 4).toarray()),
    "three axes": ((2, 3, 4), grid_to_graph(2, 3, 4).toarray()),
    "axes of one": ((1, P, 1), LINE),
    "sparse line": (sp.csr_array(LINE), LINE),
    "sparse grid, with a diagonal": (grid_to_graph(4, 6), grid_to_graph(4, 6).toarray()),
    "booleans": (LINE > 0, LINE),
    "lists": (LINE.tolist(), LINE),
    "weights": (random_graph(), random_graph()),
    "sparse weights": (sp.coo_matrix(random_graph()), random_graph()),
    "no edges": (np.eye(P), np.zeros((P, P))),
}


@pytest.mark.parametrize(("case", "h"), in_turn(CASES, [0.01, 0.3, 1.0, 4.0, 30.0]))
def test_kernels_are_matrix_exponentials(case, h):
    neighbours, adjacency = CASES[case]
    smoother = column_smoother(neighbours, P)
    K = smoother.smooth(np.eye(P), h)
    np.testing.assert_allclose(K, kernel(adjacency, h), atol=1e-11)
    np.testing.assert_allclose(K, K.T, atol=1e-14)
    np.testing.assert_allclose(K.sum(axis=1), 1, atol=1e-12)
    assert K.min() > -1e-14
    vector = np.arange(P, dtype=float)
    np.testing.assert_allclose(smoother.smooth(vector, h), K @ vector, atol=1e-11)


def test_strength_0_changes_nothing():
    V = np.arange(2.0 * P).reshape(P, 2)
    for neighbours, _ in CASES.values():
        assert column_smoother(neighbours, P).smooth(V, 0.0) is V


def test_arguments_are_not_written_to():
    for neighbours, _ in CASES.values():
        V = np.arange(2.0 * P).reshape(P, 2)
        column_smoother(neighbours, P).smooth(V, 1.0)
        np.testing.assert_array_equal(V, np.arange(2.0 * P).reshape(P, 2))


def test_the_strength_is_a_standard_deviation_in_columns():
    places = np.arange(201) - 100
    for h in (0.5, 3.0, 10.0):
        weights = column_smoother("line", 201).smooth((places == 0).astype(float), h)
        assert np.sqrt(weights @ places**2) == pytest.approx(h, rel=1e-9)


def test_columns_and_graph_may_be_permuted_together():
    adjacency, V = random_graph(), np.random.default_rng(1).standard_normal((P, 3))
    order = np.random.default_rng(2).permutation(P)
    expected = column_smoother(adjacency, P).smooth(V, 1.3)[order]
    found = column_smoother(adjacency[np.ix_(order, order)], P).smooth(V[order], 1.3)
    np.testing.assert_allclose(found, expected, atol=1e-13)


@pytest.mark.parametrize("neighbours", ["line", sp.csr_array(LINE)])
def test_much_smoothing_leaves_the_mean(neighbours):
    V = np.random.default_rng(0).standard_normal((P, 2))
    found = column_smoother(neighbours, P).smooth(V, 1000.0)
    np.testing.assert_allclose(found, np.broadcast_to(V.mean(axis=0), V.shape), atol=1e-11)


def test_large_weights_are_as_accurate():
    adjacency = 1e6 * random_graph()
    found = column_smoother(adjacency, P).smooth(np.eye(P), 1e-3)
    np.testing.assert_allclose(found, kernel(adjacency, 1e-3), atol=1e-11)


def exact_kernel(adjacency, h):
    """exp(-h² L / 2) in 90 decimals, by squaring; the sizes of the weights are the degrees."""
    with localcontext() as context:
        context.prec = 90
        one = np.array([[Decimal(int(i == j)) for j in range(len(adjacency))] for i in range(len(adjacency))])
        weights = np.array([[Decimal(weight) for weight in row] for row in adjacency.tolist()])
        exponent = Decimal(h) ** 2 / 2 * (weights - one * np.abs(weights).sum(axis=1))
        halvings = int(np.abs(exponent).max() * len(one)).bit_length() + 8
        exponent = exponent / 2**halvings
        K = one
        for k in range(24, 0, -1):
            K = one + exponent @ K / k
        for _ in range(halvings):
            K = K @ K
        return K.astype(float)


def uneven_graph(large, *, signed=False):
    """Six nodes with weights of about 1, of the root of a large one, and the large one."""
    upper = np.triu(random_graph(1)[:6, :6] + 1.0, 1) * (np.random.default_rng(3).uniform(size=(6, 6)) < 0.5)
    upper[0, 1], upper[2, 4] = large, np.sqrt(large)
    if signed:
        upper[0, 1], upper[1, 3] = -upper[0, 1], -1.0
    return upper + upper.T


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("large", [1.0, 1e4, 1e8, 1e12, 1e16, 1e29])
@pytest.mark.parametrize("h", [1e-3, 1.0])
def test_huge_weights_leave_the_others_exact(large, h, signed):
    """Here scipy's expm is off by 1e-9 at weights of 1e8, and by 0.1 at 1e16."""
    adjacency = uneven_graph(large, signed=signed)
    found = GraphSmoother(sp.coo_array(adjacency)).smooth(np.eye(6), h)
    np.testing.assert_allclose(found, exact_kernel(adjacency, h), atol=2e-14)


@pytest.mark.parametrize("large", [10.0, 1e3, 1e5, 1e6])
def test_kernels_are_those_of_scipy_as_far_as_it_is_accurate(large):
    for h in (0.1, 1.0, 3.0):
        adjacency = large * random_graph()
        found = column_smoother(adjacency, P).smooth(np.eye(P), h)
        np.testing.assert_allclose(found, kernel(adjacency, h), atol=1e-15 * large * h**2 * P + 1e-13)


def test_the_polynomial_and_the_matrix_agree_where_one_takes_over(monkeypatch):
    adjacency, V = 300 * random_graph(), np.random.default_rng(0).standard_normal((P, 3))
    found = []
    for few in (0, 5_000):
        monkeypatch.setattr(columns, "_FEW_PRODUCTS", few)
        found.append(column_smoother(adjacency, P).smooth(V, 4.0))
    np.testing.assert_allclose(*found, atol=1e-11)


def test_near_duplicates_on_a_graph_are_fitted_soon():
    """One weight of 1e8, as 1/d² of near-duplicates gives, took half a minute and more."""
    X = np.random.default_rng(0).standard_normal((40, 20))
    adjacency = np.eye(20, k=1) + np.eye(20, k=-1)
    for large in (1e8, 1e12, 1e20):
        adjacency[0, 1] = adjacency[1, 0] = large
        model = CorrectedPCA(2, smoothing=1.0, neighbours=adjacency).fit(X)
        np.testing.assert_allclose(*model.components_[:, :2].T, atol=1e-6)  # the two became one
    CorrectedPCACV(2, corrections=["smoothing"], neighbours=adjacency, cv=3).fit(X)
    np.testing.assert_allclose(
        CorrectedPCA(2, smoothing=1e6, neighbours=random_graph()[:20, :20]).fit(X).components_ ** 2 >= 0, True
    )


@pytest.mark.parametrize(
    ("p", "weight", "strength"),
    [
        (20, 1e40, 1.0),
        (20, 1e300, 1.0),
        (20, 1.0, 1e30),
        (20, 1.0, 1e200),
        (600, 1e9, 1.0),
        (600, 1.0, 1e6),
    ],
)
def test_too_much_smoothing_names_the_largest_sensible_weight(p, weight, strength):
    X = np.random.default_rng(0).standard_normal((30, p))
    adjacency = weight * sp.diags_array([np.ones(p - 1)] * 2, offsets=[-1, 1], shape=(p, p))
    with pytest.raises(ValueError, match=r"neighbours has weights up to .* Use weights up to") as error:
        CorrectedPCA(1, smoothing=strength, neighbours=adjacency).fit(X)
    sensible = [float(number) for number in re.findall(r"up to (\S+?)(?:,|\.$)", str(error.value))]
    weights, strengths = sensible[-2:]
    assert weights < weight
    CorrectedPCA(1, smoothing=strengths, neighbours=adjacency).fit(X)
    CorrectedPCA(1, smoothing=strength, neighbours=weights / weight * adjacency).fit(X)


@pytest.mark.parametrize("strength", [1e6, 1e150, 1e200, 1e308])
def test_endless_smoothing_of_a_line_leaves_the_mean(strength):
    V = np.random.default_rng(0).standard_normal((P, 2))
    found = column_smoother("line", P).smooth(V, strength)
    np.testing.assert_allclose(found, np.broadcast_to(V.mean(axis=0), V.shape), atol=1e-14)


@pytest.mark.parametrize("neighbours", ["line", (250, 400), "graph"])
def test_many_columns_take_little_memory(neighbours):
    p = 100_000
    if neighbours == "graph":
        neighbours = sp.diags_array([np.ones(p - 1)] * 2, offsets=[-1, 1], shape=(p, p))
    V = np.random.default_rng(0).standard_normal((p, 10))
    tracemalloc.start()
    try:
        found = column_smoother(neighbours, p).smooth(V, 2.0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 10 * V.nbytes
    np.testing.assert_allclose(found.mean(axis=0), V.mean(axis=0), atol=1e-13)


def test_no_neighbours_no_smoother():
    assert column_smoother(None, P) is None


ONE_WAY = LINE.copy()
ONE_WAY[3, 4] = 0
REFUSED = {
    "a word": ("ring", "None, 'line', the shape .* got 'ring'"),
    "a shape as text": ("4x6", "None, 'line', the shape .* got '4x6'"),
    "a number": (24, "None, 'line'|shape"),
    "other product": ((5, 5), r"\(5, 5\) is a grid of 25 columns, but the data have 24"),
    "no axes": ((), "positive lengths"),
    "negative lengths": ((-4, -6), "positive lengths"),
    "fractions": ((4.5, 6.0), r"shape"),
    "other size": (np.eye(5), r"of the 24 columns, of shape \(24, 24\); got shape \(5, 5\)"),
    "not symmetric": (ONE_WAY, "symmetric adjacency matrix; columns 3 and 4 have the weights 0 and 1"),
    "too large": (
        1.5e308 * LINE,
        r"weights up to 1.5e\+308, whose sums may overflow. Use weights up to 1e\+300",
    ),
    "negative": (-LINE, "without negative weights; got -1"),
    "NaN": (np.where(LINE > 0, np.nan, 0), "finite"),
    "infinity": (np.where(LINE > 0, np.inf, 0), "finite"),
    "words": ([["a"] * P] * P, "None, 'line'"),
    "an object": (object(), "None, 'line'"),
    "three axes of numbers": (np.ones((P, P, 2)), "None, 'line'"),
    "one sparse axis": (sp.coo_array(np.ones(P)), "None, 'line'"),
}


def test_what_is_refused():
    for case in REFUSED:
        neighbours, message = REFUSED[case]
        with pytest.raises(ValueError, match=f"neighbours.*({message})"):
            column_smoother(neighbours, P)


def test_forms_of_the_same_partition_agree():
    by_label = column_labels(["b", "a", "b", "a"], 4)
    by_lists = column_labels([[1, 3], [0, 2]], 4)
    by_arrays = column_labels([np.array([1, 3]), range(0, 4, 2)], 4)
    np.testing.assert_array_equal(by_label, by_lists)
    np.testing.assert_array_equal(by_label, by_arrays)
    assert column_labels(None, 4) is None


NO_PARTITIONS = [
    ([], "feature_groups is empty"),
    ([[0, 1], []], r"feature_groups\[1\] is empty"),
    ([[0, 1], [2]], "must cover every column; 1 of 4 are in no group, the first is column 3"),
    ([[0, 1], [1, 2, 3]], r"names a column twice \(column 1\)"),
    ([[0, 0], [1, 2, 3]], "names a column twice"),
    ([[0, 1], [2, 4]], "names column 4, but the data have columns 0 to 3"),
    ([[0.0, 1.5], [2, 3]], "must hold column indices"),
    ([0, 1, 1], "one label for each of the 4 columns"),
    ([0, 1, np.nan, 1], "NaN or infinite"),
    ("abcd", "must be None, one label per column"),
    (3, "must be None, one label per column"),
]


def test_what_is_not_a_partition_is_refused():
    for groups, message in NO_PARTITIONS:
        with pytest.raises(ValueError, match=message):
            column_labels(groups, 4)
