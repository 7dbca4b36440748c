"""What a user writes, for mypy (make lint); nothing here is run.

A line that ends in ``# type: ignore[...]`` holds a mistake. If mypy did not find it, the comment would be
unused, which is an error too.
"""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from attenua import (
    AttenuatedPCA,
    AttenuatedPCACV,
    CorrectedCovariance,
    CorrectedPCA,
    CorrectedPCACV,
    attenuation_path,
    choose_rank,
    save_model,
)
from attenua.path import AttenuationPath
from attenua.rank import RankChoice


def right(X: NDArray[np.float64]) -> None:
    """Everything that works passes."""
    AttenuatedPCACV(2, alphas="mask", cv=3, n_jobs=2)
    AttenuatedPCACV(2, cv=None)
    AttenuatedPCACV(0.9, alphas=[0, 0.5, 1], cv=[([0, 1], [2])], feature_groups=[[0, 1], [2]])
    AttenuatedPCACV(None, alphas=np.linspace(0, 1, 5), feature_groups=["a", "a", "b"])
    CorrectedPCA(2, smoothing=1.0, neighbours="line")
    CorrectedPCACV(2, corrections=["damping", "pooling"], neighbours=(8, 8))
    CorrectedPCACV(2, corrections={"damping": [0, 0.5], "tempering": (0.5, 1)}, neighbours=np.eye(4))
    CorrectedPCACV(2, reference=X)
    CorrectedPCA(2, borrowing=0.5, reference=AttenuatedPCA(2).fit(X))
    fitted = CorrectedPCACV(2).fit(X)
    assert_type(fitted, CorrectedPCACV)
    assert_type(fitted.choices_, list[dict[str, float]])
    assert_type(fitted.left_out_gain_, float)
    assert_type(fitted.verdict_, str)
    assert_type(fitted.n_components_, int)
    assert_type(fitted.score(X), float)
    assert_type(fitted.steps_[0].weight, float)
    assert_type(AttenuatedPCACV(2).fit(X).alpha_, float)
    covariance = CorrectedCovariance(corrections=["damping"], neighbours="line", assume_centered=True).fit(X)
    assert_type(covariance, CorrectedCovariance)
    assert_type(covariance.score(X), float)
    assert_type(covariance.mahalanobis(X), NDArray[np.float64])
    assert_type(AttenuatedPCA(2).fit(X), AttenuatedPCA)
    assert_type(attenuation_path(X, 2, alphas="direct"), AttenuationPath)
    choice = choose_rank(X, method="parallel", max_rank=5, random_state=np.random.RandomState(0))
    assert_type(choice, RankChoice)
    assert_type(choice.rank, int)
    rows, columns = fitted.loadings_.shape
    print(fitted.components_ @ fitted.loadings_, fitted.set_output(transform="pandas").fit_transform(X))
    print(rows, columns, fitted.score_samples(X), fitted.cv_risk_folds_.mean())
    save_model(fitted, "model.safetensors", force=True)


def wrong(X: NDArray[np.float64]) -> None:
    """Every mistake is found."""
    AttenuatedPCACV(2, alphas="wild")  # type: ignore[arg-type]
    AttenuatedPCACV(2, alphas=["direct"])  # type: ignore[list-item]
    AttenuatedPCACV(2, cv="five")  # type: ignore[arg-type]
    AttenuatedPCACV("two")  # type: ignore[arg-type]
    AttenuatedPCA(2, 0.5)  # type: ignore[call-arg]
    CorrectedPCACV(2, corrections="all")  # type: ignore[arg-type]
    CorrectedPCACV(2, corrections=["dampening"])  # type: ignore[list-item]
    CorrectedPCACV(2, corrections={"dampening": [0.5]})  # type: ignore[dict-item]
    CorrectedPCACV(2, neighbours="grid")  # type: ignore[arg-type]
    CorrectedPCACV(2, reference="others.csv")  # type: ignore[arg-type]
    CorrectedPCACV(2, nested="all")  # type: ignore[arg-type]
    CorrectedPCA(2, tempring=0.5)  # type: ignore[call-arg]
    CorrectedPCA(2).set_output(transform="panda")  # type: ignore[arg-type]
    attenuation_path(X, 2, alphas="wild")  # type: ignore[arg-type]
    choose_rank(X, method="elbow")  # type: ignore[arg-type]
    choose_rank(X, random_state="a")  # type: ignore[arg-type]
    CorrectedPCACV(2).fit(X).left_out_gain_ = "much"  # type: ignore[assignment]
