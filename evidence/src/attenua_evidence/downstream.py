"""Use of the scores: how well two classifiers do with them as features."""

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestCentroid

Array = NDArray[np.float64]


def accuracies(
    train_scores: Array, train_labels: ArrayLike, test_scores: Array, test_labels: ArrayLike
) -> dict[str, float]:
    """Return the part of the test rows that two classifiers call rightly.

    Both are scikit-learn's with their defaults (logistic regression may take 1,000 steps). All scores are
    divided by one number, the root of their mean square in the training rows around their mean, so that
    neither units nor a rotation inside the subspace change an accuracy. Where the training rows have one
    class only, or no score varies, everything is called the most frequent class. A test label that is not
    among the training labels counts as an error. Rows whose label is -1, not known, do not count.

    Parameters
    ----------
    train_scores, test_scores : ndarray of shape (n_samples, n_components)
        ``(x - mean) @ components.T``.
    train_labels, test_labels : array-like of shape (n_samples,)
        The classes.

    Returns
    -------
    dict
        The accuracies "centroid" and "logistic"; empty where no label is known on one of the sides.
    """
    train_scores, known = _labelled(train_scores, train_labels)
    test_scores, truth = _labelled(test_scores, test_labels)
    if not len(known) or not len(truth):
        return {}
    classes, counts = np.unique(known, return_counts=True)
    centre = train_scores.mean(axis=0)
    scale = np.sqrt(np.mean((train_scores - centre) ** 2)) if train_scores.size else 0.0
    if len(classes) == 1 or scale == 0:
        accuracy = float(np.mean(truth == classes[counts.argmax()]))
        return {"centroid": accuracy, "logistic": accuracy}
    train, test = (train_scores - centre) / scale, (test_scores - centre) / scale
    models = {"centroid": NearestCentroid(), "logistic": LogisticRegression(max_iter=1000)}
    return {
        name: float(np.mean(model.fit(train, known).predict(test) == truth)) for name, model in models.items()
    }


def _labelled(scores: Array, labels: ArrayLike) -> tuple[Array, NDArray[np.int_]]:
    labels = np.asarray(labels)
    return scores[labels >= 0], labels[labels >= 0]
