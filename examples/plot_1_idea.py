"""
The idea in three pictures
==========================

With few rows the axes of PCA wobble. Part of the wobble comes from the errors of the sample variances.
Weakening the variances removes that part. Where the true variances are unequal, it also pulls the axes to a
wrong place. The best strength balances the two.
"""

# %%
# One sample of twelve points
# ---------------------------
# Two coordinates of equal variance and correlation 0.5: the true direction is the diagonal.

import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from attenua import AttenuatedPCA, AttenuatedPCACV
from attenua_paper.theory import draw_rows

PCA_COLOUR, ATTENUATED, TRUTH = "#b5541c", "#1d5a86", "0.35"
equal = np.array([[1.0, 0.5], [0.5, 1.0]])


def draw_axis(ax, direction, length=2.6, **style):
    """Draw a line through the origin."""
    ax.plot(*(np.outer(direction, [-length, length])), **style)


X = draw_rows(equal, 12, random_state=6)
pca, attenuated = (AttenuatedPCA(1, alpha=alpha).fit(X).components_[0] for alpha in (0, 0.75))
figure, ax = plt.subplots(figsize=(5, 4.6), layout="constrained")
ax.plot(*(X - X.mean(axis=0)).T, "o", color="0.55", ms=5)
draw_axis(ax, [0.5**0.5, 0.5**0.5], color=TRUTH, lw=1.4, ls="--", label="the true direction")
draw_axis(ax, pca, color=PCA_COLOUR, lw=2.2, label="PCA of 12 points")
draw_axis(ax, attenuated, color=ATTENUATED, lw=2.2, label=r"attenuated PCA, $\alpha = 0.75$")
ax.set(
    aspect="equal", xlim=(-2.8, 2.8), ylim=(-2.4, 2.4), xlabel="first coordinate", ylabel="second coordinate"
)
ax.legend(frameon=False, loc="upper left", fontsize="small")
sample = np.cov(X.T, bias=True)
print(f"sample variances {sample[0, 0]:.2f} and {sample[1, 1]:.2f}; both are 1 in the population")

# %%
# The first coordinate happened to vary more than the second, and PCA leans towards it. Attenuation keeps
# the covariance of the two coordinates and gives the two variances less weight, so it leans less.
#
# Two hundred samples
# -------------------
# On the left the true variances are equal. On the right they are 2 and 0.6: now the variances carry
# information about the direction, and attenuation estimates another line. It wobbles less, around the wrong
# place.

unequal = np.array([[2.0, 0.5], [0.5, 0.6]])
figure, panels = plt.subplots(1, 2, figsize=(10, 4.3), layout="constrained")
for ax, covariance, title in zip(
    panels, (equal, unequal), ("equal variances", "unequal variances"), strict=True
):
    target = np.linalg.eigh(covariance)[1][:, -1]
    truth = np.degrees(np.arctan2(target[1], target[0])) % 180
    angles = {alpha: [] for alpha in (0, 0.75)}
    for seed in range(200):
        X = draw_rows(covariance, 12, random_state=seed)
        for alpha, found in angles.items():
            u = AttenuatedPCA(1, alpha=alpha).fit(X).components_[0]
            off = np.degrees(np.arctan2(u[1], u[0])) - truth
            found.append((off + 90) % 180 - 90)
    bins = np.arange(-90, 91, 6)
    ax.hist(angles[0], bins, color=PCA_COLOUR, alpha=0.45, label="PCA")
    ax.hist(angles[0.75], bins, histtype="step", color=ATTENUATED, lw=2, label=r"attenuated, $\alpha = 0.75$")
    ax.axvline(0, color=TRUTH, ls="--", lw=1.4)
    ax.set(title=title, xlabel="angle to the true direction, degrees", ylabel="samples of 200")
    for alpha, found in angles.items():
        error = np.sqrt(np.mean(np.square(found)))
        print(f"{title}, alpha = {alpha}: mean {np.mean(found):+.0f} degrees, root mean square {error:.0f}")
panels[0].legend(frameon=False)

# %%
# The data choose the strength
# ----------------------------
# The rows are 3 x 3 patches of the digits that come with scikit-learn: nine coordinates, two components.
# Every strength is judged by how well it reconstructs rows that it was not fitted to. PCA, at strength 0, is
# one of them.

from sklearn.datasets import load_digits
from sklearn.model_selection import RepeatedKFold

images = load_digits().images
n, random = len(images), np.random.default_rng(0)
windows = sliding_window_view(images, (3, 3), axis=(1, 2))
patches = windows[np.arange(n), random.integers(0, 6, n), random.integers(0, 6, n)].reshape(n, 9)
model = AttenuatedPCACV(2, cv=RepeatedKFold(n_splits=5, n_repeats=20, random_state=0)).fit(patches[:64])
figure, ax = plt.subplots(figsize=(6.2, 3.9), layout="constrained")
ax.axvspan(0, 0.5, color="#e9edf2", lw=0)
ax.plot(model.alphas_, model.cv_risk_, "o-", color=ATTENUATED, ms=4)
ax.plot(0, model.cv_risk_[0], "s", color=PCA_COLOUR, ms=9, label="PCA", clip_on=False)
ax.plot(model.alpha_, model.cv_risk_.min(), "o", color=ATTENUATED, ms=11, mfc="none", mew=2, label="chosen")
ax.text(
    0.25,
    0.97,
    "reached by masking",
    transform=ax.get_xaxis_transform(),
    ha="center",
    va="top",
    fontsize="small",
)
ax.set(xlim=(0, 1), xlabel=r"attenuation strength $\alpha$", ylabel="squared error of a held-out row")
ax.legend(frameon=False, loc="lower left")
print(f"chosen strength {model.alpha_:g}, {model.gain_:.1%} less held-out error than PCA")
