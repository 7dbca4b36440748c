"""
Missing values: an imputer in front
===================================

The estimators refuse missing values, as scikit-learn's PCA does. Put an imputer in front, in a pipeline. Here
pixels of a few digits are deleted at random, the pipeline fills in column means, and other, complete images
judge the result.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from attenua import CorrectedPCACV

images = load_digits().data


def fitted(reducer, X):
    """Return a pipeline that fills in column means; a column with nothing in it becomes 0."""
    return make_pipeline(SimpleImputer(keep_empty_features=True), reducer).fit(X)


def with_holes(seed, part):
    """Return 80 images, some of their pixels missing, and the other images, complete."""
    random = np.random.default_rng(seed)
    rows = random.permutation(len(images))
    X = images[rows[:80]]
    X[random.random(X.shape) < part] = np.nan
    return X, images[rows[80:]]


X, unseen = with_holes(0, 0.1)
model = fitted(CorrectedPCACV(15, neighbours=(8, 8)), X)
print(f"{np.isnan(X).mean():.0%} of the cells are missing")
print(model[-1].verdict_)

# %%
# Rows with missing cells get scores:

print(model.transform(X[:3])[:, :4].round(1))

# %%
# Does it still pay? Five samples for each share of missing cells, judged by the squared error of unseen
# images.


def error(pipeline, rows):
    """Return the mean squared reconstruction error of rows."""
    back = pipeline[-1].inverse_transform(pipeline.transform(rows))
    return np.mean(np.sum((rows - back) ** 2, axis=1))


parts = (0.0, 0.1, 0.3)
errors = np.empty((len(parts), 5, 2))
for row, part in enumerate(parts):
    for seed in range(5):
        X, unseen = with_holes(seed, part)
        reducers = PCA(15), CorrectedPCACV(15, neighbours=(8, 8))
        errors[row, seed] = [error(fitted(reducer, X), unseen) for reducer in reducers]
    pca, corrected = errors[row].mean(axis=0)
    print(f"{part:.0%} missing: squared error {pca:.0f} by PCA, {corrected:.0f} corrected")

figure, ax = plt.subplots(figsize=(5.4, 3.8), layout="constrained")
for column, (name, colour) in enumerate({"PCA": "#b5541c", "CorrectedPCACV": "#1d5a86"}.items()):
    shift = 0.12 * (2 * column - 1)
    for place, found in enumerate(errors[..., column]):
        ax.plot(np.full(5, place + shift), found, "o", color=colour, ms=4, alpha=0.4)
    middles = errors[..., column].mean(axis=1)
    ax.plot(np.arange(len(parts)) + shift, middles, "D", color=colour, ms=8, label=name)
ax.set_xticks(range(len(parts)), [f"{part:.0%}" for part in parts])
ax.set(xlabel="cells missing", ylabel="squared error of an unseen image")
ax.legend(frameon=False, loc="upper left")

# %%
# Cells that were filled in have no noise of their own, so an imputer makes variances and correlations too
# small, and more so if more cells are missing. Also, the rows that the search holds out were filled in with
# means of all rows, themselves included. So judge the pipeline by rows that neither step was fitted to, as
# here.
