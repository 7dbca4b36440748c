"""
Missing cells: fit, transform and fill rows with holes
======================================================

The estimators take rows with missing cells (NaN) as they are. We make holes in three tables of scikit-learn
and compare two ways to fill them before PCA with :class:`~attenua.CorrectedPCACV` on the holes. Then we fill
new rows, with error bars, and look at what the cells really were.
"""

# %%
# Three tables
# ------------
# Wines, patients and tumours. The columns have different units, so they are divided by their standard
# deviations. 40 rows are fitted and lose 20% or 50% of their cells at random. All other rows are whole, and
# judge the result.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.experimental import enable_iterative_imputer  # noqa: F401
from sklearn.impute import IterativeImputer, SimpleImputer
from sklearn.pipeline import make_pipeline

from attenua import CorrectedPCA, CorrectedPCACV

tables = {
    "wine": load_wine().data,
    "diabetes": load_diabetes().data,
    "cancer": load_breast_cancer().data,
}
tables = {name: table / table.std(axis=0) for name, table in tables.items()}


def draw(table, share, seed, n=40):
    """Return some rows with holes, and the other rows, whole."""
    random = np.random.default_rng(seed)
    order = random.permutation(len(table))
    X = table[order[:n]]
    X[random.random(X.shape) < share] = np.nan
    return X, table[order[n:]]


X, new = draw(tables["cancer"], 0.2, seed=0)
model = CorrectedPCACV(3).fit(X)
print(f"{np.isnan(X).mean():.0%} of the cells are missing, and no row is whole.")
print(model.verdict_)
print(model.transform(X[:3]).round(1))

# %%
# Four ways to PCA
# ----------------
# ``SimpleImputer`` fills in column means, and ``IterativeImputer`` predicts every column from all others, in
# turns. Ours need no step in front. ``CorrectedPCA(3)`` has no correction: it is PCA of completed rows.

ways = {
    "means, then PCA": make_pipeline(SimpleImputer(), PCA(3)),
    "IterativeImputer, then PCA": make_pipeline(IterativeImputer(random_state=0), PCA(3)),
    "CorrectedPCA, no correction": make_pipeline(CorrectedPCA(3)),
    "CorrectedPCACV": make_pipeline(CorrectedPCACV(3)),
}
SHARES, DRAWS = (0.2, 0.5), 5


def error(fitted, rows):
    """Return the mean squared error of whole rows, reconstructed from three components."""
    back = fitted[-1].inverse_transform(fitted.transform(rows))
    return np.mean(np.sum((rows - back) ** 2, axis=1))


def excess(way, table, share, seed):
    """Return the error of new rows above that of the best three components for them."""
    X, new = draw(table, share, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ten rounds of the imputer are seldom enough
        return error(way.fit(X), new) - error(make_pipeline(PCA(3)).fit(new), new)


found = {
    (name, way): np.array(
        [[excess(ways[way], table, share, seed) for seed in range(DRAWS)] for share in SHARES]
    )
    for name, table in tables.items()
    for way in ways
}

# %%
# The picture shows the excess error that is left, in percent of that of mean filling. Small dots are single
# samples, large ones their means.

COLOURS = {
    "means, then PCA": "0.55",
    "IterativeImputer, then PCA": "#b5541c",
    "CorrectedPCA, no correction": "#7fa8c9",
    "CorrectedPCACV": "#1d5a86",
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.9), sharey=True, layout="constrained")
for ax, name in zip(axes, tables, strict=True):
    base = found[name, "means, then PCA"].mean(axis=1, keepdims=True)
    for place, (way, colour) in enumerate(COLOURS.items()):
        left = 100 * found[name, way] / base
        places = np.arange(len(SHARES)) + 0.2 * (place - 1.5)
        ax.plot(places, left, "o", color=colour, ms=4, alpha=0.35, mew=0)
        ax.plot(places, left.mean(axis=1), "o", color=colour, ms=9, label=way)
        print(f"{name:9} {way:28} " + "  ".join(f"{number:4.0f}%" for number in left.mean(axis=1)))
    ax.set_xticks(range(len(SHARES)), [f"{share:.0%} missing" for share in SHARES])
    ax.set(title=f"{name}, {tables[name].shape[1]} columns", xlim=(-0.5, 1.5), ylim=(0, None))
    ax.grid(axis="y", color="0.9")
    ax.set_axisbelow(True)
axes[0].set_ylabel("excess error of new rows, in percent\nof that of means, then PCA")
figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4, frameon=False)

# %%
# The more columns have in common, the more the cells of a row reveal about the missing ones. So tumours gain
# most. Wine and diabetes have few columns with little in common. There ``IterativeImputer`` is a little ahead
# with 20% missing. Single samples differ much.

# %%
# Fill new rows
# -------------
# ``impute`` fills the holes of any rows, here of tumours that were not fitted, and tells how uncertain each
# filled cell is. It uses a whole covariance of the fitted rows, not the three components.

X, truth = draw(tables["cancer"], 0.2, seed=0, n=100)
holes = np.random.default_rng(1).random(truth.shape) < 0.2
rows = np.where(holes, np.nan, truth)
filled, std = CorrectedPCACV(3).fit(X).impute(rows, return_std=True)

fillings = {
    "means": SimpleImputer().fit(X).transform(rows),
    "IterativeImputer": IterativeImputer(random_state=0, max_iter=30, tol=0.01).fit(X).transform(rows),
    "CorrectedPCACV": filled,
}
for name, values in fillings.items():
    errors = np.abs(values - truth)[holes]
    print(
        f"{name:16} root mean square error {np.sqrt(np.mean(errors**2)):.2f}, median {np.median(errors):.2f}"
    )

# %%
# How far can the standard deviations be trusted? Under a Gaussian law, 68% of the cells are within one of
# them and 95% within two.

sizes = np.abs(filled - truth)[holes] / std[holes]
for number in (1, 2):
    print(f"within {number}: {np.mean(sizes < number):.0%} of the cells")

# %%
# Most are too long here. The covariance is shrunk, which adds to the variance of columns that nearly follow
# from others, such as radius, perimeter and area. Heavy tails do the opposite: in the worst column, the error
# of the area, errors are twice as large as they should be. The picture has the cells of every twentieth row.

means = np.nanmean(X, axis=0)
some = holes[::20]
was, expected, bars = (values[::20][some] for values in (truth - means, filled - means, 2 * std))
inside = np.abs(was - expected) < bars

figure, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
for chosen, colour, label in ((inside, "#1d5a86", "inside"), (~inside, "#b5541c", "outside")):
    ax.errorbar(
        was[chosen],
        expected[chosen],
        bars[chosen],
        fmt="o",
        ms=4,
        lw=0.8,
        color=colour,
        alpha=0.7,
        label=f"{label}: {chosen.sum()} cells",
    )
ax.axline((0, 0), slope=1, color="black", lw=1)
ax.set(xlabel="what the cell was, less the column mean", ylabel="filled in, with two standard deviations")
ax.legend(frameon=False, loc="upper left")
plt.show()
