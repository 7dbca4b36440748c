"""The path of strengths, against LAPACK and against the estimators."""

import numpy as np
import pytest

from attenua import AttenuatedPCA, attenuation_path
from tests.helpers import covariance, exact_components, leading, sine, spiked_rows, uneven_rows

SHAPES = {"tall": (200, 12), "square": (40, 40), "wide": (30, 80), "very wide": (25, 700)}


@pytest.mark.parametrize(
    "shape", ["tall", "square", "wide", pytest.param("very wide", marks=pytest.mark.slow)]
)
def test_every_strength_against_lapack(shape):
    X = spiked_rows(*SHAPES[shape])
    S = covariance(X)
    path = attenuation_path(X, 3)
    assert len(path.alphas) == 22
    for alpha, components in zip(path.alphas, path.components, strict=True):
        assert sine(components, exact_components(S, alpha, 3)) <= 1e-7


@pytest.mark.parametrize("shape", SHAPES)
def test_a_strength_of_the_path_is_the_fit_at_that_strength(shape):
    X = spiked_rows(*SHAPES[shape])
    path = attenuation_path(X, 3, alphas=[0, 0.3, 1])
    for i, alpha in enumerate(path.alphas):
        model = AttenuatedPCA(3, alpha=alpha).fit(X)
        np.testing.assert_allclose(path.components[i], model.components_, atol=1e-7)
        np.testing.assert_allclose(path.explained_variance[i], model.explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(path.mean, model.mean_, rtol=1e-12)


def test_the_path_warns_of_ties_and_marks_them():
    X = np.zeros((8, 6))
    X[np.arange(8), np.repeat(np.arange(4), 2)] = np.tile([1.0, -1.0], 4)
    with pytest.warns(UserWarning, match=r"falls on a tie at alpha = 0, 0\.5"):
        path = attenuation_path(X, 2, alphas=[0, 0.5])
    assert path.tied.all()
    assert not attenuation_path(spiked_rows(30, 6), 2).tied.any()


def test_the_path_of_float32_data_is_float32():
    path = attenuation_path(spiked_rows(30, 6).astype(np.float32), 2)
    assert path.components.dtype == path.mean.dtype == path.explained_variance.dtype == np.float32


@pytest.mark.parametrize("shape", [(120, 14), (30, 560)])
def test_gaps_and_angles_against_lapack(shape):
    X = uneven_rows(*shape)
    S = covariance(X)
    path = attenuation_path(X, 3, alphas=[0.5, 1])
    assert path.alphas.tolist() == [0, 0.5, 1]
    pca = exact_components(S, 0, 3)
    for alpha, components, angles, gap in zip(
        path.alphas, path.components, path.angles_to_pca(), path.gap, strict=True
    ):
        T = S - alpha * np.diag(np.diag(S))
        assert sine(components, leading(T, 3)) < 1e-7
        assert np.sin(angles[0]) == pytest.approx(sine(components, pca), rel=1e-6, abs=1e-7)
        values = np.linalg.eigvalsh(T)[::-1]
        # The next eigenvalue is not iterated on, so that of a large matrix gives a gap a little too large.
        assert (1 - 1e-9) * (values[2] - values[3]) <= gap <= (values[2] - values[3]) * 1.01
    assert path.angles_to_pca()[0, 0] < 1e-12
