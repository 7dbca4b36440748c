"""choose_rank finds components that are there, and says what it did."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from attenua import choose_rank
from attenua._data.missing import PartialRows
from attenua.rank import RankChoice
from tests.helpers import in_turn

METHODS = ("bcv", "parallel", "threshold")


def signal_and_noise(n, p, k, noise=1.0):
    random = np.random.default_rng([n, p, k])
    signal = random.standard_normal((n, k)) @ random.standard_normal((k, p))
    return 5 + signal + noise * random.standard_normal((n, p))


@pytest.mark.parametrize(
    ("method", "shape", "rank"), in_turn(METHODS, [(40, 200), (80, 80), (300, 30)], [0, 1, 4], times=2)
)
def test_finds_components_that_stand_out(method, shape, rank):
    choice = choose_rank(signal_and_noise(*shape, rank), method=method, random_state=0)
    assert choice.rank == rank
    assert choice.method == method


@pytest.mark.parametrize("method", METHODS)
def test_rows_without_noise_have_their_own_rank(method):
    # The median singular value is 0 but for rounding, which must not be counted as components.
    for shape in ((30, 20), (20, 30), (200, 100)):
        X = signal_and_noise(*shape, 2, noise=0)
        assert choose_rank(X, method=method, random_state=0).rank == 2


@pytest.mark.parametrize(("method", "unit"), in_turn(METHODS, [1e300, 1e-300]))
def test_the_unit_does_not_matter(method, unit):
    X = signal_and_noise(40, 30, 2)
    one, other = (choose_rank(X * u, method=method, random_state=0) for u in (1.0, unit))
    assert one.rank == other.rank
    for name in ("errors", "eigenvalues", "thresholds"):
        if getattr(one, name) is not None:
            np.testing.assert_allclose(getattr(other, name), getattr(one, name), rtol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_columns_that_do_not_vary_are_not_looked_at(method):
    X = signal_and_noise(40, 30, 2)
    wider = np.column_stack([np.full((40, 50), 0.1), X])
    one, other = (choose_rank(rows, method=method, random_state=0) for rows in (X, wider))
    assert one.rank == other.rank
    np.testing.assert_array_equal(one.ranks, other.ranks)


@pytest.mark.parametrize(("method", "part"), in_turn(METHODS, [0.05, 0.2], times=2))
@pytest.mark.parametrize(("shape", "rank"), [((40, 200), 4), ((60, 12), 1), ((300, 30), 0), ((30, 20), 1)])
def test_missing_cells_do_not_change_a_clear_number(method, part, shape, rank):
    X = signal_and_noise(*shape, rank)
    X[np.random.default_rng(3).random(shape) < part] = np.nan
    names = [f"x{j}" for j in range(shape[1])]
    frame = pd.DataFrame(X, columns=names).astype("Float64")
    one, other = (choose_rank(rows, method=method, random_state=0) for rows in (X, frame))
    assert one.rank == other.rank == rank
    for name in ("errors", "eigenvalues"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_filled_cells_have_noise():
    X = signal_and_noise(40, 200, 4)
    X[np.random.default_rng(3).random(X.shape) < 0.2] = np.nan
    means = PartialRows(X).complete().rows
    found, of_means = (choose_rank(rows, random_state=0).errors.mean(axis=0)[4] for rows in (X, means))
    whole = choose_rank(signal_and_noise(40, 200, 4), random_state=0).errors.mean(axis=0)[4]
    assert abs(found - whole) < abs(of_means - whole) / 2


@pytest.mark.parametrize("method", METHODS)
def test_scaled_columns_are_those_of_the_standard_scaler(method):
    units = 10.0 ** np.linspace(-150, 150, 30)
    for part in (0, 0.05):
        X = signal_and_noise(60, 30, 2)
        X[np.random.default_rng(0).random(X.shape) < part] = np.nan
        expected = choose_rank(StandardScaler().fit_transform(X), method=method, random_state=0)
        found = choose_rank(X * units, method=method, scale=True, random_state=0)
        assert found.rank == expected.rank == 2
        for name in ("errors", "eigenvalues", "thresholds"):
            if getattr(found, name) is not None:
                np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6)


def test_held_out_error_turns_where_that_of_whole_rows_would_fall():
    choice = choose_rank(signal_and_noise(80, 40, 3), random_state=0)
    error = choice.errors.mean(axis=0)
    assert error[0] == pytest.approx(1)
    assert error[3] < error[2]
    assert error[3] < error[6] < error[12]


def test_same_state_same_choice():
    X = signal_and_noise(30, 20, 2)
    errors = [choose_rank(X, random_state=state).errors for state in (0, 0, 1)]
    np.testing.assert_array_equal(errors[0], errors[1])
    assert not np.array_equal(errors[0], errors[2])


def test_sizes_of_what_is_returned():
    X = signal_and_noise(30, 21, 2)
    choice = choose_rank(X, n_repeats=3)
    assert choice.errors.shape == (3, 11)  # ranks 0 to 10: half of the columns
    assert choice.eigenvalues is None
    choice = choose_rank(X, method="parallel", max_rank=7, n_repeats=5)
    assert len(choice.ranks) == len(choice.eigenvalues) == len(choice.thresholds) == 7
    assert choice.errors is None


def test_sentences():
    X = signal_and_noise(60, 30, 2)
    assert str(choose_rank(X, random_state=0)).startswith(
        "2 components: held-out entries are predicted with "
    )
    assert str(choose_rank(X, method="parallel", random_state=0)) == (
        "2 components: the next explains no more than one of shuffled columns."
    )
    assert "1 component: each explains more" in str(choose_rank(X, method="threshold", max_rank=1))
    assert "there may be more" in choose_rank(X, max_rank=1, random_state=0).sentence
    noise = signal_and_noise(60, 30, 0)
    assert str(choose_rank(noise, random_state=0)).startswith(
        "No component: held-out entries are predicted as"
    )
    assert str(choose_rank(noise, method="threshold")).startswith("No component: the first explains no more")


def test_the_sentence_names_a_larger_rank_that_is_not_clearly_better():
    errors = np.array([[1.0, 0.40, 0.39], [1.0, 0.40, 0.42], [1.0, 0.41, 0.38]])
    choice = RankChoice(1, "bcv", np.arange(3), errors=errors)
    assert choice.sentence == (
        "1 component: held-out entries are predicted with 40% of the error of the column means "
        "(40% with 2, which is not clearly better)."
    )


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "elbow"}, "method must be 'bcv' or 'parallel' or 'threshold'; got 'elbow'"),
        ({"max_rank": 0}, "max_rank must be an integer from 1 to 4"),
        ({"max_rank": 5}, "max_rank must be an integer from 1 to 4"),
        ({"max_rank": 2.5}, "max_rank must be an integer"),
        ({"max_rank": True}, "max_rank must be an integer"),
        ({"n_repeats": 0}, "n_repeats must be an integer of at least 1"),
        ({"n_repeats": 3, "method": "threshold"}, "n_repeats is for 'bcv' or 'parallel'"),
    ],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        choose_rank(signal_and_noise(10, 8, 1), **options)


def test_bad_rows_are_refused():
    with pytest.raises(ValueError, match="minimum of 4 is required"):
        choose_rank(np.eye(3))
    with pytest.raises(ValueError, match="at least 2 columns that vary; got 1"):
        choose_rank(np.column_stack([np.arange(9.0), np.full((9, 4), 0.1)]))
    with pytest.raises(TypeError, match="Sparse data was passed for X"):
        choose_rank(sp.eye(9, format="csr"))


@pytest.mark.parametrize(
    ("bad", "words"), [(np.inf, "infinity in column 1 .'b'"), ("x", "not numbers: 'b' .'x'")]
)
def test_a_column_that_cannot_be_read_is_named(bad, words):
    frame = pd.DataFrame(signal_and_noise(9, 4, 1), columns=list("abcd"))
    frame["b"] = frame["b"].astype(object).where(frame.index != 3, bad)
    with pytest.raises(ValueError, match=words):
        choose_rank(frame)


@pytest.mark.filterwarnings("error")
def test_the_largest_doubles_are_rows_like_others():
    X = signal_and_noise(40, 20, 2) - 5
    largest = X * (1.7e308 / np.abs(X).max())
    assert choose_rank(largest, random_state=0).rank == choose_rank(X, random_state=0).rank


def test_a_random_state_may_draw_and_others_are_refused():
    X = signal_and_noise(30, 20, 2)
    state = np.random.RandomState(0)
    np.testing.assert_array_equal(
        choose_rank(X, random_state=state).errors, choose_rank(X, random_state=0).errors
    )
    for bad in (np.random.default_rng(0), "a", -1):
        with pytest.raises(ValueError, match="random_state must be an integer"):
            choose_rank(X, random_state=bad)
