"""The sentences with numbers, whichever way these come out."""

import pandas as pd
from tests.helpers import each

from attenua_evidence.accuracy import labelled
from attenua_evidence.averages import Mean
from attenua_evidence.results import parts_of
from attenua_evidence.summary import compared, summary
from attenua_evidence.words import (
    downstream_words,
    extent_words,
    headline_words,
    listed,
    losses_words,
    rivals_words,
)


def test_extent_and_lists(lines):
    # Extent.
    assert extent_words(lines) == (
        "These results are of 3 data sets: 1 in the part `develop` and 2 in the part `final`. They make "
        "4 cells with 16 rows to fit and ranks 2 and 5, each with 2 draws of the rows.\n"
    )
    uneven = lines[(lines["data"] != "gamma") | (lines["draw"] == 0)]
    assert "each with 1 to 2 draws" in extent_words(uneven)
    # Lists.
    assert [listed(names) for names in (["a"], ["a", "b"], [1, 2, 3])] == ["a", "a and b", "1, 2 and 3"]


def test_headline_and_verdict(lines, open_parts, methods):
    # Headline of the final part.
    words = headline_words(lines, methods)
    assert words.startswith(
        "On the 2 data sets of the final part, run once, the recommended setting has a mean gain of 4.00% of "
        "PCA's excess risk (95% interval over data sets: -72.2 to 80.2). The interval includes zero, "
    )
    assert "The median data set gains 4.00%, and 1 of 2 gain at all." in words
    assert "The paper's strength alone has a mean gain of -0.50% of PCA's excess risk (95%" in words
    # Verdicts.
    methods = dict(methods)
    for low, high, words in [(1, 3, "lies above zero"), (-1, 5, "includes zero"), (-4, -2, "does harm")]:
        gain = Mean((low + high) / 2, low, high, 2)
        methods["recommended"] = methods["recommended"]._replace(gain=gain)
        assert words in headline_words(lines, methods)
    # Headline before the final part is run.
    words = headline_words(open_parts, compared(open_parts))
    assert words.startswith("The final part has not been run yet.")
    assert "On their 1 data set the recommended setting has a mean gain of 2.00%" in words
    assert "One data set gives no interval" in words


def test_losses_and_rivals(final, lines, methods):
    # Losses.
    words = losses_words(methods)
    assert words.startswith(
        "The recommended setting loses on average on 1 of 2 data sets. It loses more than 1% of PCA's "
        "excess risk in 1 of 3 cells. Its worst cell has a gain of -2.0% (beta, 16 rows, rank 2). The most "
        "it adds to PCA's whole test error is 1.00% (beta, 16 rows, rank 2)."
    )
    assert "The paper's strength loses more than 1% of PCA's excess risk in 1 of 3 cells." in words
    alpha = final[final["data"] == "alpha"]
    assert "In no cell does it add to PCA's test error." in losses_words(compared(alpha))
    # Rivals.
    words = rivals_words(methods)
    assert words.startswith(
        "Every other method is compared on the cells where it could be fitted. Of the 1, 1 (robust) has "
    )
    assert "changes by more than one point for 1 method (robust)." in words
    harm = rivals_words(compared(parts_of(lines)["develop"]))
    assert (
        "Of the 1, none has a mean gain above zero, none has a median data set that gains, and none has"
        in harm
    )
    ours = {"recommended": summary(final, "recommended")}
    assert rivals_words(ours) == "No other method was compared.\n"


def test_downstream(final, open_parts):
    words = downstream_words(labelled(final))
    assert words.startswith(
        "Of these data sets, 2 have labels. With the recommended scores the accuracy of nearest centroid "
        "changes by 0.00 percentage points against PCA's (-127 to 127): no difference is shown. "
    )
    assert "too few data sets to estimate a correlation" in words
    assert downstream_words(labelled(open_parts)) == "No data set that was run has labels.\n"


@each(
    "points, words",
    [
        ((0, 1, 2, 3, 4, 5, 6, 8, 7), "also win more accuracy"),
        ((7, 8, 6, 5, 4, 3, 2, 1, 0), "win less accuracy, or lose more"),
        ((0, 1, 0, 1, 0, 1, 0, 1, 0), "tells little about accuracy"),
    ],
)
def test_a_correlation_in_words(final, points, words):
    # Copies of a data set whose gains rise.
    copies = []
    for i, point in enumerate(points):
        copy = final[final["data"] == "alpha"].assign(data=f"alpha {i}")
        copy.loc[copy["method"] == "recommended", "risk"] -= i / 20
        copy.loc[copy["method"] == "recommended", "centroid"] += point / 100
        copies.append(copy)
    assert words in downstream_words(pd.concat(copies))
