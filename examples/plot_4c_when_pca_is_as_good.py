"""
When PCA is as good
===================

Corrections are for few rows and noisy estimates. Here are four cases with little or nothing to correct, and
the choice of cross-validation in each.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy.linalg import hadamard, subspace_angles
from sklearn.datasets import load_digits

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCACV


def mean_error(model, rows):
    """Return the mean squared reconstruction error of a row."""
    return model.reconstruction_error(rows).mean()


def gains(X, n_rows, rank, n_draws=15):
    """Return percentages of PCA's excess error removed on unseen rows, and how often PCA was kept."""
    removed, kept = [], []
    for seed in range(n_draws):
        rows = np.random.default_rng(seed).permutation(len(X))
        fitting, test = X[rows[:n_rows]], X[rows[-700:]]
        pca, best = (mean_error(AttenuatedPCA(rank).fit(rows), test) for rows in (fitting, test))
        model = AttenuatedPCACV(rank).fit(fitting)
        removed.append(100 * (pca - mean_error(model, test)) / (pca - best))
        kept.append(model.alpha_ == 0)
    return np.array(removed), np.mean(kept)


def show(ax, cases):
    """Draw the gains of several cases side by side."""
    for position, (name, (removed, kept)) in enumerate(cases.items()):
        spread = position + np.linspace(-0.12, 0.12, len(removed))
        ax.plot(spread, removed, "o", color="0.65", ms=4)
        half = 1.96 * removed.std(ddof=1) / len(removed) ** 0.5
        ax.errorbar(position, removed.mean(), half, fmt="D", color="#1d5a86", capsize=4)
        print(
            f"{name}: {removed.mean():+.1f}% of PCA's excess error removed, PCA kept in {kept:.0%} of draws"
        )
    ax.axhline(0, color="0.4", lw=0.8)
    ax.set_xticks(range(len(cases)), cases)
    ax.set(xlim=(-0.5, len(cases) - 0.5), ylabel="PCA's excess test error removed, %")


images = load_digits()
n, random = len(images.images), np.random.default_rng(0)
windows = sliding_window_view(images.images, (3, 3), axis=(1, 2))
patches = windows[np.arange(n), random.integers(0, 6, n), random.integers(0, 6, n)].reshape(n, 9)

# %%
# Unequal variances that matter
# -----------------------------
# The same digits twice, 64 rows each: as patches cut at random places, whose nine pixels vary alike, and as
# whole images, whose corner pixels are nearly always empty and whose central ones are not.

figure, ax = plt.subplots(figsize=(5, 3.8), layout="constrained")
show(ax, {"patches": gains(patches, 64, 2), "whole images": gains(images.data, 64, 5)})

# %%
# Many rows
# ---------
# With a thousand rows the percentage is smaller, and PCA's excess error is smaller too.

figure, ax = plt.subplots(figsize=(5, 3.8), layout="constrained")
show(ax, {f"{n} patches": gains(patches, n, 2) for n in (32, 200, 1_000)})
for n in (32, 200, 1_000):
    pca, best = (mean_error(AttenuatedPCA(2).fit(rows), patches[n:]) for rows in (patches[:n], patches[n:]))
    print(f"PCA of {n} patches is {pca / best - 1:.1%} above the best possible error")

# %%
# A well separated spectrum
# -------------------------
# Two directions in sixteen coordinates of equal variance, 64 rows. The stronger they are against the noise,
# the smaller the angle between PCA and the truth: there is little left to correct.

directions = hadamard(16)[:, 1:3] / 4
figure, ax = plt.subplots(figsize=(5.4, 3.8), layout="constrained")
signals = (1, 4, 16, 64)
angles = np.empty((len(signals), 30, 2))
for row, signal in enumerate(signals):
    for seed in range(30):
        random = np.random.default_rng(seed)
        X = random.standard_normal((64, 2)) * signal**0.5 @ directions.T + random.standard_normal((64, 16))
        models = AttenuatedPCA(2, alpha=0), AttenuatedPCACV(2)
        found = [subspace_angles(directions, model.fit(X).components_.T)[0] for model in models]
        angles[row, seed] = np.degrees(found)
    pca, attenuated = angles[row].mean(axis=0)
    print(f"signal {signal} times the noise: {pca:.1f} degrees off for PCA, {attenuated:.1f} attenuated")
ax.plot(signals, angles[..., 0].mean(axis=1), "s--", color="#b5541c", label="PCA")
ax.plot(signals, angles[..., 1].mean(axis=1), "o-", color="#1d5a86", label="attenuated, strength chosen")
ax.set(
    xscale="log", xlabel="variance of the signal, times the noise", ylabel="largest angle to truth, degrees"
)
ax.set_xticks(signals, signals)
ax.set_ylim(0, None)
ax.legend(frameon=False)

# %%
# A table with nothing to correct
# -------------------------------
# Forty Gaussian rows of 40 columns with three directions that all columns share. The columns have different
# variances, and these belong to the signal. The error is known from the covariance.


def table(random):
    """Return forty rows of a table and their covariance."""
    scales = np.exp(random.uniform(-1, 1, 40))
    loadings = scales[:, None] * np.linalg.qr(random.standard_normal((40, 3)))[0] * [4, 3, 2.5]
    X = random.standard_normal((40, 3)) @ loadings.T + random.standard_normal((40, 40)) * scales
    return X, loadings @ loadings.T + np.diag(scales**2)


def excess(model, covariance):
    """Return the variance that a fitted subspace misses beyond the best of its rank."""
    U = model.components_
    return np.linalg.eigvalsh(covariance)[-len(U) :].sum() - np.sum(U @ covariance * U)


settings = {
    "attenuation\n(the paper's)": AttenuatedPCACV(3),
    "all corrections": CorrectedPCACV(3),
}
removed = np.empty((len(settings), 30))
for seed in range(30):
    X, covariance = table(np.random.default_rng(seed))
    pca = excess(AttenuatedPCA(3).fit(X), covariance)
    removed[:, seed] = [100 * (1 - excess(each.fit(X), covariance) / pca) for each in settings.values()]

figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for place, (name, found) in enumerate(zip(settings, removed, strict=True)):
    ax.plot(place + np.linspace(-0.12, 0.12, 30), found, "o", color="0.65", ms=4)
    half = 1.96 * found.std(ddof=1) / 30**0.5
    ax.errorbar(place, found.mean(), half, fmt="D", color="#1d5a86", capsize=4)
    print(
        f"{' '.join(name.split())}: {found.mean():+.1f}% ± {half:.1f}, worse in {np.sum(found < -1e-9)} of 30"
    )
ax.axhline(0, color="0.4", lw=0.8)
ax.set_xticks(range(len(settings)), settings)
ax.set(ylabel="PCA's excess error removed, %")

# %%
# There is nothing to gain. Votes that the rows left out do not confirm count for PCA, so the fit stays close
# to it.
