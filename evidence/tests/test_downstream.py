"""Accuracy with scores as features."""

import numpy as np
from tests.helpers import each

from attenua_evidence.downstream import accuracies


def test_counts_what_is_classified_rightly_of_rows_with_a_label():
    # Counts what is classified rightly.
    random = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    corners = np.repeat([[0, 0], [9, 0], [0, 9]], 20, axis=0)
    train, test = (corners + random.standard_normal((60, 2)) for _ in range(2))
    assert accuracies(train, labels, test, labels) == {"centroid": 1.0, "logistic": 1.0}
    # Rows without a label do not count.
    scores = np.array([[0.0], [1.0], [9.0], [10.0], [5.0]])
    labels = [0, 0, 1, 1, -1]
    assert accuracies(scores, labels, scores, labels) == {"centroid": 1.0, "logistic": 1.0}
    assert accuracies(scores, [-1] * 5, scores, labels) == {}


def test_neither_units_nor_a_rotation_matter():
    random = np.random.default_rng(0)
    labels, turn = random.integers(0, 3, 60), np.array([[0.6, 0.8], [-0.8, 0.6]])
    train, test = (np.eye(3)[labels, :2] + random.standard_normal((60, 2)) for _ in range(2))
    plain = accuracies(train, labels, test, labels)
    assert plain == accuracies(train @ turn, labels, test @ turn, labels)
    assert plain == accuracies(1e-6 * train, labels, 1e-6 * test, labels)
    centroids = np.array([train[labels == label].mean(axis=0) for label in range(3)])
    nearest = np.linalg.norm(test[:, None] - centroids, axis=2).argmin(axis=1)
    assert plain["centroid"] == np.mean(nearest == labels)


@each("columns", [0, 2])
def test_without_information_all_are_called_the_most_frequent_class(columns):
    scores = np.zeros((4, columns))
    assert set(accuracies(scores, [1, 1, 1, 0], scores, [1, 0, 2, 1]).values()) == {0.5}
