"""What more rows bring, by a loop by hand, a law that is known, and larger samples."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from attenua import AttenuatedPCACV, CorrectedPCA, learning_curve
from attenua.learning import LearningCurve
from tests.helpers import spiked_rows

DIGITS = load_digits().data


def test_held_out_rows_stay_and_fitted_rows_are_drawn_from_the_others():
    X = spiked_rows(60, 6)
    found = learning_curve(X, CorrectedPCA(2, damping=0.5), n_draws=2, random_state=0)
    assert found.sizes.tolist() == [12, 24, 48]
    random = np.random.RandomState(0)
    for fold in range(5):
        others, held = np.flatnonzero(np.arange(60) % 5 != fold), np.flatnonzero(np.arange(60) % 5 == fold)
        for place, size in enumerate([12, 24, 48]):
            losses = np.zeros((2, 12))
            for _ in range(2 if size < 48 else 1):
                drawn = np.sort(random.permutation(others)[:size])
                for number, model in enumerate([CorrectedPCA(2, damping=0.5), PCA(2)]):
                    model.fit(X[drawn])
                    left = X[held] - model.inverse_transform(model.transform(X[held]))
                    losses[number] += np.sum(left**2, axis=1) / (2 if size < 48 else 1)
            np.testing.assert_allclose(found.losses[held, place], losses[0])
            np.testing.assert_allclose(found.pca_losses[held, place], losses[1])
    np.testing.assert_allclose(found.errors, found.losses.mean(axis=0))


def test_the_excess_of_a_curve_that_follows_the_law():
    sizes, random = np.array([40.0, 80.0]), np.random.default_rng(0)
    noise = random.standard_normal((100, 1)) * [0.5, 1.0]
    losses = 3 + 60 / sizes + noise - noise.mean(axis=0)
    found = LearningCurve(sizes, losses, losses, 100)
    assert found.excess == pytest.approx(0.6 / 3.6)
    assert found.expected([100, 200]) == pytest.approx([3.6, 3.3])
    # b is 80 times what each row gains, and training sets overlap by four fifths.
    error = 80 / 100 / 3.6 * np.sqrt((1 + 1 / 0.8) / 100) * np.std(losses[:, 0] - losses[:, 1], ddof=1)
    assert found.excess_error == pytest.approx(error)
    assert found.sentence == (
        f"Twice the rows would remove about 8.3% of the error of new rows (standard error {error / 2:.1%}), "
        "half of what unlimited rows would remove."
    )


def test_twice_the_rows_remove_what_was_foretold():
    foretold, removed, errors = [], [], []
    for seed in range(6):
        X = spiked_rows(1200, 30, seed=seed)
        found = learning_curve(X[:60], CorrectedPCA(3), random_state=seed)
        once, twice = (CorrectedPCA(3).fit(X[:n]).reconstruction_error(X[120:]).mean() for n in (60, 120))
        foretold.append(found.excess / 2)
        errors.append(found.excess_error / 2)
        removed.append(1 - twice / once)
    assert np.mean(foretold) == pytest.approx(np.mean(removed), abs=2 * np.mean(errors))
    assert np.mean(removed) > 2 * np.mean(errors)


def test_groups_are_drawn_together():
    groups = np.repeat(np.arange(30), 4)
    X = np.repeat(spiked_rows(30, 8), 4, axis=0)
    found = learning_curve(X, CorrectedPCA(2), groups=groups, random_state=0)
    # Copies of a held-out row would be reconstructed almost without error.
    assert found.losses.shape == (30, len(found.sizes))
    np.testing.assert_allclose(found.sizes, [12, 24, 48, 96])
    alone = learning_curve(spiked_rows(30, 8), CorrectedPCA(2), random_state=0)
    assert found.errors[-1] == pytest.approx(alone.errors[-1], rel=0.1)


def test_missing_cells_and_a_choice():
    X = DIGITS[::45, 10:20].copy()
    X[::7, 3] = np.nan
    found = learning_curve(X, AttenuatedPCACV(3), n_draws=1, random_state=0)
    assert np.isfinite(found.errors).all()


def test_a_notebook_shows_the_sentence():
    found = learning_curve(DIGITS[::30], CorrectedPCA(4), n_draws=1, random_state=0)
    assert "Twice the rows" in found._repr_html_()


def test_the_fewest_rows_that_errors_ask_for_are_enough():
    found = learning_curve(DIGITS[:20], CorrectedPCA(1), n_draws=1, random_state=0)
    assert found.sizes.tolist() == [8, 16]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"estimator": PCA(2)}, ValueError, "an estimator of attenua such as CorrectedPCACV.*got PCA"),
        ({"estimator": 12}, ValueError, "at least 50 rows for 12 components.*Got 40 rows"),
        ({"X": DIGITS[:19], "estimator": 1}, ValueError, "at least 20 rows for 1 component.*Got 19 rows"),
        (
            {"groups": np.arange(40) % 4},
            ValueError,
            "Half of the groups .* at least 2, .* got 4 groups of 40",
        ),
        ({"n_draws": 0}, ValueError, "n_draws must be an integer of at least 1"),
        ({"X": [DIGITS, DIGITS]}, TypeError, "learning_curve takes rows in memory"),
    ],
)
def test_what_cannot_be_done_is_said(arguments, error, message):
    given = {"X": DIGITS[:40], "estimator": CorrectedPCA(2), **arguments}
    with pytest.raises(error, match=message):
        learning_curve(given.pop("X"), given.pop("estimator"), **given)
