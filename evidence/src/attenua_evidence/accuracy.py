"""The accuracies in the store: what scores are worth as features, and whether gains carry over to it."""

from typing import NamedTuple

import pandas as pd

from attenua_evidence.averages import Mean, decimals, mean_of, pearson, spearman
from attenua_evidence.results import DEFAULT, PAPER, PCA, RECOMMENDED, data_means, fitted, pair, rivals_of
from attenua_paper.studies.tables import Table

CLASSIFIERS = {"centroid": "nearest centroid", "logistic": "logistic regression"}


class Carried(NamedTuple):
    """How accuracy changes with the recommended setting, in points, and goes along with its gain.

    Attributes
    ----------
    change : Mean
        Accuracy less PCA's, in percentage points, over data sets.
    spearman, pearson : Mean
        Correlation of gain and change over data sets, with its interval.
    """

    change: Mean
    spearman: Mean
    pearson: Mean


def labelled(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the lines of the data sets that have labels."""
    has_labels = lines.groupby("data")[list(CLASSIFIERS)].count().sum(axis=1) > 0
    return lines[lines["data"].map(has_labels)]


def change_of(lines: pd.DataFrame, method: str, classifier: str) -> pd.Series:
    """Return by data set how many points of accuracy a method adds to PCA in the same draws."""
    mine, pca = pair(lines, method, PCA)
    change = 100 * (data_means(mine, classifier) - data_means(pca, classifier))
    return change.round(6)  # less is rounding, and must not be ranked


def carried(lines: pd.DataFrame, classifier: str) -> Carried:
    """Return how accuracy changes with the recommended setting, and its correlation with the gain."""
    change = change_of(lines, RECOMMENDED, classifier)
    gain = data_means(fitted(lines, RECOMMENDED))[change.index]
    return Carried(mean_of(change), spearman(gain, change), pearson(gain, change))


def accuracy_table(lines: pd.DataFrame) -> Table:
    """Accuracy of both classifiers with the scores of every method, and its difference to PCA's."""
    rows = []
    for method in (PCA, PAPER, DEFAULT, RECOMMENDED, *rivals_of(lines)):
        cells = []
        for classifier in CLASSIFIERS:
            accuracy = 100 * data_means(fitted(lines, method), classifier).mean()
            change = mean_of(change_of(lines, method, classifier))
            cells += [decimals(accuracy, 1), "" if method == PCA else str(change)]
        count = len(data_means(fitted(lines, method), "logistic"))
        rows.append((method, str(count), *cells))
    heading = ["Method", "data sets"]
    for title in CLASSIFIERS.values():
        heading += [f"{title}, %", "less PCA's [95%]"]
    return Table("Accuracy on test rows with scores as features: mean over data sets", tuple(heading), rows)


def correlation_table(lines: pd.DataFrame) -> Table:
    """Correlation over data sets between the gain and the change of accuracy."""
    rows = []
    for classifier, title in CLASSIFIERS.items():
        of = carried(lines, classifier)
        rows.append((title, str(of.spearman.count), str(of.spearman), str(of.pearson)))
    heading = ("Classifier", "data sets", "Spearman [95%]", "Pearson [95%]")
    return Table("Correlation over data sets of the recommended gain and change of accuracy", heading, rows)
