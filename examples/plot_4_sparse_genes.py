"""
Sparse genes
============

Counts of genes in cells are mostly zeros. :class:`~attenua.AttenuatedPCACV` takes them as they are: sparse
rows are never made dense, and with many columns no square matrix is formed.
"""

# %%
# A small panel of genes and 100 cells, simulated. Every gene belongs to one of six programmes, each programme
# is active in a cell to some degree, and counts are Poisson. In the first case all genes are about equally
# abundant, as in a chosen panel; in the second their abundances differ, as in a whole transcriptome.

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp
from sklearn.model_selection import RepeatedKFold

from attenua import AttenuatedPCA, AttenuatedPCACV


def count(random, n_cells, abundance):
    """Draw a sparse table of counts."""
    programme = np.arange(len(abundance)) % 6
    activity = random.gamma(0.5, 1, (n_cells, 6))
    return sp.csr_array(random.poisson(abundance * (0.2 + activity[:, programme])))


def error_removed(counts, model, pca):
    """Return the percentage of PCA's excess error on new cells that a model removes."""
    dense = counts.toarray()
    floor = np.linalg.eigvalsh(np.cov(dense.T, bias=True))[: -model.n_components_].sum()
    of_pca, of_model = (each.reconstruction_error(counts).mean() for each in (pca, model))
    return 100 * (of_pca - of_model) / (of_pca - floor)


panels = {"equal abundance": lambda random: np.full(300, 0.15)}
panels["unequal abundance"] = lambda random: random.gamma(0.5, 0.3, 300)

figure, axes = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
for ax, (title, abundance) in zip(axes, panels.items(), strict=True):
    random = np.random.default_rng(1)
    counts = count(random, 1_600, abundance(random))
    cells, new_cells = counts[:100], counts[100:]
    model = AttenuatedPCACV(6, cv=RepeatedKFold(n_splits=5, n_repeats=4, random_state=0)).fit(cells)
    pca = AttenuatedPCA(6, alpha=0).fit(cells)
    ax.plot(model.alphas_, 100 * (model.cv_risk_ / model.cv_risk_[0] - 1), "o-", color="#1d5a86", ms=4)
    ax.plot(model.alpha_, 100 * (model.cv_risk_.min() / model.cv_risk_[0] - 1), "o", ms=11, mfc="none", mew=2)
    ax.axhline(0, color="0.6", lw=0.8)
    ax.set(title=title, xlabel=r"attenuation strength $\alpha$", ylabel="held-out error against PCA, %")
    stored = cells.nnz / np.prod(cells.shape)
    print(
        f"{title}: {stored:.0%} of the entries stored, strength {model.alpha_:g}, "
        f"{error_removed(new_cells, model, pca):.1f}% of PCA's excess error on 1,500 new cells removed"
    )

# %%
# With equal abundance the variances of the counts carry no information about directions, and attenuation
# helps. With unequal abundance they carry most of it, and cross-validation keeps PCA. This takes repeated
# folds: one set of folds, ``cv=5``, happens to choose a strength of 0.3 in the second panel, and makes
# the error on new cells larger.
#
# Dividing every gene by its standard deviation *in the same rows* does not turn the second case into the
# first: all sample variances are then exactly one, and taking a part of them away changes no eigenvector
# at all.

from sklearn.preprocessing import StandardScaler

seen = np.flatnonzero(cells.toarray().sum(axis=0) > 4)
scaled = StandardScaler(with_mean=False).fit_transform(cells[:, seen])
first, last = (AttenuatedPCA(6, alpha=alpha).fit(scaled).components_ for alpha in (0, 0.9))
print(f"largest difference of components, alpha 0 and 0.9, after scaling: {np.abs(first - last).max():.0e}")
