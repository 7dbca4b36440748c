"""The forest plots: what is drawn, in which order, on which axis."""

from attenua_evidence.forest import compact_forest, data_sets, forest, overall


def test_data_sets_are_sorted_by_gain_and_averaged(lines, open_parts):
    # Data sets are sorted by gain.
    sets = data_sets(lines)
    assert [one.name for one in sets] == ["alpha", "gamma", "beta"]
    alpha, gamma, beta = sets
    # Two cells, of 15 and 5.
    assert alpha[3:] == (10, 5, 7.5, 12.5, 15, 2)
    assert (gamma.part, gamma.kind) == ("develop", "counts")
    assert beta[3:] == (-2, -2, -2, -2, -2, -3)
    # Means of the final part and of all.
    means = overall(lines)
    assert means["final part"].value == 4
    assert round(means["all parts"].value, 2) == 3.33
    assert list(overall(open_parts)) == ["so far"]


def test_what_the_picture_shows(lines, open_parts):
    # Names kinds and means are written.
    ax = forest(lines).axes[0]
    labels = [label.get_text() for label in ax.get_yticklabels()]
    assert labels == ["alpha", "gamma", "beta", "mean, final part", "mean, all parts"]
    texts = [text.get_text() for text in ax.texts]
    assert texts[:4] == ["spectra", "counts", "table", "+4.0 [-72.2, 80.2]"]
    assert len(ax.patches) == 2
    # Legend names the parts that were run.
    for some, names in ((lines, ["final part", "develop part"]), (open_parts, ["develop part"])):
        (legend,) = forest(some).legends
        assert [text.get_text() for text in legend.get_texts()] == [*names, "paper's strength"]
    # Compact picture names no data set.
    ax = compact_forest(lines).axes[0]
    (label,) = ax.get_xticklabels()
    assert label.get_text() == "the 3 data sets, from the largest gain to the largest loss"
    assert [text.get_text() for text in ax.texts[:2]] == ["final\npart\n+4.0", "all\nparts\n+3.3"]
    # Axis is linear unless a cell is far off.
    assert forest(lines).axes[0].get_xscale() == "linear"
    is_ours = (lines["method"] == "recommended") & (lines["data"] == "beta")
    far = forest(lines.assign(risk=lines["risk"].mask(is_ours, 30.0))).axes[0]
    assert far.get_xscale() == "symlog"
    assert [tick for tick in far.get_xticks() if tick < -50] == [-300, -100]
    assert "logarithmic beyond 10" in far.get_xlabel()
