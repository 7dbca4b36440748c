"""Votes: who is drawn, and what confirms a choice."""

import numpy as np
import pytest

from attenua._select.votes import N_VOTES, Voters, _are_confirmed

ROWS = Voters.of_rows([np.arange(0, 40, 2), np.arange(1, 40, 2)], None)


def losses_of(*gains, n=40):
    """Losses of 10 by PCA, and by each candidate those less a gain of every voter."""
    return np.column_stack([np.full(n, 10.0), *(10.0 - np.broadcast_to(gain, n) for gain in gains)])


def test_all_votes_for_what_gains_everywhere():
    np.testing.assert_allclose(ROWS.elect(losses_of(1.0, 2.0, -1.0), 0.15), [0.15, 0, 0.85, 0])
    np.testing.assert_allclose(ROWS.elect(losses_of(-1.0), 0.15), [1, 0])


def test_ties_go_to_the_first_candidate():
    np.testing.assert_allclose(ROWS.elect(losses_of(1.0, 1.0 + 1e-14), 0.0), [0, 1, 0])
    np.testing.assert_allclose(ROWS.elect(losses_of(0.0), 0.0), [1, 0])


def test_a_few_rows_that_gain_much_are_not_confirmed():
    """One row in forty gains more than the others lose. The others refuse what the votes with it choose."""
    gains = np.full(40, -0.1)
    gains[7] = 40.0
    np.testing.assert_allclose(ROWS.elect(losses_of(gains), 0.0), [1, 0])


def test_a_choice_must_gain_half_a_standard_error():
    """Splits vote: the vote without the last one chooses the candidate, and the last one decides."""
    splits = Voters.of_splits(3)
    for last, share in ((0.5, 1.0), (-0.5, 2 / 3)):
        losses = losses_of([2.0, 2.0, last], n=3)
        assert splits.elect(losses, 0.0)[1] == pytest.approx(share)
    # The two voters that this vote did not draw gain 1 on average; their mean has a standard error of d.
    for d, is_confirmed in ((1.9, True), (2.1, False)):
        drawn = np.array([[1.0, 1.0, 0.0, 0.0]])
        gains = np.array([3.0, 3.0, 1.0 + d, 1.0 - d])
        found = _confirmed(drawn, gains)
        assert found == is_confirmed


def test_a_choice_must_gain_what_matters():
    for gain, weights in ((0.9e-3, [1, 0]), (1.1e-3, [0, 1])):
        np.testing.assert_allclose(ROWS.elect(losses_of(10 * gain), 0.0, least_gain=1e-3), weights)


def _confirmed(ballots, gains):
    (found,) = _are_confirmed(ballots == 0, np.column_stack([np.zeros(4), gains]), np.array([1]))
    return bool(found)


def test_groups_are_drawn_whole_and_rows_of_repetitions_together():
    groups = np.arange(12) // 3
    voters = Voters.of_rows([np.arange(6), np.arange(6, 12), np.arange(0, 12, 2)], groups)
    assert voters.n_voters == 4
    np.testing.assert_allclose(voters.added([np.ones(6), np.ones(6), np.ones(6)]), [5, 4, 5, 4])
    ballots = voters.ballots()
    assert ballots.shape == (N_VOTES, 4)
    assert (ballots.sum(axis=1) == 4).all()
