"""``plot`` of the estimators of a subspace: the usual pictures side by side."""

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted


class DrawsItself(BaseEstimator):  # type: ignore[misc]
    """Draws scores, scree, loadings and what was compared in one figure."""

    def plot(self, X: Any, *, colour_by: ArrayLike | None = None) -> dict[str, Any]:
        """Draw the scores beside those of PCA, the scree, the loadings, and what was compared.

        The displays of :mod:`attenua.display` draw each of them alone, with more options. It needs
        matplotlib, which ``attenua[plot]`` installs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The rows the estimator was fitted to. There must be at least two components.
        colour_by : array-like of shape (n_samples,), default=None
            What colours the rows: labels of a few kinds, or numbers.

        Returns
        -------
        dict of str to matplotlib Axes
            "scores", "scree", "loadings" and, where held-out rows compared strengths, "steps". All are in one
            new figure: ``pca.plot(X)["scree"].figure.savefig("pca.png")``.
        """
        from attenua.display import (
            BiplotDisplay,
            ScoresBesidePCADisplay,
            ScreeDisplay,
            StepsDisplay,
            ValidationCurveDisplay,
        )
        from attenua.display.common import pyplot

        check_is_fitted(self)
        pictures = pyplot()
        compared: Any = None
        below = ".LLLL."
        if hasattr(self, "alphas_"):
            compared, below = ValidationCurveDisplay, "LLLSSS"
        elif any(step.strengths for step in getattr(self, "steps_", ())):
            compared, below = StepsDisplay, "LLSSSS"  # up to seven panels, each with a title
        names = {"Z": "scores", "V": "scree", "L": "loadings", "S": "steps"}
        places = [[names.get(letter, ".") for letter in line] for line in ("ZZZZVV", below)]
        _, axes = pictures.subplot_mosaic(places, figsize=(13, 8.5), layout="constrained")
        try:
            ScoresBesidePCADisplay.from_estimator(self, X, ax=axes["scores"], colour_by=colour_by)
            ScreeDisplay.from_estimator(self, X, ax=axes["scree"])
            BiplotDisplay.from_estimator(self, X, ax=axes["loadings"], colour_by=colour_by)
            if compared is not None:
                compared.from_estimator(self, ax=axes["steps"])
        except BaseException:
            pictures.close(axes["scores"].figure)  # half a figure is none
            raise
        drawn: dict[str, Any] = axes
        return drawn
