"""The fitted attributes, in one table: what each is, and how it is stored.

All code that sets, deletes, saves or loads fitted attributes reads this table. A new attribute is one new
entry.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Any

import numpy as np

from attenua._data.namespace import array_namespace, asarray_like
from attenua._select.steps import Steps


class Kind(Enum):
    """How a fitted attribute is held."""

    DATA = "array of the type, library and device of the data"
    SCALAR = "one number of the type of the data"
    GRID = "array of doubles, of the library and device of the data"
    NUMBER = "float"
    COUNT = "int"
    TEXT = "str"
    STRENGTHS = "dict of the strength of each correction"
    CHOICES = "list of such dicts"
    STEPS = "table of the steps of a search"


SUBSPACE = {
    "components_": Kind.DATA,
    "mean_": Kind.DATA,
    "explained_variance_": Kind.DATA,
    "explained_variance_ratio_": Kind.DATA,
    "singular_values_": Kind.DATA,
    "noise_variance_": Kind.SCALAR,
    "n_components_": Kind.COUNT,
    "n_samples_": Kind.COUNT,
    "shortfall_": Kind.NUMBER,
}


def store(estimator: Any, values: Mapping[str, Any], like: Any, dtype: type) -> None:
    """Set fitted attributes, each as its kind requires; arrays get the library and device of `like`."""
    table = type(estimator)._fitted
    for name, value in values.items():
        setattr(estimator, name, _as_kind(table[name], value, like, dtype))


def forget(estimator: Any) -> None:
    """Delete all fitted attributes of the table, and the sums of batches."""
    for name in (*type(estimator)._fitted, "_stream"):
        vars(estimator).pop(name, None)


@contextmanager
def fit_from_nothing(estimator: Any) -> Iterator[None]:
    """Forget what was fitted; a fit that fails or is interrupted leaves the estimator as it was before."""
    with all_or_nothing(estimator):
        # All that scikit-learn's convention calls fitted, columns included, and the sums of batches.
        for name in list(vars(estimator)):
            if name == "_stream" or (name.endswith("_") and not name.startswith("_")):
                del vars(estimator)[name]
        yield


@contextmanager
def all_or_nothing(estimator: Any) -> Iterator[None]:
    """Restore all attributes if the block fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def _as_kind(kind: Kind, value: Any, like: Any, dtype: type) -> Any:
    if kind in (Kind.DATA, Kind.GRID):
        xp = array_namespace(like)
        wanted = xp.float32 if kind is Kind.DATA and dtype is np.float32 else xp.float64
        value = asarray_like(like, value)
        return value if value.dtype == wanted else xp.astype(value, wanted)
    convert: dict[Kind, Callable[[Any], Any]] = {
        Kind.SCALAR: dtype,
        Kind.NUMBER: float,
        Kind.COUNT: int,
        Kind.TEXT: str,
        Kind.STRENGTHS: dict,
        Kind.CHOICES: lambda choices: [dict(choice) for choice in choices],
        Kind.STEPS: Steps,
    }
    return convert[kind](value)
