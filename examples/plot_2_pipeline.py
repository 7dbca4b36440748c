"""
In a scikit-learn pipeline
==========================

The estimators replace :class:`sklearn.decomposition.PCA` in a pipeline. Here
:class:`~attenua.AttenuatedPCACV` reduces small patches of two photographs, and a classifier tells the
photographs apart. A grid search chooses the number of components by the accuracy of the whole pipeline; the
reconstruction error could not choose it.
"""

# %%
# The two photographs come with scikit-learn. A patch has 6 x 6 pixels, less its mean; 150 are for training.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.pipeline import make_pipeline

from attenua import AttenuatedPCA, AttenuatedPCACV

photographs = [image.mean(axis=2) for image in load_sample_images().images]
X = np.concatenate(
    [extract_patches_2d(image, (6, 6), max_patches=2_000, random_state=0) for image in photographs]
).reshape(4_000, 36)
X -= X.mean(axis=1, keepdims=True)
y = np.repeat([0, 1], 2_000)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=150, stratify=y, random_state=0)

# %%
# scikit-learn names a step after its class. The strength is chosen inside every training set of the search,
# without the test fold.

ranks = [2, 4, 6, 8, 10]
searches = {}
for reducer in (PCA(), AttenuatedPCACV(n_repeats=3, random_state=0)):
    pipeline = make_pipeline(reducer, QuadraticDiscriminantAnalysis())
    name = type(reducer).__name__
    search = GridSearchCV(pipeline, {f"{name.lower()}__n_components": ranks}, cv=4)
    searches[name] = search.fit(X_train, y_train)

figure, ax = plt.subplots(figsize=(6.2, 3.9), layout="constrained")
for (name, search), style in zip(searches.items(), ("s--", "o-"), strict=True):
    ax.plot(ranks, search.cv_results_["mean_test_score"], style, label=name)
    print(f"{name}: {search.best_params_}, accuracy on unseen patches {search.score(X_test, y_test):.3f}")
ax.set(xlabel="components", ylabel="cross-validated accuracy", xticks=ranks)
ax.legend(frameon=False)
best = searches["AttenuatedPCACV"].best_estimator_["attenuatedpcacv"]
print(f"strength chosen for all training rows: {best.alpha_:g} (0 is PCA), gain {best.gain_:.2%}")

# %%
# Do not expect a classifier to gain much: attenuation aims at the PCA subspace of the population, and does
# not use the labels.
#
# A grid search can also run over the strength of :class:`~attenua.AttenuatedPCA` at a fixed number of
# components, with the reconstruction error as its measure. It finds the same strength as
# :class:`~attenua.AttenuatedPCACV`, but more slowly: it reads the rows for every strength instead of once for
# all. Both get the same folds here, because ``cv=5`` means consecutive rows in scikit-learn and every fifth
# row in attenua.

alphas = np.linspace(0, 1, 11)
folds = KFold(5)


def score(model, rows, y=None):
    """Return minus the mean squared reconstruction error of a row."""
    return -model.reconstruction_error(rows).mean()


slow = GridSearchCV(AttenuatedPCA(6), {"alpha": alphas}, scoring=score, cv=folds).fit(X_train)
quick = AttenuatedPCACV(6, alphas=alphas, cv=folds).fit(X_train)
print(f"grid search {slow.best_params_['alpha']:g}, AttenuatedPCACV {quick.alpha_:g}")
