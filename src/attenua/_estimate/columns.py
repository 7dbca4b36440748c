"""The columns of some rows, noted as an estimator notes them, for functions that are not estimators."""

from sklearn.base import BaseEstimator


class ColumnsSeen(BaseEstimator):
    """Has ``n_features_in_``, and ``feature_names_in_`` where columns have names, once rows are opened."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.array_api_support = True
        return tags
