"""
Why this score must not choose the number of components
=======================================================

Reconstruction of held-out rows compares strengths at one number of components. It cannot compare numbers of
components, because a larger subspace reconstructs every row better, new or not.
"""

# %%
# Three directions in twelve coordinates, the rest noise; 80 rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV

from attenua import AttenuatedPCACV

random = np.random.default_rng(0)
directions = np.linalg.qr(random.standard_normal((12, 3)))[0]
X = random.standard_normal((80, 3)) * [4, 3.5, 3] @ directions.T + random.standard_normal((80, 12))

ranks = np.arange(1, 12)
errors = np.array([AttenuatedPCACV(rank).fit(X).cv_risk_.min() for rank in ranks])
search = GridSearchCV(AttenuatedPCACV(), {"n_components": ranks}, cv=5).fit(X)
taken = search.best_params_["n_components"]
print(f"GridSearchCV by this score takes {taken} of the {ranks[-1]} components it was offered")

# %%
# The held-out error falls all the way, and a search by it takes as many components as it may. Measures that
# know noise from signal do not. Two of them: the marginal likelihood of probabilistic PCA, and parallel
# analysis, which asks whether an eigenvalue is larger than those of the same columns shuffled.

shuffled = np.array([np.linalg.eigvalsh(np.cov(random.permuted(X, axis=0).T))[::-1] for _ in range(200)])
found = np.linalg.eigvalsh(np.cov(X.T))[::-1]
parallel = int(np.argmin(found > np.quantile(shuffled, 0.95, axis=0)))
print(f"PCA(n_components='mle') of scikit-learn: {PCA('mle').fit(X).n_components_}")
print(f"parallel analysis: {parallel}")

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
left.plot(ranks, errors, "o-", color="#1d5a86")
left.axvline(3, color="0.5", ls="--", lw=1)
left.text(3.15, errors.max(), "true number", va="top")
left.set(
    xlabel="components", ylabel="squared error of a held-out row", title="always falling", ylim=(0, None)
)
right.plot(range(1, 13), found, "o-", color="#1d5a86", label="eigenvalues")
right.plot(
    range(1, 13), np.quantile(shuffled, 0.95, axis=0), "--", color="#b5541c", label="shuffled columns, 95%"
)
right.axvline(3, color="0.5", ls="--", lw=1)
right.set(xlabel="component", ylabel="eigenvalue", title="parallel analysis")
right.legend(frameon=False)

# %%
# So: choose the number of components by what you know, by parallel analysis, by a likelihood, or by the
# score of what comes after (:doc:`plot_2_pipeline`). Then let this score choose the strength.
