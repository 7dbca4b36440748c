"""The tables of the comparison with missing cells, from what :mod:`attenua_evidence.missing` stores.

Numbers of a data set are averaged over its rows, ranks and draws first, so that data sets count alike.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd

from attenua_evidence.covariance import table
from attenua_evidence.missing_rivals import (
    ITERATIVE,
    LEDOIT_WOLF,
    MEANS,
    METHODS,
    OUR_FILLING,
    OUR_SUBSPACE,
    OURS,
)

SUBSPACE, FILLING = "subspace", "filling"
BY_VALUE = "20%, large values more often"
# Part of the cells that is hidden.
PATTERNS = {"10% at random": 0.1, "20% at random": 0.2, "50% at random": 0.5, BY_VALUE: 0.2}
COMMON_RANK = 5
BEHIND = 0.01  # ours is behind the best rival by more than this
# Less excess than this part of the risk is rounding.
_ROUNDING = 1e-10

_CELL = ["data", "rows", "draw", "pattern", "rank"]


def shares(lines: pd.DataFrame) -> pd.DataFrame:
    """Return the part of the excess of column means that each method removes, a column for each method."""
    chosen = lines[lines["use"] == SUBSPACE]
    risks = chosen.pivot(index=_CELL, columns="method", values="value")
    references = chosen.groupby(_CELL)["reference"].first()
    excess = risks.sub(references, axis=0)
    base = excess[MEANS].where(excess[MEANS] > _ROUNDING * risks[MEANS])
    return 1 - excess.div(base, axis=0)


def ranked_errors(lines: pd.DataFrame) -> pd.DataFrame:
    """Return squared errors of filled cells, a column for each method and rank; 0 is a method without ranks.

    A data set with few columns does not allow all ranks. It has the error of the largest one in their place.
    """
    chosen = lines[lines["use"] == FILLING]
    index = ["data", "rows", "draw", "pattern"]
    errors = chosen.pivot(index=index, columns=["method", "rank"], values="value").sort_index(axis=1)
    asked = chosen.pivot(index=index, columns=["method", "rank"], values="status").notna()
    for name, rank in errors.columns:
        smaller = [(name, other) for other in errors[name].columns if other < rank]
        for column in reversed(smaller):
            lacking = ~asked[name, rank]
            errors.loc[lacking, (name, rank)] = errors.loc[lacking, column]
            asked.loc[lacking, (name, rank)] = asked.loc[lacking, column]
    return errors


def set_means(values: pd.DataFrame) -> pd.DataFrame:
    """Return the mean of each data set."""
    return values.groupby(level="data").mean()


def relative(errors: pd.DataFrame, base: str) -> pd.DataFrame:
    """Return the errors of each data set divided by those of a method, the geometric mean over its cells."""
    tiny = np.finfo(float).tiny
    logs = np.log(errors.clip(lower=tiny))
    return np.exp(set_means(logs.sub(logs[base, 0], axis=0)))


def _percent(value: float) -> str:
    if np.isnan(value):
        return "–"
    return f"{100 * value:.1f}%" if abs(value) < 10 else f"{100 * value:.0e}%"


def _present(columns: Sequence[str], ours: str) -> list[str]:
    """Return the methods in their order, ours last, those of the other use left out."""
    return [name for name in METHODS if name in columns and (name not in OURS or name.startswith(ours))]


def _share_words(values: pd.DataFrame, name: str) -> list[str]:
    sets = set_means(values[[name]])[name].dropna()
    if sets.empty:
        return ["–"] * 4
    return [_percent(value) for value in (sets.mean(), sets.median(), np.mean(sets > 0), sets.min())]


def subspace_tables(lines: pd.DataFrame) -> Iterator[str]:
    """Yield the shares of excess removed by pattern and by number of rows."""
    values = shares(lines)
    names = [name for name in _present(values.columns, OUR_SUBSPACE) if name != MEANS]
    heading = ("mean", "median", "data sets better", "worst data set")
    yield "**Subspace: how much of the excess risk of column means + PCA each method removes**"
    yield ""
    yield (
        f"A method is fitted to rows with missing cells and judged on whole new rows of "
        f"{values.index.get_level_values('data').nunique()} data sets, at ranks 2, 5 and 10; the excess is "
        "the risk above that of the best subspace for the new rows."
    )
    yield ""
    patterns = values.index.get_level_values("pattern")
    yield from table(
        ("missing", "method", *heading),
        [
            (pattern, name, *_share_words(values[patterns == pattern], name))
            for pattern in PATTERNS
            for name in names
        ],
    )
    yield "The same by the number of fitted rows, over all patterns."
    yield ""
    sizes = values.index.get_level_values("rows")
    yield from table(
        ("rows", "method", *heading),
        [(str(n), name, *_share_words(values[sizes == n], name)) for n in np.unique(sizes) for name in names],
    )


def best_rank(ratios: pd.DataFrame, name: str) -> int:
    """Return the one rank of a method at which the median data set has the least error."""
    return int(ratios[name].median().idxmin())


def filling_tables(lines: pd.DataFrame) -> Iterator[str]:
    """Yield the errors of filled cells, relative to two rivals."""
    errors = ranked_errors(lines)
    bases = [name for name in (LEDOIT_WOLF, ITERATIVE) if (name, 0) in errors.columns]
    names = _present(errors.columns.get_level_values(0), OUR_FILLING)
    rows = []
    for pattern in PATTERNS:
        chosen = errors[errors.index.get_level_values("pattern") == pattern]
        ratios = {base: relative(chosen, base) for base in bases}
        for name in names:
            if 0 in errors[name].columns:
                kinds = [(0, name.removesuffix(" + PCA"))]
            else:
                best = best_rank(ratios[bases[0]], name)
                kinds = [(best, f"{name}, best rank ({best})"), (COMMON_RANK, f"{name}, rank {COMMON_RANK}")]
            for rank, words in kinds:
                cells = []
                for base in bases:
                    found = ratios[base][name, rank].dropna()
                    cells += (
                        [f"{found.median():.3f}", _percent(np.mean(found < 1))] if len(found) else ["–"] * 2
                    )
                rows.append((pattern, words, *cells))
    titles = [base.removesuffix(" + PCA") for base in bases]
    yield "**Filling: squared error of hidden cells of new rows**"
    yield ""
    yield (
        "Errors are divided by those of "
        f"{' and of '.join(titles)}: less than 1 is better. They are those of the median data set, with the "
        "part of data sets on which a method is better. The best rank is the one that is best over all data "
        "sets; the largest one that the columns allow takes its place."
    )
    yield ""
    heading = [words for title in titles for words in (f"by {title}'s", f"better than {title}")]
    yield from table(("missing", "method", *heading), rows)


def losses(lines: pd.DataFrame) -> Iterator[str]:
    """Yield the data sets on which ours is behind the best rival, with that rival."""
    values = shares(lines)
    if OUR_SUBSPACE in values:
        sets = set_means(values)
        others = sets[[name for name in _present(sets.columns, OUR_SUBSPACE) if name not in OURS]]
        behind = (others.max(axis=1) - sets[OUR_SUBSPACE]).sort_values(ascending=False)
        found = [
            f"{name} ({_percent(gap)}, {others.loc[name].idxmax()})"
            for name, gap in behind.items()
            if gap > BEHIND
        ]
        yield (
            f"Data sets on which {OUR_SUBSPACE} removes less than the best rival by more than {BEHIND:.0%} "
            f"of the excess, over all patterns: {', '.join(found) or 'none'} ({len(found)} of {len(sets)})."
        )
        yield ""
    errors = ranked_errors(lines)
    if (OUR_FILLING, 0) in errors.columns:
        ratios = relative(errors, OUR_FILLING)
        rivals = ratios[[column for column in ratios.columns if column[0] not in OURS]]
        least = rivals.min(axis=1).sort_values()
        best = {
            name: " ".join(map(str, column)).removesuffix(" 0")
            for name, column in rivals.idxmin(axis=1).items()
        }
        found = [
            f"{name} ({_percent(1 / ratio - 1)}, {best[name]})"
            for name, ratio in least.items()
            if 1 / ratio > 1 + BEHIND
        ]
        yield (
            f"Data sets on which {OUR_FILLING} has an error larger than the best rival's, at its best rank, "
            f"by more than {BEHIND:.0%}: {', '.join(found) or 'none'} ({len(found)} of {len(least)})."
        )
        yield ""


def fits_table(lines: pd.DataFrame) -> Iterator[str]:
    """Yield how many fits failed or stopped at their limit, and how long they took."""
    fits = lines.drop_duplicates([*_CELL, "method", "use"])
    fits = fits[fits["use"] == np.where(fits["method"].str.startswith(OUR_FILLING), FILLING, SUBSPACE)]
    rows = []
    for name in METHODS:
        found = fits[fits["method"] == name]
        if found.empty:
            continue
        filling = lines[(lines["method"] == name) & (lines["use"] == FILLING)]
        rows.append(
            (
                name,
                str(len(found)),
                *(str(np.sum(found["status"] == status)) for status in ("failed", "stopped")),
                str(np.sum(filling["status"] == "failed")),
                f"{found['seconds'].mean():.2f}",
            )
        )
    yield "**Fits that failed**"
    yield ""
    yield (
        "Fits that raise an error or are not finite are left out above. Those that stop at their own limit "
        "of rounds are used as they are, as a user would."
    )
    yield ""
    heading = ("method", "subspaces", "failed", "stopped at a limit", "fillings failed", "seconds a fit")
    yield from table(heading, rows)


def page(lines: pd.DataFrame) -> str:
    """Return all tables."""
    parts = (subspace_tables, filling_tables, losses, fits_table)
    return "\n".join(line for make in parts for line in make(lines))
