import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.decomposition import PCA

from attenua.studies.demo import plot_demo, run_demo
from attenua.studies.gain import best_affine_risk, excess_risk_removed, mean_and_interval
from attenua.studies.patches import draw_patches


def test_patches_are_squares_of_their_images():
    images = np.arange(40 * 64).reshape(40, 8, 8)
    patches = draw_patches(images, np.random.default_rng(0)).reshape(40, 3, 3)
    corners = set()
    for image, patch in zip(images, patches, strict=True):
        top, left = np.argwhere(image == patch[0, 0])[0]
        np.testing.assert_array_equal(patch, image[top : top + 3, left : left + 3])
        corners.add((top, left))
    assert max(c[0] for c in corners) == max(c[1] for c in corners) == 5
    assert len(corners) > 15


def test_reference_is_the_error_of_pca_on_the_test_rows():
    X = np.random.default_rng(0).standard_normal((50, 6)) @ np.diag([3, 2, 1, 1, 1, 1])
    pca = PCA(2).fit(X)
    error = np.mean(np.sum((X - pca.inverse_transform(pca.transform(X))) ** 2, axis=1))
    assert best_affine_risk(X, 2) == pytest.approx(error)


def test_gain():
    assert excess_risk_removed(10.0, 9.0, 8.0) == 50
    assert mean_and_interval(np.array([1.0, 3.0])) == pytest.approx((2.0, 2 - 1.96, 2 + 1.96))


def test_demo_is_reproducible_and_consistent():
    first, second = (run_demo([32], 4, seed=1)[0] for _ in range(2))
    np.testing.assert_array_equal(first.removed, second.removed)
    np.testing.assert_allclose(first.removed, 100 * (1 - first.excess / first.pca_excess))
    # Where PCA was chosen, nothing is removed.
    np.testing.assert_allclose(first.removed[first.is_pca], 0, atol=1e-9)
    assert not first.strengths[first.is_pca].any()


@pytest.fixture
def svg_backend():
    before = plt.get_backend()
    plt.switch_backend("svg")
    yield
    plt.switch_backend(before)


@pytest.mark.usefixtures("svg_backend")
def test_the_picture_leaves_the_backend_and_the_figures_of_the_process_alone(tmp_path):
    figures = plt.get_fignums()
    plot_demo(run_demo([32, 64], 2), tmp_path / "demo.png")
    assert plt.get_backend() == "svg"
    assert plt.get_fignums() == figures
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
