"""
Where corrections pay: how many rows
====================================

A correction that keeps the target saves a part of PCA's excess risk that does not depend on the number of
rows. One that moves the target has a fixed price, and with enough rows PCA is better. The pictures show the
best gain of each correction against the number of rows. Lines are the theory, points are simulated samples.
"""

# %%
# Ten populations
# ---------------
# Two for each correction, one where it keeps the target and one where it moves it: a signal in eight columns,
# and noise. Four corrections keep a signal that is the same in all columns. Damping is given one that is the
# same in four columns and missing from the others. The target moves where the signal differs between columns
# in a way that the correction does not respect, or where the variances of the noise differ.

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import expm
from scipy.stats import wishart

from attenua.theory import ContaminatedNormal, Population, Rows, draw_rows

p = 8
unit, column = np.eye(p), np.arange(p)


def covariance(loadings, noise=1.0):
    """Return the covariance of a signal with these loadings and of noise with these variances."""
    return np.outer(loadings, loadings) + noise * unit


flat = np.full(p, 0.9)
four = np.where(column < 4, 1.2, 0.0)
tilted = flat * np.where(column < 4, 1.3, 0.6)
kept = {
    "smoothing": covariance(flat),
    "damping": covariance(four, 1 + 1.2**2 - four**2),
    "tempering": covariance(flat),
    "row_tempering": covariance(flat),
    "attenuation": covariance(flat),
}
moved = {
    "smoothing": covariance(1.2 * np.exp(-(((column - 3) / 2) ** 2) / 2)),
    "damping": covariance(1.5 * 0.6**column),
    "tempering": covariance(np.linspace(0.7, 1.1, p)),
    "row_tempering": 0.9 * covariance(flat) + 0.1 * 9 * covariance(tilted),
    "attenuation": covariance(flat, np.linspace(0.5, 1.5, p)),
}

# %%
# Row tempering needs long rows. In the first population one row in ten is three times longer. In the second
# such rows are of another kind as well: their signal has other loadings. No formula covers row tempering of
# those, so the theory takes the moments of many such rows, which leaves its line off by a few points.


def two_kinds(n, random_state):
    """Draw rows of which one in ten has other loadings and is three times longer."""
    random = np.random.RandomState(random_state)
    X, long = draw_rows(covariance(flat), n, random_state=random), random.uniform(size=n) < 0.1
    X[long] = 3 * draw_rows(covariance(tilted), int(long.sum()), random_state=random)
    return X


longer, mixed = ContaminatedNormal(0.1, 3), Rows(two_kinds(400_000, random_state=0))

# %%
# The best gain
# -------------
# The strengths are those that the estimators compare. In the theory the best of them has the least
# :math:`B + K / n`, where neither the cost of moving the target nor the coefficient depends on n. In the
# simulation the best strength is chosen on one half of the samples, and its gain measured on the other half.

grids = {
    "smoothing": [0, 0.5, 0.8, 1.2, 2, 4],
    "damping": [0, 0.1, 0.25, 0.5, 1],
    "tempering": [0, 0.25, 0.5, 1],
    "row_tempering": [0, 0.25, 0.5, 0.75, 1],
    "attenuation": [0, 0.3, 0.6, 0.9, 1],
}


def corrected(S, name, strength):
    """Correct a stack of covariances."""
    if name == "smoothing":
        steps = np.diff(unit, axis=0)
        kernel = expm(-(strength**2) / 2 * steps.T @ steps)
        return kernel @ S @ kernel
    if name == "attenuation":
        return S * (1 - strength * unit)
    variances = np.diagonal(S, axis1=1, axis2=2)
    products = variances[:, :, None] * variances[:, None, :]
    factors = products if name == "tempering" else products / S**2
    return S * factors ** (-strength / 2)


def sampled_matrices(name, population, n, n_samples, draw):
    """Yield a stack of corrected matrices for every strength."""
    if name != "row_tempering":
        S = wishart.rvs(n, population.covariance, size=n_samples, random_state=n) / n
        yield from (corrected(S, name, strength) for strength in grids[name])
        return
    X = draw(n_samples * n, n).reshape(n_samples, n, p)
    lengths = np.linalg.norm(X, axis=2, keepdims=True)
    for strength in grids[name]:
        Y = X * lengths**-strength
        yield Y.transpose(0, 2, 1) @ Y


def simulated_gain(name, population, n, draw):
    """Return the gain at the best strength, and half its 95% interval."""
    n_samples = min(800, 400_000 // n // 2 * 2) if name == "row_tempering" else 800
    risks = []
    for T in sampled_matrices(name, population, n, n_samples, draw):
        u = np.linalg.eigh(T)[1][:, :, -1]
        risks.append(population.eigenvalues[0] - np.sum(u @ population.covariance * u, axis=1))
    choosing, measuring = np.split(np.array(risks), 2, axis=1)
    pca, best = measuring[0], measuring[choosing.mean(axis=1).argmin()]
    ratio = best.mean() / pca.mean()
    return 1 - ratio, 1.96 * np.std(best - ratio * pca) / pca.mean() / len(pca) ** 0.5


# %%
# The picture
# -----------
# Lines are the theory, points the simulation with 95% intervals: 800 samples, or fewer where row tempering
# needs many rows. Points of one number of rows are set a little apart.

colours = dict(zip(grids, ("#7a9a4f", "#b5541c", "#1d5a86", "#8a5a9e", "#333333"), strict=True))
rows = np.geomspace(10, 1_280, 50)
sizes = [10, 20, 40, 80, 160, 320, 640, 1_280]
best = {}
figure, axes = plt.subplots(2, 1, figsize=(6.4, 8), sharex=True, layout="constrained")
draws = (lambda n, seed: draw_rows(kept["row_tempering"], n, law=longer, random_state=seed), two_kinds)
for ax, cases, law, draw in zip(axes, (kept, moved), (longer, mixed), draws, strict=True):
    for apart, (name, matrix) in zip(np.geomspace(0.92, 1.08, 5), cases.items(), strict=True):
        population = Population(matrix, 1, neighbours="line")
        options = {name: grids[name], "law": law if name == "row_tempering" else "gaussian"}
        bias, coefficient = population.bias(**options), population.sampling_coefficient(**options)
        risks = bias[:, None] + coefficient[:, None] / rows
        theory = 1 - risks.min(axis=0) / risks[0]
        if cases is moved:
            at_sizes = bias[:, None] + coefficient[:, None] / sizes
            best[name] = [grids[name][place] for place in at_sizes.argmin(axis=0)]
        ax.plot(rows, 100 * theory, color=colours[name], lw=2)
        found = np.array([simulated_gain(name, population, n, draw) for n in sizes])
        label, style = name.replace("_", " "), {"fmt": "o", "color": colours[name], "ms": 4.5, "capsize": 3}
        ax.errorbar(apart * np.array(sizes), 100 * found[:, 0], 100 * found[:, 1], label=label, **style)
        gains = zip(sizes, np.interp(sizes, rows, theory), found[:, 0], strict=True)
        print(f"{label}, target {'kept' if cases is kept else 'moved'}, gain by theory and in samples:")
        print("  " + "; ".join(f"n = {n}: {t:.0%}, {m:.0%}" for n, t, m in gains))
    ax.axhline(0, color="0.6", lw=0.8)
    ax.set(xscale="log", ylabel="best gain, % of PCA's excess risk", ylim=(-5, 105))
axes[0].set_title("The target is kept: the gain stays")
axes[1].set_title("The target moves: the gain dies out")
axes[1].set_xlabel("number of rows")
axes[1].legend(frameon=False, title="lines: theory\npoints: samples")

# %%
# Reading the picture
# -------------------
# Above, the theory does not depend on n: the lines are level. From about a hundred rows on, the points of
# four corrections lie on them. With ten rows, attenuation, tempering and row tempering gain little more than
# half of the expected gain; smoothing, which keeps this signal whole and removes nearly all else, gains all
# of it. Damping is slowest by far. In the theory the correlations of 0 lose all their errors, however weak
# the damping; with n rows weak damping hardly touches them, and with twenty it gains nothing.
#
# Below, the price of moving the target is fixed, and the saving falls like one over n. So these
# corrections are for few rows. Where the line reaches 0 the best strength is 0, which is PCA. The kinks are
# where the best strength goes from one value of the grid to the next. Here too damping gains less than in the
# theory, since the correlations of the last columns are smaller than their errors.

for name, strengths in best.items():
    pairs = (f"n = {n}: {strength:g}" for n, strength in zip(sizes, strengths, strict=True))
    print(f"best strength of {name.replace('_', ' ')} by theory:", ", ".join(pairs))
