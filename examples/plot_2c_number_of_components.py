"""
How many components
===================

Reconstruction of held-out rows compares strengths at one number of components. It cannot choose the number,
because a larger subspace reconstructs every row better, new or not. :func:`attenua.choose_rank` can.
"""

# %%
# Eighty rows with three directions in twelve coordinates; the rest is noise. A search by the error of
# held-out rows takes as many components as it can.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV

from attenua import AttenuatedPCACV, choose_rank
from attenua.display import RankDisplay

random = np.random.default_rng(0)
directions = np.linalg.qr(random.standard_normal((12, 3)))[0]
X = random.standard_normal((80, 3)) * [4, 3.5, 3] @ directions.T + random.standard_normal((80, 12))

offered = np.arange(1, 12)
search = GridSearchCV(AttenuatedPCACV(), {"n_components": offered}, cv=5).fit(X)
taken = search.best_params_["n_components"]
print(f"GridSearchCV by this score takes {taken} of the {offered[-1]} components it was offered")

# %%
# Bi-cross-validation holds out columns as well as rows. The held-out entries are predicted from the other
# columns of their rows, so a component of noise makes the prediction worse, and the error turns.

choice = choose_rank(X, random_state=0)
print(choice)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
left.plot(offered, -search.cv_results_["mean_test_score"], "o-", ms=3.5, color="#1d5a86")
left.axvline(3, color="0.5", ls="--", lw=1)
left.text(3.2, -search.cv_results_["mean_test_score"][0], "true number", va="top")
left.set(xlabel="components", ylabel="squared error of a held-out row", ylim=(0, None))
left.set_title("rows held out: always falling", fontsize="medium")
left.spines[["top", "right"]].set_visible(False)
RankDisplay.from_choice(choice, ax=right)
right.set_title("rows and columns held out: a turn at 3", fontsize="medium")

# %%
# Real data: 100 handwritten digits of 64 pixels. Here there is no true number, and the methods differ,
# because they ask different questions. Neighbouring pixels vary together even where no digit explains it, and
# all methods count some of that as components.

digits = load_digits().data[:100]
figure, axes = plt.subplots(1, 2, figsize=(10, 3.9), layout="constrained")
for method, ax in zip(("bcv", "parallel"), axes, strict=True):
    found = choose_rank(digits, method=method, random_state=0)
    RankDisplay.from_choice(found, ax=ax)
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
