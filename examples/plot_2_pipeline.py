"""
In a scikit-learn pipeline
==========================

:class:`~attenua.AttenuatedPCACV` stands where :class:`sklearn.decomposition.PCA` stood. Here it reduces 60
labelled images before a classifier, and a grid search chooses the number of components by the accuracy of
the whole pipeline, which is a measure that may choose it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from attenua import AttenuatedPCACV

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=120, stratify=y, random_state=0)

# %%
# The step is named after its class, as scikit-learn names all steps. The strength is chosen inside every
# training set of the search, so nothing of a test fold is seen.

ranks = [4, 8, 12, 16, 20]
searches = {}
for reducer in (PCA(), AttenuatedPCACV()):
    pipeline = make_pipeline(reducer, LogisticRegression(max_iter=2000))
    name = type(reducer).__name__
    search = GridSearchCV(pipeline, {f"{name.lower()}__n_components": ranks}, cv=4)
    searches[name] = search.fit(X_train, y_train)

figure, ax = plt.subplots(figsize=(6.2, 3.9), layout="constrained")
for (name, search), style in zip(searches.items(), ("s--", "o-"), strict=True):
    ax.plot(ranks, search.cv_results_["mean_test_score"], style, label=name)
    print(f"{name}: {search.best_params_}, accuracy on unseen images {search.score(X_test, y_test):.3f}")
ax.set(xlabel="components", ylabel="cross-validated accuracy", xticks=ranks)
ax.legend(frameon=False)

# %%
# The two are about as good here. Attenuation aims at the PCA subspace of the population, not at the labels,
# and whole images have pixels of very unequal variance, so cross-validation keeps to small strengths or to
# PCA.

best = searches["AttenuatedPCACV"].best_estimator_["attenuatedpcacv"]
print(f"strength chosen for all training rows: {best.alpha_:g} (0 is PCA), gain {best.gain_:.2%}")

# %%
# A grid search can also run over the strength of :class:`~attenua.AttenuatedPCA` at a fixed number of
# components, with the reconstruction error as its measure. This is what :class:`~attenua.AttenuatedPCACV`
# does, only slower: each row is read once for every strength instead of once for all.

from attenua import AttenuatedPCA

alphas = np.linspace(0, 1, 11)
slow = GridSearchCV(AttenuatedPCA(8), {"alpha": alphas}, cv=5).fit(X_train)
quick = AttenuatedPCACV(8, alphas=alphas, cv=5).fit(X_train)
print(f"grid search {slow.best_params_['alpha']:g}, AttenuatedPCACV {quick.alpha_:g}")
