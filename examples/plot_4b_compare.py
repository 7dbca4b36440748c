"""
Comparing methods on your own data
==================================

:func:`attenua_paper.studies.compare` fits all methods to the same rows with the same folds and judges them on
the same test rows. One call, one table.
"""

# %%
# Patches of 3 x 3 pixels from scikit-learn's digits: 64 to fit, the others to test. ``feature_groups`` are
# the columns that block masks hide together, here the rows of a patch.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits

from attenua import AttenuatedPCACV
from attenua_paper.rivals import CorrelationPCA
from attenua_paper.studies import compare
from attenua_paper.studies.patches import draw_patches

patches = draw_patches(load_digits().images, np.random.default_rng(0))
table = compare(patches[:64], 2, X_test=patches[64:], feature_groups=np.arange(9) // 3)
print(table.drop(columns="seconds").round(3).to_string(index=False))

# %%
# The column ``excess_removed`` is the percentage of PCA's avoidable error that a method removes on the test
# rows; the best subspace for the test rows themselves would have 100.
#
# No method wins everywhere
# -------------------------
# One draw proves little, so there are ten; and one data set proves little, so there are two. The second has
# measurements of cell nuclei, with heavy tails and a strong first direction, divided by the standard
# deviations of 200 rows set aside.

measurements = load_breast_cancer().data
order = np.random.default_rng(0).permutation(len(measurements))
scaled = measurements / measurements[order[:200]].std(axis=0)
cases = {"digit patches, rank 2": (patches, 2), "cell nuclei, rank 4": (scaled[order[200:]], 4)}

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained", sharey=True)
for ax, (title, (X, rank)) in zip(axes, cases.items(), strict=True):
    gains = []
    for seed in range(10):
        rows = np.random.default_rng(seed).permutation(len(X))
        table = compare(X[rows[:64]], rank, X_test=X[rows[64:]])
        gains.append(table.set_index("method")["excess_removed"])
    gains, methods = np.array(gains), list(table["method"])
    for position, values in enumerate(gains.T):
        ax.plot(values, np.full(10, position), "o", color="0.65", ms=4)
        ax.plot(values.mean(), position, "D", color="#1d5a86")
    ax.axvline(0, color="0.5", lw=0.8)
    ax.set_xscale("symlog", linthresh=10)
    ax.set_yticks(range(len(methods)), methods)
    ax.set(title=title, xlabel="PCA's excess test error removed, %")
    print(title, dict(zip(methods, gains.mean(axis=0).round(1).tolist(), strict=True)))
axes[0].invert_yaxis()

# %%
# Pass your own candidates as a mapping. All get the same number of components and the same folds.

own = {"fine grid": AttenuatedPCACV(alphas=np.linspace(0, 1, 101)), "correlations": CorrelationPCA()}
table = compare(patches[:64], 2, X_test=patches[64:], methods=own)
print(table[["method", "strength", "excess_removed"]].round(2).to_string(index=False))
