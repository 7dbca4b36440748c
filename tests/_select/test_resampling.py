"""Matching, angles and the rule of cuts, against brute force and the law that the rule rests on."""

from itertools import permutations, product

import numpy as np
import pytest
from scipy.linalg import subspace_angles

from attenua._select.resampling import (
    LARGEST_ANGLE,
    Block,
    angles_of_components,
    angles_of_leading,
    blocks_of,
    draw_units,
    matched,
)


def frame(p, k, seed):
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((p, k)))[0].T


@pytest.mark.parametrize("seed", range(5))
def test_matching_is_the_best_of_all_orders_and_signs(seed):
    A, B = frame(6, 4, seed), frame(6, 4, seed + 100)
    aligned, places = matched(A, B)
    tried = (
        np.sum(A * (B[list(order)] * np.array(signs)[:, None]))
        for order, signs in product(permutations(range(4)), product((-1, 1), repeat=4))
    )
    assert np.sum(A * aligned) == pytest.approx(max(tried))
    np.testing.assert_allclose(np.abs(aligned), np.abs(B[places]))


def test_components_in_another_order_and_with_other_signs_are_the_same():
    A = frame(7, 3, 0)
    aligned, places = matched(A, -A[[2, 0, 1]])
    np.testing.assert_allclose(aligned, A)
    np.testing.assert_array_equal(places, [1, 2, 0])
    np.testing.assert_allclose(angles_of_components(A, aligned), 0, atol=1e-5)
    # But the leading subspaces are not: only all three together are.
    leading = angles_of_leading(A, -A[[2, 0, 1]])
    np.testing.assert_allclose(leading, [90, 90, 0], atol=1e-5)


def test_angles_of_leading_are_scipys():
    A, B = frame(8, 3, 1), frame(8, 3, 2)
    found = angles_of_leading(A, B)
    for m in (1, 2, 3):
        assert found[m - 1] == pytest.approx(np.degrees(subspace_angles(A[:m].T, B[:m].T)[0]))


def test_blocks_end_at_the_cuts_that_hold():
    angles = np.full((100, 6), 5.0)
    angles[:, [2, 3]] = 60.0  # the cuts after 3 and 4
    angles[:6, 5] = 60.0  # 6% of the samples are too many
    angles[:5, 0] = 60.0  # 5% are not
    expected = [Block(1, 1, True), Block(2, 2, True), Block(3, 5, True), Block(6, 6, False)]
    assert blocks_of(angles) == expected
    assert [block.span for block in expected] == ["1", "2", "3 to 5", "6"]
    assert blocks_of(np.full((10, 2), 80.0)) == [Block(1, 2, False)]


def test_a_tied_pair_is_told_apart_in_one_of_twenty_cases():
    """The law behind the rule: a tied pair is a Gaussian vector in a plane, and turns by half its angle."""
    rng = np.random.default_rng(0)
    found, drawn = rng.standard_normal((2, 2000)), rng.standard_normal((2, 2000))
    apart = 0
    for x, y in found.T:
        turns = np.degrees(np.arctan2(y + drawn[1], x + drawn[0]) - np.arctan2(y, x))
        halves = np.abs((turns + 180) % 360 - 180) / 2
        apart += np.mean(halves <= LARGEST_ANGLE) >= 0.95
    assert apart / 2000 == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 2000))


def test_groups_are_drawn_as_wholes():
    units = np.array([0, 1, 1, 2, 2, 2, 0])
    random = np.random.RandomState(0)
    counts = np.zeros(3)
    for _ in range(300):
        drawn = draw_units(units, 7, random)
        per_row = np.bincount(drawn, minlength=7)
        per_unit = [set(per_row[units == unit]) for unit in range(3)]
        assert all(len(some) == 1 for some in per_unit)
        assert sum(some.pop() for some in map(set, per_unit)) == 3
        counts += [per_row[0], per_row[1], per_row[3]]
    np.testing.assert_allclose(counts / 300, 1, atol=0.2)
    assert len(draw_units(None, 9, random)) == 9
