"""The two-matrix expansion, and the anatomy of a drawn sample that rests on it."""

import numpy as np
import pytest
from tests.helpers import each

from attenua_paper.theory import Population, dissect_sample, draw_rows, expand_risk, gap_operator
from attenua_paper.theory.spectrum import cut
from paper.tests.theory.designs import (
    DESIGNS,
    attenuated,
    leading_projector,
    moving,
    solve_sylvester_on_tangent,
)


def perturbation(seed, p=5):
    G = np.random.default_rng(seed).standard_normal((p, p))
    return (G + G.T) / 2


def test_gap_operator_and_its_inverse():
    A, Z = moving(0), perturbation(1)
    P = leading_projector(A, 2)
    X = expand_risk(A, A, Z / 10, 2).Y1 * 10
    np.testing.assert_allclose(X, solve_sylvester_on_tangent(P, A, Z), atol=1e-12)
    np.testing.assert_allclose(gap_operator(A, P, X), (np.eye(5) - P) @ Z @ P, atol=1e-12)


@each("same", [True, False])
def test_the_remainder_falls_like_the_cube(same):
    A = moving(0)
    B = A if same else moving(1)
    F = perturbation(2)
    sizes = np.array([1e-1, 1e-2, 1e-3])
    expansions = [expand_risk(A, B, size * F, 2) for size in sizes]
    remainders = np.array([abs(e.remainder) for e in expansions])
    orders = np.diff(np.log10(remainders)) / np.diff(np.log10(sizes))
    np.testing.assert_allclose(orders, 3, atol=0.15)
    if same:
        assert all(abs(e.linear) < 1e-12 and abs(e.displacement) < 1e-12 for e in expansions)
    # Without any one of its terms the prediction would be of a lower order.
    last = expansions[-1]
    needed = [last.curvature] if same else [last.linear, last.curvature, last.displacement]
    assert min(abs(term) for term in needed) > 100 * remainders[-1]
    P, Q = leading_projector(A, 2), leading_projector(A + sizes[0] * F, 2)
    assert expansions[0].exact == pytest.approx(np.trace(B @ (P - Q)), rel=1e-10)


def test_graph_terms_are_the_taylor_coefficients_of_the_graph():
    """The subspace of A + tF is the graph of t Y1 + t^2 Y2 + ..., read off its own eigenvectors."""
    A, F = moving(0), perturbation(3)
    before = cut(A, 2)

    def graph(t):
        V = cut(A + t * F, 2).retained
        return (
            before.omitted @ (before.omitted.T @ V) @ np.linalg.inv(before.retained.T @ V) @ before.retained.T
        )

    h, expansion = 1e-3, expand_risk(A, A, F / 10, 2)
    np.testing.assert_allclose((graph(h) - graph(-h)) / (2 * h), 10 * expansion.Y1, atol=1e-5)
    np.testing.assert_allclose((graph(h) + graph(-h)) / (2 * h * h), 100 * expansion.Y2, atol=1e-5)


def test_expansion_refuses_bad_input():
    A = moving(0)
    with pytest.raises(ValueError, match="B must be 5 x 5"):
        expand_risk(A, np.eye(4), A, 2)
    with pytest.raises(ValueError, match="F must be symmetric"):
        expand_risk(A, A, np.triu(A), 2)
    with pytest.raises(ValueError, match="A has no gap at rank 2"):
        expand_risk(np.eye(5), A, A, 2)
    with pytest.raises(ValueError, match=r"A \+ F has no gap at rank 2"):
        expand_risk(A, A, -A, 2)


@each("design", DESIGNS)
@each("alpha", [0.0, 0.6])
def test_anatomy_of_a_sample(design, alpha):
    S = DESIGNS[design][0]
    population = Population(S, 2)
    X = draw_rows(S, 400, random_state=0)
    anatomy = dissect_sample(population, X, alpha)
    Sn, P = X.T @ X / 400, population.projector
    N, T = np.eye(len(S)) - P, attenuated(Sn, alpha)
    np.testing.assert_allclose(anatomy.leakage, N @ T @ P, atol=1e-12)
    np.testing.assert_allclose(anatomy.population_leakage, -alpha * population.leakage, atol=1e-12)
    U = population.eigenvectors
    np.testing.assert_allclose(anatomy.a, (U.T @ Sn @ U)[:2, 2:], atol=1e-12)
    couplings = U.T @ (T - attenuated(S, alpha)) @ U
    np.testing.assert_allclose(anatomy.residual_couplings, couplings[:2, 2:], atol=1e-12)
    exact = np.sum(S * (P - leading_projector(T, 2)))
    assert anatomy.excess_risk == pytest.approx(exact, abs=1e-12)
    assert anatomy.bias == pytest.approx(population.bias(alpha), abs=1e-15)


def test_balanced_prediction_is_the_pairwise_sum():
    S, alpha = DESIGNS["balanced"][0], 0.7
    population = Population(S, 2)
    anatomy = dissect_sample(population, draw_rows(S, 300, random_state=1), alpha)
    gaps = population.pairs.gaps
    x = anatomy.residual_couplings / gaps
    assert anatomy.predicted_risk == pytest.approx(np.sum(gaps * x**2), rel=1e-9)
    U = population.eigenvectors
    np.testing.assert_allclose(U[:, 2:].T @ anatomy.rotation @ U[:, :2], x.T, atol=1e-12)


@pytest.mark.slow
@each("design", DESIGNS)
def test_prediction_errors_shrink_like_the_sample_says(design):
    """Risk and rotation: root mean square errors over samples fall like n^(-3/2) and n^(-1)."""
    (S, _), alpha = DESIGNS[design], 0.5
    population = Population(S, 2)
    moved = population.moved_projector(alpha)
    N = np.eye(len(S)) - moved
    errors = []
    for n in (400, 6400):
        found = []
        for seed in range(150):
            X = draw_rows(S, n, random_state=1000 * n + seed)
            anatomy = dissect_sample(population, X, alpha)
            Sn = X.T @ X / n
            turned = N @ leading_projector(attenuated(Sn, alpha), 2) @ moved
            found.append(
                [anatomy.predicted_risk - anatomy.excess_risk, np.linalg.norm(turned - anatomy.rotation)]
            )
        errors.append(np.sqrt(np.mean(np.square(found), axis=0)))
    # Sixteen times the rows: 64 times smaller risk errors, 16 times smaller rotation errors, to a factor 2.
    ratios = errors[0] / errors[1]
    assert 32 < ratios[0] < 128
    assert 8 < ratios[1] < 32


def test_samples_that_are_refused():
    S = DESIGNS["moving"][0]
    with pytest.raises(ValueError, match="X must hold rows of 5 features"):
        dissect_sample(Population(S, 2), np.ones((4, 3)), 0.4)
