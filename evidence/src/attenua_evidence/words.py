"""The sentences of the page that hold numbers, whichever way the numbers come out."""

from collections.abc import Sequence

import pandas as pd

from attenua_evidence.accuracy import CLASSIFIERS, carried
from attenua_evidence.averages import Mean, decimals
from attenua_evidence.results import CELL, PAPER, PARTS, PCA, RECOMMENDED, SETTINGS, judged_part, parts_of
from attenua_evidence.summary import Extreme, Summary

# A method's own centre matters if it moves its mean gain by more than this, in percent of PCA's excess risk.
_CENTRE_MATTERS = 1.0


def listed(names: Sequence[object]) -> str:
    """Return names as in "a, b and c"."""
    *first, last = map(str, names)
    return f"{', '.join(first)} and {last}" if first else last


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, in the plural where it is not one."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def extent_words(lines: pd.DataFrame) -> str:
    """Say how many data sets, cells and draws there are."""
    parts = parts_of(lines)
    counts = {name: parts[name]["data"].nunique() for name in reversed(PARTS) if name in parts}
    sets = [f"{count} in the part `{name}`" for name, count in counts.items()]
    pca = lines[lines["method"] == PCA]
    cells = pca.groupby(CELL)["draw"].nunique()
    draws = listed(sorted({cells.min(), cells.max()})).replace(" and ", " to ")
    rows, ranks = sorted(pca["rows"].unique()), sorted(pca["rank"].unique())
    return (
        f"These results are of {counted(lines['data'].nunique(), 'data set')}: {listed(sets)}. They make "
        f"{counted(len(cells), 'cell')} with {listed(rows)} rows to fit and ranks {listed(ranks)}, each with "
        f"{draws} draws of the rows.\n"
    )


def headline_words(lines: pd.DataFrame, methods: dict[str, Summary]) -> str:
    """Say what the recommended setting gains, and the paper's strength too."""
    of, paper = methods[RECOMMENDED], methods[PAPER]
    if judged_part(lines) == "final":
        start = f"On the {counted(of.sets, 'data set')} of the final part, run once,"
    else:
        start = (
            "The final part has not been run yet. The other parts shaped the method, so they may flatter it. "
            f"On their {counted(of.sets, 'data set')}"
        )
    return (
        f"{start} the recommended setting has a mean gain of {_percent(of.gain)}. {_verdict(of.gain)} "
        f"The median data set gains {decimals(of.median)}%, and {of.gaining} of {of.sets} gain at all. "
        f"The paper's strength alone has a mean gain of {_percent(paper.gain)}, and {paper.gaining} of "
        f"{paper.sets} data sets gain.\n"
    )


def _percent(mean: Mean) -> str:
    if pd.isna(mean.low):
        return f"{decimals(mean.value)}% of PCA's excess risk"
    return f"{decimals(mean.value)}% of PCA's excess risk (95% interval over data sets: {_range(mean)})"


def _range(mean: Mean) -> str:
    return f"{decimals(mean.low)} to {decimals(mean.high)}"


def _verdict(gain: Mean) -> str:
    if pd.isna(gain.low):
        return "One data set gives no interval."
    return {
        1: "The interval lies above zero: on data like these it pays on average.",
        0: "The interval includes zero, so these data do not show that it pays on average.",
        -1: "The interval lies below zero: on average it does harm.",
    }[gain.sign]


def losses_words(methods: dict[str, Summary]) -> str:
    """Say how often and how much the recommended setting and the paper's strength lose."""
    of = methods[RECOMMENDED]
    ours = f"The recommended setting loses on average on {of.below} of {counted(of.sets, 'data set')}."
    return " ".join([ours, *(_losses(name, methods[name]) for name in (RECOMMENDED, PAPER))]) + "\n"


def _losses(name: str, of: Summary) -> str:
    subject = "It" if name == RECOMMENDED else "The paper's strength"
    return (
        f"{subject} loses more than 1% of PCA's excess risk in {of.losing} of {counted(of.cells, 'cell')}. "
        f"Its worst cell has a gain of {decimals(of.worst.value, 1)}% ({of.worst.cell}). "
        f"{_added(of.most_added)}"
    )


def _added(most: Extreme) -> str:
    if most.value <= 0:
        return "In no cell does it add to PCA's test error."
    return f"The most it adds to PCA's whole test error is {decimals(most.value)}% ({most.cell})."


def rivals_words(methods: dict[str, Summary]) -> str:
    """Say which other methods do better than PCA, and better than the recommended setting."""
    rivals = {name: of for name, of in methods.items() if name not in SETTINGS and of.cells}
    if not rivals:
        return "No other method was compared.\n"
    above_pca = [name for name, of in rivals.items() if of.gain.value > 0]
    median_above = [name for name, of in rivals.items() if of.median > 0]
    above_ours = [name for name, of in rivals.items() if of.gain.value > of.same.value]
    return (
        f"Every other method is compared on the cells where it could be fitted. Of the {len(rivals)}, "
        f"{_these(above_pca)} a mean gain above zero, {_these(median_above)} a median data set that gains, "
        f"and {_these(above_ours)} a higher mean gain than the recommended setting on the very same cells. "
        f"{own_centre_words(methods)}\n"
    )


def _these(names: Sequence[str]) -> str:
    if not names:
        return "none has"
    return f"{len(names)} ({listed(names)}) {'has' if len(names) == 1 else 'have'}"


def own_centre_words(methods: dict[str, Summary]) -> str:
    """Say for how many methods the centre matters."""
    gaps = {name: of.own_gain.value - of.gain.value for name, of in methods.items()}
    moved = [name for name, gap in gaps.items() if abs(gap) > _CENTRE_MATTERS]
    which = f" ({listed(moved)})" if moved else ""
    return (
        "All are judged around the mean of the fitting rows. Around a method's own centre the mean gain "
        f"changes by more than one point for {counted(len(moved), 'method')}{which}."
    )


def downstream_words(lines: pd.DataFrame) -> str:
    """Say how accuracy changes, and whether it goes along with the gain."""
    if lines.empty:
        return "No data set that was run has labels.\n"
    count = lines["data"].nunique()
    sentences = [f"Of these data sets, {count} {'has' if count == 1 else 'have'} labels."]
    for classifier, title in CLASSIFIERS.items():
        of = carried(lines, classifier)
        sentences += [_change_words(title, of.change), _correlation_words(of.spearman)]
    return " ".join(sentences) + "\n"


def _change_words(title: str, change: Mean) -> str:
    ends = "" if pd.isna(change.low) else f" ({_range(change)})"
    says = {1: "it is better with the corrected scores", 0: "no difference is shown", -1: "it is worse"}
    return (
        f"With the recommended scores the accuracy of {title} changes by {decimals(change.value)} "
        f"percentage points against PCA's{ends}: {says[change.sign]}."
    )


def _correlation_words(rho: Mean) -> str:
    if pd.isna(rho.low):
        return "There are too few data sets to estimate a correlation with the gain."
    says = {
        1: "data sets with a larger gain also win more accuracy",
        0: "a gain in reconstruction tells little about accuracy",
        -1: "data sets with a larger gain win less accuracy, or lose more",
    }
    value = f"{decimals(rho.value)} ({_range(rho)})"
    return f"The rank correlation of that change with the gain is {value}: {says[rho.sign]}."
