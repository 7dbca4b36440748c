"""Leading subspaces against LAPACK on S - alpha*D: what they explain, and angles where there is a gap."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.polynomial import Chebyshev
from sklearn.exceptions import ConvergenceWarning

from attenua import AttenuatedPCA
from attenua._data.moments import ScatterMoments
from attenua._data.rows import HostRows
from attenua._select.rule import attenuation_rule
from attenua._solve import tuning
from attenua._solve.family import MatrixFamily
from attenua._solve.growth import filtered
from attenua._solve.leading import leading_subspaces
from attenua._solve.subspace import leading_of_matrix
from tests.helpers import covariance, exact_components, sine, spiked_rows, within

STRENGTHS = np.linspace(0, 1, 7)


def family_of(S, strengths=STRENGTHS, labels=None):
    """The matrices S - alpha*D of a covariance that is at hand."""
    p = len(S)
    moments = ScatterMoments(1.0, np.zeros(p), np.array(S), np.zeros(p))
    return MatrixFamily(moments, np.asarray(strengths, dtype=float), labels)


def family_of_rows(X, strengths=STRENGTHS, labels=None):
    return MatrixFamily(HostRows(X).moments(), np.asarray(strengths, dtype=float), labels)


def check(S, family, found, rank, labels=None, planted=True):
    """Check what subspaces explain, that their bases are orthonormal, and their angles.

    What a subspace misses is at least its squared sine times the gap, so its shortfall bounds its angles.
    Where planted directions decide the cut, they are accurate by themselves.
    """
    assert len(found) == len(family.strengths)
    for alpha, subspace in zip(family.strengths, found, strict=True):
        T = S - alpha * within(S, labels)
        values, U = np.linalg.eigvalsh(T)[::-1], subspace.basis
        np.testing.assert_allclose(U.T @ U, np.eye(rank), atol=1e-12)
        missed = (values[:rank].sum() - np.trace(U.T @ T @ U)) / np.trace(S)
        assert -1e-13 <= missed <= min(subspace.shortfall, 1e-8) + 1e-13
        np.testing.assert_allclose(subspace.values, values[:rank], atol=1e-8 * np.trace(S))
        gap = values[rank - 1] - values[rank]
        found_sine = sine(U.T, exact_components(S, alpha, rank, labels))
        assert found_sine <= 1e-7 + np.sqrt((subspace.shortfall + 1e-15) * np.trace(S) / gap)
        if planted:
            assert found_sine <= 1e-7


@pytest.mark.parametrize("size", [9, 64, 65, 128])
@pytest.mark.parametrize("rank", [1, 5, 8])
def test_small_matrices_are_decomposed(size, rank):
    S = covariance(spiked_rows(2 * size, size, rank=min(rank, 6)))
    found = leading_subspaces(family_of(S), rank)
    assert {subspace.shortfall for subspace in found} == {0.0}
    check(S, family_of(S), found, rank)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "p", "rank", "keeps_rows"),
    [
        (50, 700, 3, False),
        (50, 700, 3, True),
        (300, 700, 6, True),
        (900, 500, 4, False),
        (40, 900, 10, True),
        (300, 150, 2, False),
    ],
)
def test_shared_basis(n, p, rank, keeps_rows, monkeypatch):
    if keeps_rows:
        monkeypatch.setattr("attenua._data.rows._ALWAYS_SCATTER", 0)
        monkeypatch.setattr("attenua._data.rows._NEVER_SCATTER", 0)
    X = spiked_rows(n, p, rank=4)
    S = covariance(X)
    family = family_of_rows(X) if keeps_rows else family_of(S)
    assert family.moments.forms_covariance != keeps_rows
    found = leading_subspaces(family, rank)
    check(S, family, found, rank, planted=rank <= 4)
    for alpha, subspace in zip(STRENGTHS, found, strict=True):
        values = np.linalg.eigvalsh(S - alpha * np.diag(np.diag(S)))[::-1]
        # The gap is only a measure of how well the cut is determined; the next eigenvalue is not iterated on.
        assert subspace.gap == pytest.approx(values[rank - 1] - values[rank], rel=0.2)


def test_shared_basis_finds_what_appears_only_at_strong_attenuation():
    # Strong independent columns lead at alpha = 0; a weak correlated block leads at alpha = 1.
    p, rank = 500, 3
    S = np.diag(np.full(p, 1.0))
    S[np.arange(rank), np.arange(rank)] = [50.0, 40.0, 30.0]
    S[400:, 400:] += 0.1
    family = family_of(S, [0.0, 1.0])
    check(S, family, leading_subspaces(family, 1), 1)


@pytest.mark.parametrize("rank", [1, 3, 12])
def test_a_flat_spectrum_has_no_angles_but_all_of_the_variance(rank):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((400, 400)))[0]
    S = (Q * (1 + 1e-7 * np.arange(400))) @ Q.T
    S = (S + S.T) / 2
    family = family_of(S, [0.0, 0.5])
    check(S, family, leading_subspaces(family, rank), rank, planted=False)


@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("rank", [2, 15])
def test_noise_alone_has_all_of_the_variance(n, rank):
    X = np.random.default_rng(0).standard_normal((n, 300))
    family = family_of(covariance(X))
    check(covariance(X), family, leading_subspaces(family, rank), rank, planted=False)


def test_what_falls_short_is_decomposed_where_that_is_affordable(monkeypatch):
    monkeypatch.setattr(tuning, "MOST_ROUNDS", 1)  # no time at all
    S = covariance(spiked_rows(60, 600, rank=4))
    family = family_of(S, STRENGTHS[:2])
    check(S, family, leading_subspaces(family, 4), 4)


def test_what_falls_short_and_cannot_be_decomposed_says_by_how_much(monkeypatch):
    monkeypatch.setattr(tuning, "MOST_ROUNDS", 3)
    monkeypatch.setattr(tuning, "DENSE_LIMIT", 100)
    monkeypatch.setattr(tuning, "EXACT_SIZE", 100)
    X = spiked_rows(300, 700, rank=4)
    monkeypatch.setattr("attenua._data.rows._ALWAYS_SCATTER", 0)
    monkeypatch.setattr("attenua._data.rows._NEVER_SCATTER", 0)
    family = family_of_rows(X, [0.5])
    with pytest.warns(ConvergenceWarning, match="of the total variance less than the best one"):
        (found,) = leading_subspaces(family, 6)
    S = covariance(X)
    T = S - 0.5 * np.diag(np.diag(S))
    missed = np.linalg.eigvalsh(T)[-6:].sum() - np.trace(found.basis.T @ T @ found.basis)
    assert 0 < missed / np.trace(S) <= found.shortfall


@pytest.mark.parametrize("ratio", [1e3, 1e6])
@pytest.mark.parametrize("p", [5, 400])
def test_one_large_variance_is_no_tie(ratio, p):
    values = np.append(ratio**2, np.geomspace(9, 1, p - 1))
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((p - 1, p - 1)))[0]
    S = np.zeros((p, p))
    S[0, 0], S[1:, 1:] = values[0], (Q * values[1:]) @ Q.T
    (found,) = leading_subspaces(family_of((S + S.T) / 2, [0.0]), 2)
    assert not found.tied
    truth = np.zeros((2, p))
    truth[0, 0], truth[1, 1:] = 1, Q[:, 0]
    assert sine(found.basis.T, truth) < 1e-6


def test_a_matrix_of_rounding_errors_is_a_tie():
    # Uncorrelated columns at alpha = 1: nothing but rounding is left.
    S = np.diag([4.0, 3.0, 2.0, 1.0])
    noise = 1e-16 * np.random.default_rng(0).standard_normal((4, 4))
    (found,) = leading_subspaces(family_of(S + noise + noise.T, [1.0]), 2)
    assert found.tied


@pytest.mark.parametrize("rank", [2, 600])
def test_nothing_varies_or_nothing_is_cut(rank):
    for found in leading_subspaces(family_of(np.zeros((600, 600)), [0.5, 0.7]), rank):
        assert found.tied == (rank == 2)
        assert found.shortfall == 0
        np.testing.assert_array_equal(found.basis, np.eye(600, rank))


@pytest.mark.parametrize("p", [6, 300])
def test_equal_variances_have_the_same_subspace_at_every_strength(p):
    X = spiked_rows(200, p)
    S = covariance(X / X.std(axis=0))
    np.fill_diagonal(S, 1.0)
    found = leading_subspaces(family_of(S), 2)
    for alpha, subspace in zip(STRENGTHS, found, strict=True):
        np.testing.assert_array_equal(subspace.basis, found[0].basis)
        np.testing.assert_allclose(subspace.values, np.linalg.eigvalsh(S)[::-1][:2] - alpha, rtol=1e-8)


def test_one_or_two_exact_ones_are_decomposed():
    """Of noise alone, whose cut has no clear gap, angles are accurate all the same."""
    X = np.random.default_rng(0).standard_normal((200, 150))
    S, strengths = covariance(X), [0.3, 1.0]
    found = leading_subspaces(family_of_rows(X, strengths), 5)
    for alpha, subspace in zip(strengths, found, strict=True):
        assert subspace.shortfall == 0
        assert sine(subspace.basis.T, exact_components(S, alpha, 5)) < 1e-10


def test_equal_variances_have_the_same_subspace_when_asked_for_one_by_one(monkeypatch):
    """Noise alone has no clear cut, and to look for it twice would give two answers."""
    monkeypatch.setattr(tuning, "EXACT_SIZE", 0)
    X = np.random.default_rng(0).standard_normal((200, 150))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    (plain,), (attenuated,) = (leading_subspaces(family_of_rows(X, [alpha]), 10) for alpha in (0.0, 0.9))
    np.testing.assert_array_equal(plain.basis, attenuated.basis)
    np.testing.assert_allclose(plain.values - attenuated.values, 0.9)


@pytest.mark.slow
def test_many_components_of_few_rows():
    X, rank = spiked_rows(120, 900, rank=6), 119
    family = family_of_rows(X, [0.5])
    check(covariance(X), family, leading_subspaces(family, rank), rank, planted=False)


@pytest.mark.slow
def test_a_full_basis_is_shrunk_and_goes_on(monkeypatch):
    monkeypatch.setattr(tuning, "BASIS_BYTES", 0)
    for n in (50, 400):
        S = covariance(spiked_rows(n, 800, rank=4))
        check(S, family_of(S), leading_subspaces(family_of(S), 4), 4)


@pytest.mark.parametrize(
    ("n", "width", "as_rows"),
    [
        (30, 3, np.asarray),
        (30, 290, sp.csr_array),
        pytest.param(900, 3, sp.csr_array, marks=pytest.mark.slow),
        pytest.param(900, 290, np.asarray, marks=pytest.mark.slow),
    ],
)
def test_feature_groups(n, width, as_rows):
    X = spiked_rows(n, 600, rank=4)
    labels = np.random.default_rng(0).permutation(np.arange(600) // width)
    family = family_of_rows(as_rows(X), STRENGTHS, labels)
    # Wide blocks have large eigenvalues, so the spectrum begins far below zero: filters are slow, and angles
    # only follow from what is explained.
    check(covariance(X), family, leading_subspaces(family, 3), 3, labels, planted=width < 100)


def test_tie_at_the_cut_is_reported_and_canonical():
    S = np.diag([3.0, 2.0, 2.0, 2.0, 1.0])
    rng = np.random.default_rng(0)
    for _ in range(5):
        noise = rng.standard_normal((5, 5)) * 1e-15
        (found,) = leading_subspaces(family_of(S + noise + noise.T, [0.0]), 2)
        assert found.tied
        # Among the tied axes the first is taken, whatever the rounding.
        assert sine(found.basis.T, np.eye(5)[:2]) < 1e-8


def test_a_tie_of_a_large_matrix_is_canonical_too():
    S = np.diag(np.append([3.0, 2.0, 2.0, 2.0], np.linspace(1, 0.1, 296)))
    rng = np.random.default_rng(0)
    for _ in range(3):
        noise = rng.standard_normal((300, 300)) * 1e-16
        (found,) = leading_subspaces(family_of(S + noise + noise.T, [0.0]), 2)
        assert found.tied
        assert sine(found.basis.T, np.eye(300)[:2]) < 1e-8


def test_whole_space_has_no_cut():
    (found,) = leading_subspaces(family_of(np.eye(4), [0.5]), 4)
    assert not found.tied
    assert found.gap == np.inf


@pytest.mark.parametrize("shape", [(60, 12), (40, 600), (300, 200)])
def test_a_rule_gives_one_subspace_for_every_strength(shape):
    moments = HostRows(spiked_rows(*shape)).moments()
    rule = attenuation_rule([0, 0.3, 1, 0.7], shape[1])
    found = dict(rule.subspaces(moments, 2))
    assert sorted(found) == [0, 1, 2, 3]
    for i, strengths in enumerate(rule.strengths):
        ((_, alone),) = rule.with_strengths([strengths]).subspaces(moments, 2)
        assert sine(found[i].basis.T, alone.basis.T) < 1e-7


def test_no_warning_where_all_is_well():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        leading_subspaces(family_of_rows(spiked_rows(300, 700)), 3)


def flat(kind):
    """Large sparse rows without a gap in their spectrum."""
    if kind == "random":
        return sp.random(3_000, 6_000, density=0.003, random_state=0, format="csr")
    diagonal = sp.diags(1 + 1e-3 * np.random.default_rng(0).random(5_200))
    return sp.vstack([diagonal, -diagonal]).tocsr()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["random", "diagonal"])
def test_sparse_rows_with_a_flat_spectrum(kind):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        model = AttenuatedPCA(5, alpha=0.5).fit(flat(kind))
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(5), atol=1e-8)
    if model.shortfall_ > 1e-8:
        assert any(issubclass(w.category, ConvergenceWarning) and "explain" in str(w.message) for w in said)


@pytest.mark.filterwarnings("ignore:The cut at")  # the axes of constant columns are all as good
@pytest.mark.parametrize(
    ("n", "p", "varying", "rank", "as_rows"),
    [
        (400, 200, 40, 30, np.asarray),
        (60, 560, 20, 30, sp.csr_matrix),
        (60, 560, 20, 30, np.asarray),
        (300, 200, 99, 60, sp.csr_matrix),
    ],
)
def test_constant_columns_are_found_where_other_eigenvalues_are_negative(n, p, varying, rank, as_rows):
    """Nothing maps into the axes of constant columns, so growing the basis never finds them."""
    X = np.zeros((n, p))
    X[:, :varying] = spiked_rows(n, varying)
    S = np.cov(X.T, bias=True)
    T = S - np.diag(np.diag(S))
    W = AttenuatedPCA(rank, alpha=1.0).fit(as_rows(X)).components_
    missed = np.linalg.eigvalsh(T)[::-1][:rank].sum() - np.trace(W @ T @ W.T)
    assert missed <= 1e-8 * np.trace(S)


def test_the_filter_is_a_chebyshev_polynomial():
    """Against numpy's, in the eigenbasis: C_q((t - c)/h) / C_q((theta - c)/h) for each eigenvalue t."""
    spectrum, theta, degree = np.array([9.0, 4.0, 2.5, 1.0, 0.5]), 8.0, 6
    v = np.ones(5) / np.sqrt(5)
    found = filtered(
        lambda V: spectrum[:, None] * V, v[:, None], np.array([theta]), np.array([0]), (0.5, 4.0), degree
    )
    C = Chebyshev.basis(degree)
    expected = C((spectrum - 2.25) / 1.75) / C((theta - 2.25) / 1.75) * v
    # Scaled by powers of twice the growth, which only approach the polynomial's value at theta.
    ratios = found[:, 0] / expected
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-10)


def test_the_gap_from_the_inner_products_of_few_rows():
    X = spiked_rows(30, 600)
    (found,) = leading_subspaces(MatrixFamily(HostRows(X).moments(), np.zeros(1)), 3, exact=False)
    values = np.linalg.svd(X - X.mean(axis=0), compute_uv=False) ** 2 / len(X)
    unit = HostRows(X).moments().unit
    assert found.gap * unit**2 == pytest.approx(values[2] - values[3])


def test_a_decomposition_in_which_lapack_finds_nothing_is_done_another_way(monkeypatch):
    """LAPACK's search for a few eigenvalues fails on some matrices with many equal ones, or returns none."""
    S = covariance(spiked_rows(200, 150))

    def fails(T, **options):
        raise np.linalg.LinAlgError("Internal Error.")

    for eigh in (fails, lambda T, **options: (np.empty(0), np.empty((len(T), 0)))):
        monkeypatch.setattr("scipy.linalg.eigh", eigh)
        found = leading_of_matrix(S, 3, np.trace(S)).basis.T
        assert sine(found, exact_components(S, 0.0, 3)) < 1e-10
