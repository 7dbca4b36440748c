"""When two subspaces are one, and what follows for the choice."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua._estimate.words import percent_of
from attenua._select.same_subspace import same_subspace
from tests.helpers import sine, spiked_rows


@pytest.mark.parametrize(("angle", "same"), [(0, True), (1e-9, True), (5e-7, True), (2e-6, False)])
def test_angles_are_told_apart(angle, same):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((50, 4)))[0]
    turned = np.column_stack([Q[:, 0], np.cos(angle) * Q[:, 1] + np.sin(angle) * Q[:, 3], Q[:, 2]])
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    assert same_subspace(Q[:, :3], turned @ rotation) == same


def test_arrays_of_another_library():
    torch = pytest.importorskip("torch")
    axes = torch.eye(4, dtype=torch.float64)
    assert same_subspace(axes[:, :2], axes[:, [1, 0]])
    assert not same_subspace(axes[:, :2], axes[:, 1:3])


@pytest.mark.parametrize("shape", [(60, 8), (40, 200), (30, 600)])
def test_standardised_columns_leave_nothing_to_attenuate(shape):
    X = StandardScaler().fit_transform(spiked_rows(*shape))
    model = AttenuatedPCACV(2).fit(X)
    assert model.cv_risk_.min() < model.cv_risk_[0]
    assert (model.alpha_, model.gain_) == (0, 0)
    assert model.verdict_.startswith("PCA: some strengths ")
    assert "on all rows they give PCA's subspace" in model.verdict_
    assert sine(model.components_, PCA(2).fit(X).components_) < 1e-6


def test_the_verdict_names_the_strength_and_the_gain():
    X = spiked_rows(40, 8)
    model = AttenuatedPCACV(3).fit(X)
    assert model.alpha_ > 0
    expected = f"Attenuation {model.alpha_:g} removes {percent_of(model.gain_)} of PCA's held-out risk."
    assert model.verdict_ == expected
    refit = AttenuatedPCA(3, alpha=model.alpha_).fit(X)
    np.testing.assert_allclose(model.components_, refit.components_, atol=1e-9)
    whole = AttenuatedPCACV(8).fit(X)
    assert whole.verdict_ == "PCA: no correction reconstructs held-out rows clearly better."
