"""What held-out rows chose, of either kind of estimator: the paper's is a search of one step."""

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCA, CorrectedPCACV, paired_gain
from attenua._correct.attenuation import NAMED_ALPHAS
from attenua._correct.registry import CORRECTIONS
from attenua._estimate.words import clear_over_splits, is_clear, verdict
from attenua._select.steps import Step, Steps
from attenua.paired import PairedGain

Array = NDArray[np.float64]
Strengths = dict[str, float]

# Gains below this are rounding errors.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class Search:
    """What held-out rows chose: in the fit or, where strengths were given, in a search made for the page.

    Gains are parts of PCA's held-out risk that are removed. What to expect of new rows is None where too few
    parts were held out to tell.
    """

    chosen: Strengths
    judged: Strengths  # those that the expected gain is of
    choices: list[Strengths]  # averaged; empty where the strengths of least risk are taken as they are
    weights: list[float]  # of the choices
    steps: Steps
    verdict: str
    expected: float | None
    expected_error: float
    is_clear: bool  # whether what to expect exceeds its noise
    candidates: list[Strengths]  # all strengths that were compared
    gains: Array  # of each candidate
    n_splits: int
    folds: str
    paired: PairedGain | None = None  # where attenuation is all that was compared

    @property
    def best_but_pca(self) -> Strengths | None:
        """The best candidate other than PCA, where there is one."""
        places = [k for k, candidate in enumerate(self.candidates) if any(candidate.values())]
        return self.candidates[max(places, key=lambda k: self.gains[k])] if places else None


def strengths_of(estimator: Any) -> Strengths:
    """Return the strengths that an estimator chose or was given."""
    if isinstance(estimator, CorrectedPCACV):
        return dict(estimator.corrections_)
    if isinstance(estimator, CorrectedPCA):
        return dict(estimator._strengths())
    alpha = estimator.alpha_ if isinstance(estimator, AttenuatedPCACV) else estimator.alpha
    return {"attenuation": float(alpha)}


def shared_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters that describe the columns; all fits of the same rows share them."""
    known = CorrectedPCA().get_params().keys() - {*CORRECTIONS, "n_components", "whiten"}
    return {name: value for name, value in estimator.get_params(deep=False).items() if name in known}


def search_of(estimator: Any, X: Any, groups: Any) -> Search:
    """Return the search of a fitted estimator or, where its strengths were given, one for the same rows."""
    if isinstance(estimator, AttenuatedPCACV):
        return _search_of_one_step(estimator)
    if isinstance(estimator, CorrectedPCACV):
        if not estimator.nested:
            # The same fit, and what to expect of new rows.
            estimator = clone(estimator).set_params(nested=True).fit(X, groups=groups)
        return _search_of_steps(estimator)
    rank, shared = int(estimator.n_components_), shared_parameters(estimator)
    if isinstance(estimator, AttenuatedPCA):
        alphas = np.append(NAMED_ALPHAS["direct"], estimator.alpha)
        model = AttenuatedPCACV(rank, alphas=alphas, **shared).fit(X, groups=groups)
        # A strength above 0 that was given is judged itself.
        return _search_of_one_step(model, estimator.alpha or None)
    return _search_of_steps(CorrectedPCACV(rank, nested=True, **shared).fit(X, groups=groups))


def _search_of_steps(model: CorrectedPCACV) -> Search:
    gain, error = model.left_out_gain_, model.left_out_gain_error_
    return Search(
        judged=strengths_of(model),
        choices=model.choices_,
        weights=model.choice_weights_,
        steps=model.steps_,
        verdict=model.verdict_,
        expected=gain if isfinite(error) else None,
        expected_error=error,
        is_clear=is_clear(gain, error),
        candidates=model.candidates_,
        n_splits=len(model.cv_risk_folds_),
        **_of_every_search(model),
    )


def _search_of_one_step(model: AttenuatedPCACV, given: float | None = None) -> Search:
    paired = paired_gain(model, given)
    judged = {"attenuation": paired.alpha}
    # PCA itself neither gains nor loses, whatever single parts would choose.
    expected = paired.crossed_gain if paired.alpha else 0.0
    return Search(
        judged=judged,
        choices=[],
        weights=[],
        steps=Steps([_only_step(model, paired)]),
        verdict=model.verdict_ if given is None else _verdict_of_given(judged, paired),
        expected=expected if paired.n_splits > 1 else None,
        expected_error=paired.crossed_error,
        is_clear=paired.verdict == "clear",
        candidates=[{"attenuation": alpha} for alpha in model.alphas_.tolist()],
        n_splits=paired.n_splits,
        paired=paired,
        **_of_every_search(model),
    )


def _of_every_search(model: Any) -> dict[str, Any]:
    return {"chosen": strengths_of(model), "gains": _gains(model), "folds": model.folds_}


def _verdict_of_given(judged: Strengths, paired: PairedGain) -> str:
    expected = paired.crossed_gain, paired.crossed_error
    return verdict([judged], [1.0], expected, times=clear_over_splits(paired.n_splits))


def _only_step(model: AttenuatedPCACV, paired: PairedGain) -> Step:
    """Return the choice of a strength of least risk as a step."""
    gains, alphas = _gains(model), model.alphas_
    best, why = int(np.argmax(gains)), ""
    if model.alpha_:
        best = int(np.flatnonzero(alphas == model.alpha_)[0])
    elif gains[best] > _ROUNDING:
        why = "on all rows it gives PCA's subspace"
    else:
        best = 0
    strengths, risks = (tuple(values.tolist()) for values in (alphas, model.cv_risk_))
    gain, error = float(gains[best]), float(paired.errors[best])
    return Step("attenuation", strengths, risks, strengths[best], gain, error, float(model.alpha_ > 0), why)


def _gains(model: Any) -> Array:
    """Return the part of PCA's held-out risk that each candidate removes."""
    risk = np.asarray(model.cv_risk_, dtype=float)
    return 1 - risk / risk[0] if risk[0] > 0 else np.zeros_like(risk)
