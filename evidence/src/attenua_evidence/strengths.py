"""Strengths by name: one column for each correction, 0 where a line has none."""

import pandas as pd

from attenua._correct import registry

# No data set of the collection has another one to borrow from.
CORRECTIONS = {name: each for name, each in registry.CORRECTIONS.items() if each.parameter != "reference"}


def with_all_strengths(lines: pd.DataFrame) -> pd.DataFrame:
    """Return lines with a strength for each correction.

    A correction without a column is newer than the lines; one with an empty cell was not tried there. Both
    have strength 0.
    """
    strengths = {name: lines[name].fillna(0.0) if name in lines else 0.0 for name in CORRECTIONS}
    return lines.assign(**strengths)
