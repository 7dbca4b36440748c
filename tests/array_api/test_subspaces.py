"""The batched iteration against LAPACK, on spectra that are easy and on those that are not."""

import numpy as np
import pytest

from attenua.array_api import subspaces
from attenua.array_api.namespace import namespace_of
from attenua.array_api.stacks import CovarianceStack, RowStack
from attenua.array_api.subspaces import leading_subspaces

ALPHAS = np.linspace(0, 1, 11)
P, RANK = 150, 4


def with_spectrum(values, random):
    Q = np.linalg.qr(random.standard_normal((P, P)))[0]
    return (Q * values) @ Q.T


def spiked(random):
    return with_spectrum(np.append(np.geomspace(20, 2, 6), random.uniform(0.2, 1, P - 6)), random)


def near_crossing(random):
    return with_spectrum(np.append([5, 4, 3, 2 + 1e-7, 2, 1.9], random.uniform(0.2, 1, P - 6)), random)


def flat(random):
    return with_spectrum(1 + 1e-3 * random.uniform(size=P), random)


def unequal_scales(random):
    scales = np.exp(random.uniform(-6, 6, P))
    return spiked(random) * np.outer(scales, scales)


def few_rows(random):
    return np.cov(random.standard_normal((P, 20)))


def doubled_columns(random):
    X = random.standard_normal((200, P // 2))
    return np.cov(np.hstack([X, X]).T)


def diagonal(random):
    return np.diag(random.uniform(1, 3, P))


KINDS = (spiked, near_crossing, flat, unequal_scales, few_rows, doubled_columns, diagonal)


def stack_of_matrices(lib, S, within=None):
    matrices = lib.array(S)
    within = None if within is None else lib.array(within)
    return CovarianceStack(namespace_of(matrices), matrices, lib.array(np.zeros(S.shape[:2])), within)


def check(lib, found, S, part, scale=None):
    """Compare with LAPACK: subspaces to what rounding and 1e-8 allow, captured eigenvalues to rounding."""
    basis, gap, tied = (lib.numpy(x) for x in (found.basis, found.gap, found.tied))
    for m, matrix in enumerate(S):
        for a, alpha in enumerate(ALPHAS):
            T = matrix - alpha * part[m]
            values, vectors = np.linalg.eigh(T)
            values, U = values[::-1], vectors[:, ::-1][:, :RANK]
            size = np.abs(values).max()
            B = basis[m, a]
            np.testing.assert_allclose(B.T @ B, np.eye(RANK), atol=1e-10)
            assert np.trace(B.T @ T @ B) == pytest.approx(values[:RANK].sum(), abs=1e-12 * max(size, 1e-300))
            true_gap = values[RANK - 1] - values[RANK]
            assert gap[m, a] == pytest.approx(true_gap, abs=max(1e-6 * true_gap, 1e-12 * size))
            if not tied[m, a]:
                allowed = 1e-8 + 1e-13 * size / true_gap
                assert np.linalg.norm(B - U @ (U.T @ B), 2) <= allowed


@pytest.mark.parametrize("kind", KINDS)
def test_every_strength_against_lapack(lib, kind):
    random = np.random.default_rng(0)
    S = np.stack([kind(random) for _ in range(2)])
    S = (S + S.transpose(0, 2, 1)) / 2
    found = leading_subspaces(stack_of_matrices(lib, S), lib.array(ALPHAS), RANK)
    check(lib, found, S, [np.diag(np.diag(matrix)) for matrix in S])
    if kind in (spiked, near_crossing, few_rows):
        assert not lib.numpy(found.exact).any()


def test_what_cannot_be_settled_is_decomposed_and_says_so(lib, monkeypatch):
    random = np.random.default_rng(0)
    S = np.stack([spiked(random), flat(random)])
    monkeypatch.setattr(subspaces, "_MOST_ROUNDS", 4)
    found = leading_subspaces(stack_of_matrices(lib, S), lib.array(ALPHAS), RANK)
    exact = lib.numpy(found.exact)
    assert not exact[0].any()
    assert exact[1].all()
    check(lib, found, S, [np.diag(np.diag(matrix)) for matrix in S])


def test_columns_beyond_decomposition_warn_where_they_are_not_settled(lib, monkeypatch):
    S = flat(np.random.default_rng(0))[None]
    monkeypatch.setattr(subspaces, "_MOST_ROUNDS", 3)
    monkeypatch.setattr(subspaces, "_DENSE_LIMIT", 100)
    with pytest.warns(UserWarning, match="did not converge in 3 rounds"):
        leading_subspaces(stack_of_matrices(lib, S), lib.array(ALPHAS), RANK)


def test_blocks(lib):
    random = np.random.default_rng(0)
    S = np.stack([spiked(random) for _ in range(2)])
    labels = np.arange(P) // 5
    within = (labels[:, None] == labels).astype(float)
    found = leading_subspaces(stack_of_matrices(lib, S, within), lib.array(ALPHAS), RANK)
    check(lib, found, S, S * within)


@pytest.mark.parametrize("own_rows", [False, True])
def test_through_the_rows(lib, own_rows):
    random = np.random.default_rng(0)
    rows = random.standard_normal((2, 30, P)) if own_rows else random.standard_normal((30, P))
    rows = rows + 3 * random.standard_normal((30, 3)) @ random.standard_normal((3, P))
    weights = random.uniform(0, 1, (2, 30))
    weights[:, :5] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    each = np.broadcast_to(rows, (2, 30, P))
    means = np.einsum("mn,mnp->mp", weights, each)
    centred = each - means[:, None]
    S = np.einsum("mn,mnp,mnq->mpq", weights, centred, centred)
    variances = np.einsum("mpp->mp", S)
    arrays = [lib.array(x) for x in (rows, weights, means, variances, means)]
    stack = RowStack(namespace_of(arrays[0]), *arrays)
    found = leading_subspaces(stack, lib.array(ALPHAS), RANK)
    assert not lib.numpy(found.exact).any()
    check(lib, found, S, [np.diag(v) for v in variances])
    # The same by whole decompositions, and with the columns scaled.
    pairs = lib.array(np.array([0, 1])), lib.array(np.array([0.3, 0.8]))
    expected = S - np.array([0.3, 0.8])[:, None, None] * np.stack([np.diag(v) for v in variances])
    np.testing.assert_allclose(lib.numpy(stack.dense(*pairs)), expected, atol=1e-12)
    G = variances ** (-0.35)
    tempered = leading_subspaces(stack, lib.array(ALPHAS), RANK, tempering=0.7)
    check(lib, tempered, G[:, :, None] * S * G[:, None, :], [np.diag(v) for v in variances * G**2])


def test_tempering_scales_the_columns(lib):
    random = np.random.default_rng(0)
    S = np.stack([unequal_scales(random) for _ in range(2)])
    for tempering in (0.5, 1.0):
        G = np.einsum("mpp->mp", S) ** (-tempering / 2)
        scaled = G[:, :, None] * S * G[:, None, :]
        found = leading_subspaces(stack_of_matrices(lib, S), lib.array(ALPHAS), RANK, tempering=tempering)
        check(lib, found, scaled, [np.diag(np.diag(matrix)) for matrix in scaled])
