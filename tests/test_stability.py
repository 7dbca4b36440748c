"""What bootstrap samples say of components, against known populations, asymptotics and a loop by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.decomposition import NMF, PCA, FastICA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, stability
from attenua._select.resampling import Block
from attenua.bootstrap import held
from tests.helpers import spiked_rows, uneven_rows


def population(n, p, spikes, seed):
    """Rows with the given variances above noise of variance one, and their directions."""
    rng = np.random.default_rng(seed)
    directions = np.linalg.qr(rng.standard_normal((p, len(spikes))))[0].T
    scores = rng.standard_normal((n, len(spikes))) * np.sqrt(spikes)
    return scores @ directions + rng.standard_normal((n, p)), directions


def blocks(X, k, seed=0, n_boot=60):
    return stability(X, PCA(k), n_boot=n_boot, random_state=seed).blocks


@pytest.mark.parametrize(
    ("n", "spikes", "expected", "at_least"),
    [
        (100, (60.0, 15.0, 4.0), [Block(1, 1, True), Block(2, 2, True), Block(3, 3, True)], 18),
        (100, (10.0, 10.0), [Block(1, 2, True)], 17),
        (150, (60.0, 8.0, 8.0), [Block(1, 1, True), Block(2, 3, True)], 17),
        (60, (0.0, 0.0), [Block(1, 2, False)], 18),
    ],
)
def test_the_rule_finds_what_the_population_has(n, spikes, expected, at_least):
    found = [blocks(population(n, 10, spikes, seed)[0], len(spikes), seed) for seed in range(20)]
    assert found.count(expected) >= at_least


def test_errors_are_those_of_large_samples():
    """Anderson (1963): the covariance of u_j is l_j / n times the sum of l_k / (l_j - l_k)^2 u_k u_k'."""
    variances = np.array([9.0, 4.0, 1.0, 1.0, 1.0])
    n = 4000
    X = np.random.default_rng(0).standard_normal((n, 5)) * np.sqrt(variances)
    found = stability(X, PCA(2), n_boot=400, random_state=0)
    for j in (0, 1):
        others = np.arange(5) != j
        expected = np.sqrt(variances[j] * variances[others] / n) / np.abs(variances[j] - variances[others])
        np.testing.assert_allclose(found.errors[j, others], expected, rtol=0.12)
    low, high = found.intervals
    inside = high < 1
    np.testing.assert_allclose((high - low)[inside], 2 * 1.959964 * found.errors[inside], atol=1e-6)
    assert np.abs(high).max() == 1


@pytest.mark.slow
def test_intervals_hold_the_loadings_of_the_population():
    held, below = [], []
    for seed in range(60):
        X, directions = population(60, 10, (20.0, 5.0), seed)
        found = stability(X, 2, n_boot=60, random_state=seed)
        cosines = np.sum(directions * found.components, axis=1)
        low, high = found.intervals
        true = directions * np.sign(cosines)[:, None]
        held.append(np.mean((low <= true) & (true <= high)))
        below.append(np.degrees(np.arccos(np.abs(cosines))) <= found.angle_limits)
    # Of 95%; the standard error of a mean over 60 samples is about 1%.
    assert 0.91 < np.mean(held) < 0.985
    assert np.mean(below) > 0.88


def by_hand(X, components, again, n_boot, seed):
    """Errors and swaps by the greedy matching of two or three components that are easy to tell apart."""
    random, squares = np.random.RandomState(seed), 0.0
    for _ in range(n_boot):
        other = again(X[random.randint(len(X), size=len(X))])
        other = other * np.sign(np.sum(other * components, axis=1))[:, None]
        squares = squares + (other - components) ** 2
    return np.sqrt(squares / n_boot)


EASY = population(80, 6, (60.0, 10.0), 3)[0] * np.linspace(0.5, 2, 6)


@pytest.mark.parametrize("model", [PCA(2), AttenuatedPCA(2, alpha=0.7), CorrectedPCA(2, tempering=0.5)])
def test_an_estimator_is_fitted_to_every_sample(model):
    found = stability(EASY, model, n_boot=20, random_state=5)
    components = type(model)(**model.get_params()).fit(EASY).components_
    np.testing.assert_allclose(found.components, components)
    errors = by_hand(
        EASY, components, lambda rows: type(model)(**model.get_params()).fit(rows).components_, 20, 5
    )
    np.testing.assert_allclose(found.errors, errors, atol=1e-7)
    assert not hasattr(model, "components_")


def test_chosen_strengths_are_held():
    rows = uneven_rows(50, 8)
    chosen = AttenuatedPCACV(2).fit(rows)
    found = stability(rows, AttenuatedPCACV(2), n_boot=20, random_state=0)
    fixed = stability(rows, AttenuatedPCA(2, alpha=chosen.alpha_), n_boot=20, random_state=0)
    np.testing.assert_allclose(found.angles, fixed.angles, atol=1e-4)


@pytest.mark.parametrize("missing", [False, True])
def test_the_average_of_choices_is_held(missing):
    rows = load_digits().data[::45]
    if missing:
        rows[::9, 20] = np.nan
    model = CorrectedPCACV(4, neighbours=(8, 8)).fit(rows)
    assert len(model.choices_) > 2
    assert any(choice["row_tempering"] for choice in model.choices_)
    # Of the same rows the held choices give the same fit.
    np.testing.assert_allclose(held(model)(rows), model.components_, atol=1e-9)
    found = stability(rows, CorrectedPCACV(4, neighbours=(8, 8)), n_boot=20, random_state=0)
    np.testing.assert_allclose(found.components, model.components_)
    assert np.isfinite(found.errors).all()


def test_containers_give_the_same():
    found = stability(EASY, 2, n_boot=20, random_state=0)
    frame = pd.DataFrame(EASY, columns=list("abcdef"))
    of_frame = stability(frame, 2, n_boot=20, random_state=0)
    np.testing.assert_array_equal(of_frame.errors, found.errors)
    assert of_frame.feature_names == list("abcdef")
    sparse = stability(sp.csr_matrix(EASY), 2, n_boot=20, random_state=0)
    np.testing.assert_allclose(sparse.errors, found.errors, atol=1e-9)
    scaled = stability(1e150 * EASY, 2, n_boot=20, random_state=0)
    np.testing.assert_allclose(scaled.errors, found.errors, atol=1e-9)


def test_groups_are_drawn_together():
    groups = np.repeat(np.arange(20), 4)
    rng = np.random.default_rng(0)
    # Rows of a group are nearly equal, so 80 rows tell no more than 20.
    X = np.repeat(population(20, 6, (20.0, 5.0), 0)[0], 4, axis=0) + 0.01 * rng.standard_normal((80, 6))
    alone = stability(X, PCA(2), random_state=0)
    together = stability(X, PCA(2), groups=groups, random_state=0)
    assert np.all(together.errors.mean(axis=1) > 1.5 * alone.errors.mean(axis=1))


def test_the_answer_in_words():
    X, _ = population(150, 10, (60.0, 8.0, 8.0), 0)
    found = stability(X, PCA(4), n_boot=60, random_state=0)
    assert str(found) == found.sentence
    assert found.sentence.startswith(
        "Component 1 is stable; 2 and 3 are one subspace: do not read them singly; 4 is not stable. The "
        "first 3 together turn by less than "
    )
    assert found.swapped[1] > 0.05
    html = found._repr_html_()
    assert "2 and 3 together" in html
    assert "not at all" in html
    noise = stability(np.random.default_rng(0).standard_normal((40, 8)), PCA(2), n_boot=40, random_state=0)
    assert noise.sentence == "No component is stable: other rows of this kind would give others."
    calls = []
    stability(X, PCA(1), n_boot=20, advance=lambda: calls.append(1))
    assert len(calls) == 20


def test_more_components_than_a_sample_has_rows():
    X = spiked_rows(8, 20)
    found = stability(X, PCA(7), n_boot=20, random_state=0)
    assert not found.blocks[-1].is_stable
    assert np.isfinite(found.angles).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"estimator": "five"}, ValueError, "estimator must be a number of components, or an estimator such"),
        ({"estimator": True}, ValueError, "estimator must be a number of components"),
        ({"estimator": PCA}, ValueError, "estimator must be a number of components"),
        ({"estimator": np.ones((9, 2))}, ValueError, r"got rows \(ndarray\), which come first\.$"),
        ({"estimator": 7}, ValueError, "n_components=7 must be between 1 and 6"),
        ({"estimator": FastICA(2)}, ValueError, "orthonormal components_ after fit.*got FastICA"),
        ({"estimator": make_pipeline(StandardScaler(), PCA(2))}, ValueError, "got Pipeline"),
        ({"n_boot": 5}, ValueError, "n_boot must be an integer of at least 20; got 5"),
        ({"level": 95}, ValueError, "level must be a number between 0 and 1; got 95"),
        ({"random_state": "a"}, ValueError, "random_state must be"),
        ({"groups": [1, 2]}, ValueError, "groups must hold one label for each of the 80 rows"),
        ({"groups": np.arange(80) % 3}, ValueError, "at least 5 groups of rows to draw from; got 3"),
        ({"X": EASY[:4]}, ValueError, "at least 5 rows to draw from; got 4"),
        (
            {"X": [EASY, EASY]},
            TypeError,
            r"takes rows in memory, as one array; X is batches of rows \(list\)",
        ),
        ({"X": iter([EASY])}, TypeError, "stability takes rows in memory"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, error, message):
    given = {"X": EASY, "estimator": PCA(2), **arguments}
    with pytest.raises(error, match=message):
        stability(given.pop("X"), given.pop("estimator"), **given)


def test_components_that_are_not_orthonormal_are_refused():
    with pytest.raises(ValueError, match="orthonormal components_"):
        stability(np.abs(EASY), NMF(2, max_iter=1000))
