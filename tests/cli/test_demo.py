"""``attenua demo``: what it computes, says and draws, and how it fails."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA

from attenua import AttenuatedPCACV, CorrectedPCACV
from attenua._correct.registry import CORRECTIONS
from attenua.cli.demo import save_demo_figure
from attenua.cli.demo_runs import (
    ALL,
    N_ROWS,
    PAPER,
    DemoData,
    DemoLine,
    demo_data,
    run_demo,
    what_was_seen,
)
from tests.cli.shell import run

NOTHING = dict.fromkeys(CORRECTIONS, 0.0)


def line(corrected, paper=(0.0, 0.0), weights=(NOTHING, NOTHING), data="Made up"):
    removed = {PAPER: np.array(paper), ALL: np.array(corrected)}
    return DemoLine(data, 32, 5, np.array([10.0, 12.0]), removed, weights)


@pytest.fixture(scope="module")
def data():
    return {one.name: one for one in demo_data()}


@pytest.fixture(scope="module")
def wine(data):
    return run_demo([data["Wine"]], 3, seed=1)


def test_data_sets_are_those_that_the_rule_names(data):
    assert {name: one.X.shape for name, one in data.items()} == {
        "Diabetes": (442, 10),
        "Wine": (178, 13),
        "Cancer": (569, 30),
        "Digits": (1797, 64),
        "Photos": (8480, 64),
    }
    assert all(len(one.X) > max(N_ROWS) for one in data.values())


def test_photos_are_cut_into_squares(data):
    image = load_sample_images().images[0].mean(axis=2)
    # 80 squares lie side by side, so the 83rd is the third of the second row.
    np.testing.assert_array_equal(data["Photos"].X[82].reshape(8, 8), image[8:16, 16:24])


def test_a_line_for_every_number_of_rows_and_components(wine):
    narrow = [(found.data, found.n_rows, found.n_components) for found in wine]
    assert narrow == [("Wine", 32, 5), ("Wine", 128, 5)]
    X = np.random.default_rng(0).standard_normal((160, 21))
    wide = [(found.n_rows, found.n_components) for found in run_demo([DemoData("wide", X)], 2)]
    assert wide == [(32, 5), (128, 5), (32, 20), (128, 20)]


def test_gains_by_hand(data, wine):
    """One subsample again, with scikit-learn's PCA and errors written out."""
    X = np.random.default_rng([1, 2]).permutation(data["Wine"].X)
    rows, test = X[:32], X[128:]
    centre, scale = rows.mean(axis=0), rows.std(axis=0)
    rows, test = (rows - centre) / scale, (test - centre) / scale

    def error(model, on=test):
        return np.mean(np.sum((on - model.inverse_transform(model.transform(on))) ** 2, axis=1))

    pca, best = error(PCA(5).fit(rows)), error(PCA(5).fit(test))
    assert wine[0].excess[2] == pytest.approx(100 * (pca - best) / pca)
    for name, model in ((PAPER, AttenuatedPCACV(5)), (ALL, CorrectedPCACV(5))):
        expected = 100 * (pca - error(model.fit(rows))) / (pca - best)
        assert wine[0].removed[name][2] == pytest.approx(expected, abs=1e-6)


def test_seed_decides_everything(data, wine):
    same, other = (run_demo([data["Wine"]], 3, seed=seed) for seed in (1, 2))
    for before, again, different in zip(wine, same, other, strict=True):
        np.testing.assert_array_equal(before.removed[ALL], again.removed[ALL])
        assert (before.excess != different.excess).all()


def test_the_weights_are_those_of_the_fit(data):
    rows = np.random.default_rng([0, 0]).permutation(data["Diabetes"].X)[: N_ROWS[0]]
    steps = CorrectedPCACV(5).fit(rows).steps_
    (weights,) = run_demo([data["Diabetes"]], 1)[0].weights
    assert weights == {step.correction: step.weight for step in steps}
    assert any(weights.values())


def test_rounding_is_not_a_loss():
    assert line([-1e-9, -0.5]).n_worse(ALL) == 1


def test_words_for_what_was_taken():
    assert line([0.0, 0.0]).most_taken() == "none"
    weights = [NOTHING | {"damping": 0.6, "smoothing": 0.7}, NOTHING | {"damping": 0.2}]
    assert line([0.0, 0.0], weights=weights).most_taken() == "damping (40%)"


def test_closing_sentence_counts_gains_losses_and_the_rest():
    lines = [
        line([5.0, 5.1]),
        line([7.0, 7.1], paper=(2.0, 2.1)),
        line([-3.0, -3.2], data="Loser"),
        line([-9.0, 9.0]),
    ]
    sentence = what_was_seen(lines)
    assert "better than PCA in 2 of 4 lines, clearly worse in 1 and not clearly different in 1" in sentence
    assert "worst line: Loser, 5 components, 32 rows, -3.1%" in sentence
    assert sentence.endswith("the paper's strength in 1, 0 and 3.")


@pytest.fixture
def svg_backend():
    before = plt.get_backend()
    plt.switch_backend("svg")
    yield
    plt.switch_backend(before)


@pytest.mark.usefixtures("svg_backend")
def test_the_picture_leaves_the_backend_and_the_figures_of_the_process_alone(wine, tmp_path):
    figures = plt.get_fignums()
    save_demo_figure(wine, tmp_path / "demo.png")
    assert plt.get_backend() == "svg"
    assert plt.get_fignums() == figures
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


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
