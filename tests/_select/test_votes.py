"""Votes: who is drawn, and what confirms a choice."""

import numpy as np
import pytest

from attenua._select.votes import Voters, _is_confirmed

ROWS = Voters.of_rows([np.arange(0, 40, 2), np.arange(1, 40, 2)], None)


def losses_of(*gains, n=40):
    """Losses of 10 by PCA, and by each candidate those less a gain of every voter."""
    return np.column_stack([np.full(n, 10.0), *(10.0 - np.broadcast_to(gain, n) for gain in gains)])


def test_all_votes_for_what_gains_everywhere():
    np.testing.assert_array_equal(ROWS.elect(losses_of(1.0, 2.0, -1.0)), [0, 0, 1, 0])
    np.testing.assert_array_equal(ROWS.elect(losses_of(-1.0)), [1, 0])


def test_ties_go_to_the_first_candidate():
    np.testing.assert_array_equal(ROWS.elect(losses_of(1.0, 1.0 + 1e-14)), [0, 1, 0])
    np.testing.assert_array_equal(ROWS.elect(losses_of(0.0)), [1, 0])


def test_a_few_rows_that_gain_much_are_not_confirmed():
    """One row in forty gains more than the others lose. The others refuse what the votes with it choose."""
    gains = np.full(40, -0.1)
    gains[7] = 40.0
    np.testing.assert_array_equal(ROWS.elect(losses_of(gains)), [1, 0])


@pytest.mark.parametrize(("d", "is_confirmed"), [(1.9, True), (2.1, False)])
def test_a_choice_must_gain_half_a_standard_error(d, is_confirmed):
    """Two voters gain 1 on average; their mean has a standard error of d."""
    assert _is_confirmed(np.array([1 + d, 1 - d]), 0.0) == is_confirmed


@pytest.mark.parametrize(("gains", "is_confirmed"), [([], True), ([0.2], True), ([0.1], False)])
def test_a_choice_that_a_voter_or_none_confirms(gains, is_confirmed):
    assert _is_confirmed(np.array(gains), 0.1) == is_confirmed


def test_a_choice_must_gain_what_matters():
    for gain, weights in ((0.9e-3, [1, 0]), (1.1e-3, [0, 1])):
        np.testing.assert_array_equal(ROWS.elect(losses_of(10 * gain), least_gain=1e-3), weights)


def test_groups_are_drawn_whole_and_rows_of_repetitions_together():
    voters = Voters.of_rows([np.arange(6), np.arange(6, 12), np.arange(0, 12, 2)], np.arange(12) // 3)
    assert voters.n_voters == 4
    np.testing.assert_array_equal(voters.added([np.ones(6), np.ones(6), np.ones(6)]), [5, 4, 5, 4])
