"""
How many components
===================

Reconstruction of held-out rows compares strengths at one number of components. It cannot choose the number,
because a larger subspace reconstructs every row better, new or not. The log-likelihood of held-out rows can
(``score``, as in scikit-learn's PCA), and so can :func:`attenua.choose_rank`.
"""

# %%
# Eighty rows with three directions in twelve coordinates; the rest is noise. A search by the error of
# held-out rows takes as many components as it can. A search by ``score``, their log-likelihood, takes three.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from attenua import AttenuatedPCACV, choose_rank

random = np.random.default_rng(0)
directions = np.linalg.qr(random.standard_normal((12, 3)))[0]
X = random.standard_normal((80, 3)) * [4, 3.5, 3] @ directions.T + random.standard_normal((80, 12))

offered = np.arange(1, 12)


def minus_error(model, rows, y=None):
    """Return minus the mean squared reconstruction error of a row."""
    return -model.reconstruction_error(rows).mean()


searches = {
    name: GridSearchCV(AttenuatedPCACV(), {"n_components": offered}, scoring=scoring, cv=5).fit(X)
    for name, scoring in (("error", minus_error), ("likelihood", None))
}
for name, search in searches.items():
    taken = search.best_params_["n_components"]
    print(f"GridSearchCV by the {name} takes {taken} of the {offered[-1]} components it was offered")

# %%
# Bi-cross-validation holds out columns as well as rows. The held-out entries are predicted from the other
# columns of their rows, so a component of noise makes the prediction worse, and the error turns.

choice = choose_rank(X, random_state=0)
print(choice)

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained")
by_error, by_likelihood = (search.cv_results_["mean_test_score"] for search in searches.values())
for ax, measure in ((left, -by_error), (middle, by_likelihood)):
    ax.plot(offered, measure, "o-", ms=3.5, color="#1d5a86")
    ax.axvline(3, color="0.5", ls="--", lw=1)
    ax.set_xlabel("components")
    ax.spines[["top", "right"]].set_visible(False)
left.text(3.2, -by_error[0], "true number", va="top")
left.set(ylabel="squared error of a held-out row", ylim=(0, None))
left.set_title("error: always falling", fontsize="medium")
middle.set_ylabel("log-likelihood of a held-out row")
middle.set_title("likelihood: a turn at 3", fontsize="medium")
choice.plot(right)
right.set_title("rows and columns held out: a turn at 3", fontsize="medium")

# %%
# Real data: 100 handwritten digits of 64 pixels. Here there is no true number, and the methods differ,
# because they ask different questions. Neighbouring pixels vary together even where no digit explains it, and
# all methods count some of that as components.

digits = load_digits().data[:100]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
for method, ax in zip(("bcv", "parallel"), axes, strict=True):
    found = choose_rank(digits, method=method, random_state=0)
    found.plot(ax)
    ax.set_title(method, fontsize="medium")
    print(f"{method}: {found}")

# %%
# With more rows, more components can be told from noise. So the number depends on the sample as well as on
# the population.

for n in (100, 300, 1000):
    print(f"{n} rows: {choose_rank(load_digits().data[:n], random_state=0).rank} components by bcv")

# %%
# Choose the number first, then let held-out rows choose the strengths at that number. :doc:`/guide/rank`
# compares the methods on populations with a known rank.
