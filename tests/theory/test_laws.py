"""Laws of the rows: their moments against integrals in polar coordinates, closed forms and rows they draw."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2

from attenua.theory import (
    ContaminatedNormal,
    CorrectionMap,
    FourthMoments,
    Gaussian,
    LatentCoordinates,
    Population,
    Rows,
    Strengths,
    StudentT,
    draw_rows,
)
from attenua.theory.laws import as_law
from attenua.theory.noise import shortened_gaussian
from tests.theory.definitions import (
    contaminated_powers,
    gaussian_fourth,
    moments_of_rows,
    noise_tensor,
    rows_with_covariance,
    shortened_moments,
    student_powers,
)
from tests.theory.designs import moving

TWO = np.array([[3.0, 1.0], [1.0, 1.5]])
THREE = moving(2, 3, (6, 2, 0.5))
SOME_ROWS = Rows(rows_with_covariance(np.random.default_rng(1), 30, THREE))
ELLIPTICAL = {
    "gaussian": (Gaussian(), lambda power: 1.0),
    "t, 9.5 df": (StudentT(9.5), student_powers(9.5)),
    "contaminated": (ContaminatedNormal(0.1, 4.0), contaminated_powers(0.1, 4.0)),
}


def mean_power_of_chi2(df, power):
    """E[(chi^2)^power] by an integral over the logarithm."""

    def integrand(u):
        return np.exp((power + 1) * u) * chi2.pdf(np.exp(u), df)

    return quad(integrand, -150, 8, points=(-5, 0, 5), limit=500, epsabs=0, epsrel=1e-11)[0]


def tensor_of(second, fourth):
    return fourth - np.einsum("ab,cd->abcd", second, second)


# --- row tempering of Gaussian rows -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("covariance", "kappa"), [(TWO, 0.25), (TWO, 1.0), (THREE, 1e-6), (THREE, 0.01), (THREE, 0.75)]
)
def test_shortened_gaussian_in_polar_coordinates(covariance, kappa):
    values, V = np.linalg.eigh(covariance)
    second, fourth = (m * values.sum() for m in shortened_gaussian(values / values.sum(), kappa))
    expected, tensor = shortened_moments(covariance, kappa)
    scale = values.sum() / np.trace(expected)
    np.testing.assert_allclose((V * second) @ V.T, scale * expected, atol=1e-11)
    rotated = scale**2 * np.einsum("abcd,ai,bi,cj,dj->ij", tensor, V, V, V, V)
    found = (1 + 2 * np.eye(len(values))) * (fourth.T @ fourth)
    np.testing.assert_allclose(found, rotated, rtol=1e-10)


@pytest.mark.parametrize(("values", "kappa"), [((5.0, 0.0, 0.0), 1e-3), ((1.0, 1e-14, 0.0), 0.9)])
def test_shortened_gaussian_of_rank_one(values, kappa):
    """One coordinate: |g|^(-k) g has moments E|g|^(2 - 2k) and E|g|^(4 - 4k), by integrals over chi^2."""
    values = np.array(values)
    second, fourth = shortened_gaussian(values, kappa)
    power_two, power_four = (mean_power_of_chi2(1, power) for power in (1 - kappa, 2 - 2 * kappa))
    np.testing.assert_allclose(second, values, atol=1e-6)
    assert second.sum() == pytest.approx(values.sum(), rel=1e-12)
    expected = values[0] ** 2 * power_four / power_two**2
    assert 3 * np.sum(fourth[:, 0] ** 2) == pytest.approx(expected, rel=1e-7)


def test_directions_of_unequal_variances():
    """At 1 in two dimensions, the share of a direction is its standard deviation's."""
    second, _ = shortened_gaussian(np.array([9.0, 1.0]), 1.0)
    np.testing.assert_allclose(second, 10 * np.array([3, 1]) / 4, rtol=1e-12)


def test_a_little_row_tempering_is_none():
    values = np.array([4.0, 2.0, 1.0, 0.0])
    second, fourth = shortened_gaussian(values, 1e-9)
    np.testing.assert_allclose(second, values, atol=1e-7)
    np.testing.assert_allclose(fourth.T @ fourth, np.outer(values, values), atol=1e-6)


# --- tails --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("df", "power"), [(4.5, 1.0), (5, 0.5), (10, 1.0), (60, 0.25)])
def test_tail_factor_of_student_rows_by_integrals(df, power):
    expected = mean_power_of_chi2(df, -2 * power) / mean_power_of_chi2(df, -power) ** 2
    assert StudentT(df).tail_factor(power) == pytest.approx(expected, rel=1e-9)
    if power == 1:
        assert StudentT(df).tail_factor(1.0) == pytest.approx((df - 2) / (df - 4), rel=1e-12)


def test_tail_factors_by_hand():
    assert Gaussian().tail_factor(0.7) == 1
    assert ContaminatedNormal(0.0, 9.0).tail_factor(1.0) == 1
    assert ContaminatedNormal(1.0, 9.0).tail_factor(0.3) == pytest.approx(1)
    by_hand = (0.8 + 0.2 * 81) / (0.8 + 0.2 * 9) ** 2
    assert ContaminatedNormal(0.2, 3.0).tail_factor(1.0) == pytest.approx(by_hand)
    assert StudentT(1e8).tail_factor(1.0) == pytest.approx(1, abs=1e-6)
    for df in (1, 3, 4):
        assert StudentT(df).tail_factor(1.0) == np.inf
        assert StudentT(df).tail_factor(df / 4) == np.inf
        assert np.isfinite(StudentT(df).tail_factor(0.99 * df / 4))


# --- the noise of each law ----------------------------------------------------------------------------------


@pytest.mark.parametrize("kappa", [0.0, 0.5])
@pytest.mark.parametrize("name", ELLIPTICAL)
def test_noise_of_elliptical_rows(name, kappa):
    law, mean_power = ELLIPTICAL[name]
    second, fourth = shortened_moments(THREE, kappa, mean_power)
    scale = np.trace(THREE) / np.trace(second)
    noise = law.noise(THREE, kappa)
    np.testing.assert_allclose(noise.covariance, scale * second, atol=1e-11)
    expected = tensor_of(scale * second, scale**2 * fourth)
    np.testing.assert_allclose(noise_tensor(noise), expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize(
    "law", ["exponential", StudentT(12), StudentT(6), ContaminatedNormal(0.1, 3.0)], ids=str
)
def test_noise_against_rows_that_are_drawn(law):
    """Every second moment of y y' - Sigma, to five standard errors; t rows with row tempering."""
    kappa = 0.5 if law == StudentT(6) else 0.0
    noise = as_law(law).noise(THREE, kappa)
    rows = draw_rows(THREE, 200_000, law=law, random_state=0)
    y = rows * np.linalg.norm(rows, axis=1, keepdims=True) ** -kappa
    # The scale of y is free.
    if kappa:
        y *= np.sqrt(np.trace(noise.covariance) / np.mean(np.sum(y**2, axis=1)))
    i, j = np.triu_indices(3)
    errors = y[:, i] * y[:, j] - noise.covariance[i, j]
    products = errors[:, :, None] * errors[:, None, :]
    expected = noise_tensor(noise)[i[:, None], j[:, None], i, j]
    off = (products.mean(axis=0) - expected) / (products.std(axis=0) / np.sqrt(len(y)))
    assert np.abs(off).max() < 5
    assert np.abs(errors.mean(axis=0) / errors.std(axis=0) * np.sqrt(len(y))).max() < 5


@pytest.mark.parametrize(
    ("law", "kappa"),
    [
        (StudentT(5), 0.0),
        (StudentT(3), 0.75),
        (LatentCoordinates(2.5), 0.0),
        (SOME_ROWS, 0.6),
    ],
    ids=str,
)
def test_moments_of_entries_are_those_of_the_noise(law, kappa):
    noise = law.noise(THREE, kappa)
    tensor, moments = noise_tensor(noise), noise.entry_moments()
    i = np.arange(3)
    row, column = i[:, None], i
    np.testing.assert_allclose(moments.entry_with_entry, tensor[row, column, row, column], atol=1e-11)
    np.testing.assert_allclose(moments.entry_with_variance, tensor[row, column, row, row], atol=1e-11)
    np.testing.assert_allclose(moments.variance_with_variance, tensor[row, row, column, column], atol=1e-11)


def test_latent_coordinates_by_their_definition():
    """E[E_ab E_cd] = Isserlis + kurtosis sum_l R_la R_lb R_lc R_ld, with the symmetric root R."""
    values, V = np.linalg.eigh(THREE)
    R = (V * np.sqrt(values)) @ V.T
    expected = tensor_of(THREE, gaussian_fourth(THREE) + 6 * np.einsum("la,lb,lc,ld->abcd", R, R, R, R))
    np.testing.assert_allclose(noise_tensor(as_law("exponential").noise(THREE)), expected, atol=1e-12)


@pytest.mark.parametrize("kappa", [0.0, 0.6])
def test_noise_of_rows(kappa):
    X = rows_with_covariance(np.random.default_rng(1), 40, THREE)
    second, fourth = moments_of_rows(X, kappa)
    scale = np.trace(THREE) / np.trace(second)
    noise = Rows(X).noise(THREE, kappa)
    np.testing.assert_allclose(noise.covariance, scale * second, atol=1e-12)
    np.testing.assert_allclose(noise_tensor(noise), tensor_of(scale * second, scale**2 * fourth), atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows_of", "strengths"),
    [
        (StudentT(12), {"row_tempering": 0.5, "tempering": 0.5}),
        ("t10", {"tempering": 0.5, "damping": 0.25}),
    ],
    ids=str,
)
def test_many_rows_approach_their_law(rows_of, strengths):
    population = Population(moving(8), 2)
    X = draw_rows(moving(8), 50_000, law=rows_of, random_state=3)
    closed, found = (population.sampling_coefficient(law=law, **strengths) for law in (rows_of, X))
    # Ten parts of the rows say how exact their answer is.
    parts = [population.sampling_coefficient(law=part, **strengths) for part in np.split(X, 10)]
    assert abs(found - closed) < 4 * np.std(parts, ddof=1) / np.sqrt(10)
    assert found == pytest.approx(closed, rel=0.05)


# --- row tempering's coefficient ----------------------------------------------------------------------------


def coefficient_of_row_tempering(covariance, d, kappa, mean_power=lambda power: 1.0):
    """Sum over i <= d < j of (l_i - l_j) E[y_i^2 y_j^2] / (tau_i - tau_j)^2, moments in polar coordinates."""
    values, V = np.linalg.eigh(covariance)
    values, V = values[::-1], V[:, ::-1]
    second, fourth = shortened_moments(covariance, kappa, mean_power)
    tau = np.diag(V.T @ second @ V)
    both = np.einsum("abcd,ai,bi,cj,dj->ij", fourth, V, V, V, V)
    gaps, shortened = (np.subtract.outer(v[:d], v[d:]) for v in (values, tau))
    return np.sum(gaps * both[:d, d:] / shortened**2)


@pytest.mark.parametrize("kappa", [0.25, 1.0])
@pytest.mark.parametrize("name", ELLIPTICAL)
def test_coefficient_of_row_tempering(name, kappa):
    law, mean_power = ELLIPTICAL[name]
    for covariance, d in ((TWO, 1), (THREE, 1), (THREE, 2)):
        found = Population(covariance, d).sampling_coefficient(row_tempering=kappa, law=law)
        expected = coefficient_of_row_tempering(covariance, d, kappa, mean_power)
        assert found == pytest.approx(expected, rel=1e-9)


def test_coefficient_without_row_tempering_is_the_papers():
    """K(0) = sum of l_j l_k / (l_j - l_k) for Gaussian rows."""
    population = Population(moving(8), 2)
    values = population.eigenvalues
    j, k = values[:2, None], values[None, 2:]
    expected = np.sum(j * k / (j - k))
    assert population.sampling_coefficient() == pytest.approx(expected, rel=1e-12)
    assert population.sampling_coefficient(row_tempering=1e-9) == pytest.approx(expected, rel=1e-7)


def test_row_tempering_pays_where_tails_are_long_and_costs_where_they_are_not():
    population, kappas = Population(moving(8), 2), [0.0, 0.25, 0.5, 0.75, 1.0]
    assert (np.diff(population.sampling_coefficient(row_tempering=kappas)) > 0).all()
    heavy = population.sampling_coefficient(row_tempering=kappas, law=StudentT(5))
    assert (heavy[1:] < heavy[0]).all()
    # Elliptical rows keep their eigenvectors.
    assert np.abs(population.bias(row_tempering=kappas, law=StudentT(5))).max() < 1e-25


def test_tails_without_fourth_moments():
    population = Population(moving(8), 2)
    coefficients = population.sampling_coefficient(row_tempering=[0.0, 0.25, 0.5, 1.0], law=StudentT(4))
    assert coefficients[0] == np.inf
    assert np.isfinite(coefficients[1:]).all()
    assert population.excess_risk(50, law=StudentT(4)) == np.inf
    assert population.oracle(50, ["row_tempering"], law=StudentT(4)).row_tempering > 0.1
    # The directions of rows do not depend on their lengths.
    laws = "gaussian", StudentT(0.5)
    signs = [population.sampling_coefficient(row_tempering=1.0, law=law) for law in laws]
    assert signs[0] == pytest.approx(signs[1], rel=1e-12)


def test_tails_multiply_what_follows_a_fixed_direction():
    """(nu - 2)/(nu - 4) times the Gaussian coefficient without corrections, for any elliptical rows."""
    population = Population(moving(8), 2)
    ratio = population.sampling_coefficient(law=StudentT(10)) / population.sampling_coefficient()
    assert ratio == pytest.approx(8 / 6, rel=1e-12)


# --- what is refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: StudentT(0), "degrees_of_freedom must be a positive, finite number"),
        (lambda: StudentT(np.inf), "degrees_of_freedom must be a positive, finite number"),
        (lambda: StudentT("5"), "degrees_of_freedom must be a positive, finite number"),
        (lambda: ContaminatedNormal(1.5, 2), "fraction must lie between 0 and 1"),
        (lambda: ContaminatedNormal(0.5, 0), "scale must be positive and finite"),
        (lambda: LatentCoordinates(-3), "kurtosis must be finite and at least -2"),
        (lambda: FourthMoments(np.ones((2, 2))), r"moments must have shape \(p, p, p, p\)"),
        (lambda: FourthMoments(np.arange(16.0).reshape(2, 2, 2, 2)), "moments must be finite and the same"),
        (lambda: FourthMoments(np.full((2, 2, 2, 2), np.nan)), "moments must be finite and the same"),
        (lambda: Rows(np.ones(3)), "law must hold rows"),
        (lambda: Rows([["a", "b"]]), "law must hold rows of real numbers"),
        (lambda: Rows(10 + np.eye(20)), "law must hold rows of mean 0"),
        (lambda: Population(TWO, 1).bias(row_tempering=0.5, law=np.zeros((3, 2))), "not all 0"),
        (lambda: Population(TWO, 1).bias(attenuation="much"), "attenuation must be a number or an array"),
        (lambda: Population(TWO, 1).share_of_small_correlations(0), "n must be a sample size"),
        (lambda: Rows([[1.0, np.nan]]), "law must be finite"),
        (lambda: as_law("cauchy"), "law must be one of 'gaussian', 't10', 'exponential'; got 'cauchy'"),
        (lambda: as_law(3.0), "law must be a name, a law or an array of rows"),
        (lambda: Population(TWO, 1).bias(law=np.ones((4, 3))), "law must hold rows of 2 features"),
        (
            lambda: Population(TWO, 1).bias(law=FourthMoments(gaussian_fourth(THREE))),
            "2 values along",
        ),
        (
            lambda: Population(TWO, 1).bias(row_tempering=0.5, law="t10"),
            "row_tempering needs an elliptical law",
        ),
        (
            lambda: Population(TWO, 1).bias(row_tempering=0.5, law=FourthMoments(gaussian_fourth(TWO))),
            "row_tempering needs an elliptical law or rows",
        ),
        (lambda: draw_rows(TWO, 3, law=FourthMoments(gaussian_fourth(TWO))), "cannot be drawn"),
        (lambda: draw_rows(TWO, 3, law=LatentCoordinates(1.0)), "cannot be drawn"),
    ],
)
def test_errors_name_the_argument(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_a_map_takes_the_mean_quadratic_part_from_any_law():
    """Elliptical errors are Gaussian ones times f^(1/2), and an independent part of S's own shape."""
    S, f = moving(8), 8 / 6
    of_map = CorrectionMap(Strengths(tempering=0.6, damping=0.5))
    drifts = [of_map.at(S, law.noise(S)).drift for law in (Gaussian(), StudentT(10))]
    # A common factor 1 + e of S multiplies T by (1 + e)^(1 - g).
    common = 0.4 * (0.4 - 1) / 2 * (f - 1) * of_map.value(S)
    np.testing.assert_allclose(drifts[1], f * drifts[0] + common, atol=1e-12)
