"""``attenua demo``: what it computes, says and draws."""

import numpy as np
import pytest
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA

from attenua import CorrectedPCACV
from attenua.cli import demo
from attenua.cli.demo import TASKS, Data, Result, as_text, demo_data, filled_by_pca
from tests.cli.shell import run


@pytest.fixture(scope="module")
def data():
    return {each.name: each for each in demo_data()}


def test_data_sets_are_those_that_the_rule_names(data):
    shapes = {name: each.X.shape for name, each in data.items()}
    assert shapes == {
        "Diabetes": (442, 10),
        "Wine": (178, 13),
        "Cancer": (569, 30),
        "Digits": (1797, 64),
        "Photos": (8480, 64),
    }
    image = load_sample_images().images[0].mean(axis=2)
    # 80 squares lie side by side, so the 83rd is the third of the second row.
    np.testing.assert_array_equal(data["Photos"].X[82].reshape(8, 8), image[8:16, 16:24])


def test_gains_by_hand(data, monkeypatch):
    """The last of two subsamples again, with subspaces and errors written out."""
    monkeypatch.setattr(demo, "demo_data", lambda: [data["Wine"]])
    found = demo.run(32, 2, seed=1)
    gains = []
    for number in range(2):
        rng = np.random.default_rng([1, number])
        X = rng.permutation(data["Wine"].X)
        rows, new = X[:32], X[32:]
        centre, scale = rows.mean(axis=0), rows.std(axis=0)
        rows, new = (rows - centre) / scale, (new - centre) / scale
        order = rng.random(new.shape).argsort(axis=1)
        holes = np.where(order < 4, np.nan, new)  # four of thirteen cells of a row, 30%
        noisy = new + 0.5 * new.std(axis=0) * rng.standard_normal(new.shape)
        pca, ours = PCA(4).fit(rows), CorrectedPCACV(4).fit(rows)

        def rebuilt(model, seen):
            V = model.components_
            return (seen - model.mean_) @ V.T @ V + model.mean_

        pairs = [(rebuilt(ours, new), rebuilt(pca, new)), (ours.impute(holes), filled_by_pca(pca, holes))]
        pairs.append((rebuilt(ours, noisy), rebuilt(pca, noisy)))
        gains.append([100 * (1 - np.sum((a - new) ** 2) / np.sum((b - new) ** 2)) for a, b in pairs])
    assert [each.task for each in found] == list(TASKS)
    np.testing.assert_allclose([each.mean for each in found], np.mean(gains, axis=0), atol=1e-6)
    # Student's t has 12.706 at 97.5% with one degree of freedom.
    widths = 12.706 * np.std(gains, axis=0, ddof=1) / np.sqrt(2)
    np.testing.assert_allclose([each.half_width for each in found], widths, rtol=1e-4)


def test_cells_are_filled_by_their_conditional_mean():
    rng = np.random.default_rng(0)
    pca = PCA(2).fit(rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4)))
    holes = np.array([[1.0, np.nan, 2.0, np.nan], [1.0, 2.0, 3.0, 4.0]])
    filled = filled_by_pca(pca, holes)
    # The most likely values of the hidden cells make the gradient of the log-density vanish there.
    np.testing.assert_allclose((pca.get_precision() @ (filled[0] - pca.mean_))[[1, 3]], 0, atol=1e-10)
    np.testing.assert_array_equal(filled[~np.isnan(holes)], holes[~np.isnan(holes)])


def test_the_closing_sentences_name_clear_gains_and_losses():
    found = {
        "A": {"reconstruct": (5, 0.1), "fill": (1, 0.1), "denoise": (-3, 0.1)},
        "B": {"reconstruct": (1, 9.0), "fill": (2, 0.1), "denoise": (0, 0.0)},
    }
    results = [Result(name, task, *found[name][task]) for name in found for task in TASKS]
    said = as_text(results, 32, 40)
    assert "Clearly less error than PCA: reconstructing A; filling all 2." in said
    assert "Clearly more error: denoising A." in said


def test_the_command_prints_a_line_for_each_data_set_and_saves_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr(
        demo, "demo_data", lambda: [Data("made up", np.random.default_rng(0).random((90, 9)))]
    )
    said = run("demo", "--rows", "64", "--subsamples", "2", "--out", str(tmp_path / "demo.png"))
    assert said.exit_code == 0, said.output
    assert "made up" in said.stdout
    assert "(64 rows fitted)" in said.stdout
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")
