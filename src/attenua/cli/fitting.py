"""What fit and report share: read rows, fit them, and score them."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from attenua._data.range import OutOfRangeError, list_columns
from attenua.cli.base import fail, warn, working
from attenua.cli.methods import Method, Request, in_options
from attenua.cli.output import column_names
from attenua.cli.readers import Table, TableError
from attenua.cli.readers.source import shortened


def load_rows(request: Request, names: Sequence[str] | None = None) -> Table:
    """Read the rows of a request, with columns by their names if given, or fail with a sentence."""
    try:
        if request.file is not None:
            return request.reading.read(request.file, names=names)
    except TableError as error:
        fail(str(error))
    if request.reading.given:
        fail(f"{request.reading.as_options()[0]} needs a file; the built-in digits were not given as one.")
    digits = load_digits()
    return Table(digits.data, list(digits.feature_names), None, "the built-in digits")


def fit_rows(table: Table, request: Request) -> Any:
    """Fit a request, or fail with a sentence; what the fit warns of is passed on as notes."""
    model = request.estimator_class(request.k, **request.parameters)
    # PCA holds no rows out, so that groups of them make no difference.
    groups = {} if request.method is Method.PCA else {"groups": table.groups}
    with working("Fitting"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(table.X, **groups)
        except OutOfRangeError as error:
            names = column_names(table)
            listed = list_columns([shortened(names[position]) for position in error.positions])
            fail(f"{table.source} holds {error.sentence.format(where=listed)}")
        except ValueError as error:
            fail(f"{table.source}: {in_options(str(error))}")
        except MemoryError:
            fail(f"{table.source}: the fit does not fit in memory.")
    for warning in caught:
        warn(in_options(str(warning.message)))
    if table.names is not None:
        model.feature_names_in_ = np.array(table.names, dtype=object)
    return model


def scores_of(model: Any, table: Table) -> Any:
    """Return the scores of rows whose columns were matched with the model's."""
    with warnings.catch_warnings():
        # The names were compared when the table was read; its matrix carries none.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        try:
            return model.transform(table.X)
        except OutOfRangeError as error:
            fail(f"{table.source} holds {error.sentence.format(where=f'row {error.positions[0] + 1}')}")
