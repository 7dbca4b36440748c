"""Parameters that users of PCA try first and that are not here: the error says what to do instead."""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, Self

from sklearn.base import BaseEstimator

_SOLVER = "the solver is chosen by the shape of the rows, and the answer is exact"
# Parameters of scikit-learn's PCA, and why there is no need for them.
_NOT_NEEDED = {
    "svd_solver": _SOLVER,
    "tol": _SOLVER,
    "iterated_power": _SOLVER,
    "n_oversamples": _SOLVER,
    "power_iteration_normalizer": _SOLVER,
    "random_state": "nothing here is random",
    "copy": "X is never changed",
}
_SPELLED = {"neighbors": "neighbours"}


class AdvisesOnParameters(BaseEstimator):
    """An estimator whose constructor and ``set_params`` know what users of PCA are used to."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__init__" in vars(cls):
            setattr(cls, "__init__", _advising(vars(cls)["__init__"]))  # noqa: B010 - mypy refuses the other

    def set_params(self, **params: Any) -> Self:
        """Set parameters of this estimator.

        Parameters
        ----------
        **params : dict
            Parameters by name.

        Returns
        -------
        self
        """
        advice = _advice_on(type(self), params)
        if advice:
            raise ValueError(advice)
        changed: Self = super().set_params(**params)
        return changed


def _advising(init: Callable[..., None]) -> Callable[..., None]:
    """Return a constructor of the same signature, from which scikit-learn reads the parameters."""

    @wraps(init)
    def advising(self: Any, *args: Any, **given: Any) -> None:
        advice = _advice_on(type(self), given)
        if advice:
            raise TypeError(advice)
        init(self, *args, **given)

    return advising


def _advice_on(cls: Any, given: Mapping[str, Any]) -> str | None:
    """Return a sentence on the first parameter that a class does not have, and that is known here."""
    for name in given:
        if name not in _NOT_NEEDED and name not in _SPELLED:
            continue
        own = cls._get_param_names()
        if name in own:
            continue
        if name in _NOT_NEEDED:
            return f"{cls.__name__} does not need {name}: {_NOT_NEEDED[name]}. Leave it out."
        if _SPELLED[name] in own:
            return f"{cls.__name__} has no parameter {name}; it is spelled {_SPELLED[name]} here."
    return None
