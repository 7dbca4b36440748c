"""
In a scikit-learn pipeline
==========================

:class:`~attenua.CorrectedPCACV` replaces :class:`sklearn.decomposition.PCA` in a pipeline. Here it reduces
small patches of two photographs, and a classifier tells the photographs apart. A grid search chooses the
number of components by the accuracy of the whole pipeline.
"""

# %%
# The two photographs come with scikit-learn. A patch has 6 x 6 pixels, less its mean; 150 are for training.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.feature_extraction.image import extract_patches_2d
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

from attenua import CorrectedPCACV

photographs = [image.mean(axis=2) for image in load_sample_images().images]
X = np.concatenate(
    [extract_patches_2d(image, (6, 6), max_patches=2_000, random_state=0) for image in photographs]
).reshape(4_000, 36)
X -= X.mean(axis=1, keepdims=True)
y = np.repeat([0, 1], 2_000)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=150, stratify=y, random_state=0)

# %%
# scikit-learn names a step after its class. The strengths are chosen inside every training set of the search,
# without the test fold.

ranks = [2, 4, 6, 8, 10]
searches = {}
for reducer in (PCA(), CorrectedPCACV(neighbours=(6, 6))):
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

# %%
# Every step can be asked for its answer.

print(searches["CorrectedPCACV"].best_estimator_["correctedpcacv"].verdict_)

# %%
# Do not expect a classifier to gain: the corrections aim at the subspace that reconstructs new rows, and do
# not use the labels. On the data sets of :doc:`/guide/evidence` no difference in accuracy was shown.
