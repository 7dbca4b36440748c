"""``attenua demo``: what it computes, says and draws, and how it fails."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA

from attenua import CorrectedPCACV
from attenua.cli.demo import save_demo_figure
from attenua.cli.demo_runs import (
    TASKS,
    DemoData,
    DemoResult,
    demo_data,
    filled_by_pca,
    run_demo,
    what_was_seen,
)
from tests.cli.shell import run


@pytest.fixture(scope="module")
def data():
    return {one.name: one for one in demo_data()}


@pytest.fixture(scope="module")
def wine(data):
    return run_demo([data["Wine"]], 32, 3, seed=1)


def test_data_sets_are_those_that_the_rule_names(data):
    assert {name: (one.X.shape, one.n_components) for name, one in data.items()} == {
        "Diabetes": ((442, 10), 3),
        "Wine": ((178, 13), 4),
        "Cancer": ((569, 30), 5),
        "Digits": ((1797, 64), 8),
        "Photos": ((8480, 64), 8),
    }


def test_photos_are_cut_into_squares(data):
    image = load_sample_images().images[0].mean(axis=2)
    # 80 squares lie side by side, so the 83rd is the third of the second row.
    np.testing.assert_array_equal(data["Photos"].X[82].reshape(8, 8), image[8:16, 16:24])


def test_gains_of_reconstructing_and_denoising_by_hand(data, wine):
    """One subsample again, with subspaces and errors written out."""
    rng = np.random.default_rng([1, 2])
    X = rng.permutation(data["Wine"].X)
    rows, new = X[:32], X[32:]
    centre, scale = rows.mean(axis=0), rows.std(axis=0)
    rows, new = (rows - centre) / scale, (new - centre) / scale
    rng.random(new.shape)  # hides cells
    noisy = new + 0.5 * new.std(axis=0) * rng.standard_normal(new.shape)

    def error(model, seen):
        V = model.components_
        return np.sum(((seen - model.mean_) @ V.T @ V + model.mean_ - new) ** 2)

    pca, ours = PCA(4).fit(rows), CorrectedPCACV(4).fit(rows)
    assert [result.task for result in wine] == list(TASKS)
    for result, seen in ((wine[0], new), (wine[2], noisy)):
        assert result.gains[2] == pytest.approx(100 * (1 - error(ours, seen) / error(pca, seen)), abs=1e-6)


def test_gain_of_filling_by_hand(data, wine):
    rng = np.random.default_rng([1, 0])
    X = rng.permutation(data["Wine"].X)
    rows, new = X[:32], X[32:]
    centre, scale = rows.mean(axis=0), rows.std(axis=0)
    rows, new = (rows - centre) / scale, (new - centre) / scale
    holes = new.copy()
    # Four of thirteen cells a row: 30%.
    for row, ranks in zip(holes, rng.random(new.shape).argsort(axis=1), strict=True):
        row[[place for place, rank in enumerate(ranks) if rank < 4]] = np.nan
    of_pca = filled_by_pca(PCA(4).fit(rows), holes)
    ours = CorrectedPCACV(4).fit(rows).impute(holes)
    gain = 100 * (1 - np.sum((ours - new) ** 2) / np.sum((of_pca - new) ** 2))
    assert wine[1].gains[0] == pytest.approx(gain, abs=1e-6)


def test_cells_are_filled_by_their_conditional_mean():
    rng = np.random.default_rng(0)
    pca = PCA(2).fit(rng.standard_normal((50, 4)) @ rng.standard_normal((4, 4)))
    holes = np.array([[1.0, np.nan, 2.0, np.nan], [1.0, 2.0, 3.0, 4.0]])
    filled = filled_by_pca(pca, holes)
    # The most likely values of the hidden cells make the gradient of the log-density vanish there.
    gradient = pca.get_precision() @ (filled[0] - pca.mean_)
    np.testing.assert_allclose(gradient[[1, 3]], 0, atol=1e-10)
    np.testing.assert_array_equal(filled[0, [0, 2]], [1, 2])
    np.testing.assert_array_equal(filled[1], holes[1])


def test_interval_by_hand():
    # The standard deviation is 2; Student's t has 4.3027 at 97.5% with two degrees of freedom.
    result = DemoResult("made up", "fill", np.array([3.0, 5.0, 7.0]))
    assert result.mean == 5
    assert result.half_width == pytest.approx(4.3027 * 2 / np.sqrt(3), abs=1e-4)
    assert result.clear == 1


@pytest.mark.parametrize(
    ("gains", "clear"), [([5, 5.1], 1), ([-3, -3.2], -1), ([-9, 9], 0), ([-1e-9, -1e-9], 0)]
)
def test_what_is_clear(gains, clear):
    assert DemoResult("made up", "fill", np.array(gains, dtype=float)).clear == clear


def test_closing_sentences_name_gains_and_losses():
    gains = {
        "A": {"reconstruct": [5, 5.1], "fill": [1, 1.01], "denoise": [-3, -3.1]},
        "B": {"reconstruct": [-9, 9], "fill": [2, 2.01], "denoise": [0, 0]},
        "C": {"reconstruct": [4, 4.1], "fill": [3, 3.01], "denoise": [0, 1]},
    }
    results = [DemoResult(name, task, np.array(gains[name][task], float)) for name in gains for task in TASKS]
    assert what_was_seen(results) == (
        "Clearly less error than PCA: reconstructing A and C; filling all 3. Clearly more error: denoising A."
    )
    assert what_was_seen([]) == "Clearly less error than PCA: none. Clearly more error: none."


def test_seed_decides_everything(data, wine):
    same, other = (run_demo([data["Wine"]], 32, 3, seed=seed) for seed in (1, 2))
    for before, again, different in zip(wine, same, other, strict=True):
        np.testing.assert_array_equal(before.gains, again.gains)
        assert (before.gains != different.gains).all()


@pytest.fixture
def svg_backend():
    before = plt.get_backend()
    plt.switch_backend("svg")
    yield
    plt.switch_backend(before)


@pytest.mark.usefixtures("svg_backend")
def test_the_picture_leaves_the_backend_and_the_figures_of_the_process_alone(wine, tmp_path):
    figures = plt.get_fignums()
    save_demo_figure(wine, 32, tmp_path / "demo.png")
    assert plt.get_backend() == "svg"
    assert plt.get_fignums() == figures
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_the_command_prints_a_line_for_each_data_set(tmp_path, monkeypatch):
    results = [DemoResult("made up", task, np.array([2.0, 4.0 + len(task)])) for task in TASKS]
    X = np.zeros((200, 9))
    monkeypatch.setattr("attenua.cli.demo.demo_data", lambda: [DemoData("made up", X)])
    monkeypatch.setattr("attenua.cli.demo.run_demo", lambda *_, **__: results)
    said = run("demo", "--rows", "64", "--out", str(tmp_path / "demo.png")).stdout
    # The means of 2 and 15, 8 and 11.
    assert "made up        9           3  +8.5" in said
    assert "(64 rows fitted)" in said
    assert "Means over 40 subsamples" in said
    assert max(len(line) for line in said.splitlines()[:-1]) <= 80


def test_folder_that_is_not_there_is_refused(tmp_path):
    result = run("demo", "--out", str(tmp_path / "nowhere" / "demo.png"))
    assert result.exit_code == 1
    assert result.stderr.endswith("nowhere does not exist.\n")


def test_a_full_disk_is_one_sentence(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("attenua.cli.demo.run_demo", lambda *_, **__: [])
    monkeypatch.setattr("attenua.cli.demo.save_demo_figure", full)
    result = run("demo", "--out", str(tmp_path / "demo.png"))
    assert result.exit_code == 1
    assert result.stderr == f"Error: {tmp_path / 'demo.png'} cannot be written: No space left on device.\n"
    assert not list(tmp_path.iterdir())
