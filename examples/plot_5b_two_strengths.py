r"""
The risk of two strengths
=========================

Attenuation weakens the diagonal of the covariance; tempering also takes a part of every sample standard
deviation out of the covariances. What both do to the expected excess risk is a surface over
:math:`(\alpha, \gamma)`, which :class:`~attenua.theory.Population` computes to order :math:`1/n`. PCA is
its corner :math:`(0, 0)`.
"""

# %%
# Two covariances with unequal variances
# --------------------------------------
# Both have eight columns and one component. In the first the columns share a signal equally and differ in
# their noise. In the second all correlations are one half and the columns differ in scale: the component that
# explains most *is* one of large columns, and making them alike moves it.

import matplotlib.pyplot as plt
import numpy as np

from attenua.theory import Population, draw_rows

noise = np.exp(np.linspace(-0.4, 0.4, 8))
scale = np.exp(np.linspace(-0.4, 0.4, 8))
populations = {
    "equal signal, unequal noise": Population(1 + np.diag(noise), n_components=1),
    "unequal scale": Population(np.outer(scale, scale) * (0.5 + 0.5 * np.eye(8)), n_components=1),
}
for name, population in populations.items():
    variances = np.diag(population.covariance)
    print(f"{name}: variances from {variances.min():.2f} to {variances.max():.2f}")

# %%
# The surface, its best point and PCA's corner
# --------------------------------------------
# Thirty rows. Colour is the share of PCA's expected excess risk that a pair removes; red pairs are worse than
# PCA. The circle is the best strength without tempering, the star the best pair.

n = 30
grid = np.linspace(0, 1, 41)
figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained", sharey=True)
for ax, (name, population) in zip(axes, populations.items(), strict=True):
    surface = population.risk_surface(n, alphas=grid, temperings=grid)
    gain = 100 * surface.gain
    picture = ax.pcolormesh(
        grid, grid, gain, cmap="RdBu", vmin=-80, vmax=80, shading="gouraud", rasterized=True
    )
    lines = ax.contour(grid, grid, gain, levels=np.arange(-40, 60, 10), colors="0.25", linewidths=0.7)
    ax.clabel(lines, fmt="%g%%", fontsize=8)
    alone = surface.alphas[np.argmin(surface.risk[:, 0])]
    alpha, tempering = surface.oracle()
    marks = {"clip_on": False, "zorder": 5, "ls": "none", "mec": "black"}
    ax.plot(0, 0, "s", ms=9, mfc="black", label="PCA", **marks)
    ax.plot(0, alone, "o", ms=20, mfc="none", mew=2, label="best without tempering", **marks)
    ax.plot(tempering, alpha, "*", ms=16, mfc="#f2c14e", label="best pair", **marks)
    ax.set(title=name, xlabel=r"tempering $\gamma$", xlim=(0, 1), ylim=(0, 1))
    without, both = (population.benefit(a, n, tempering=t) for a, t in ((alone, 0), (alpha, tempering)))
    print(f"{name}: PCA's expected excess risk is {surface.pca_risk:.3f};")
    print(f"  alpha = {alone:.2f} alone removes {without / surface.pca_risk:.0%},")
    print(f"  alpha = {alpha:.2f} with tempering {tempering:.2f} removes {both / surface.pca_risk:.0%}")
axes[0].set_ylabel(r"attenuation strength $\alpha$")
axes[0].legend(loc="upper right", fontsize="small", framealpha=0.9, labelspacing=0.9)
figure.colorbar(picture, ax=axes, label="PCA's expected excess risk removed, %", extend="both")

# %%
# Where the noise is what differs, tempering does what attenuation cannot, because attenuation ends at 1.
# Where scale belongs to the signal, the best pair is on the edge without tempering, and strong tempering is
# far worse than PCA.
#
# The best pair returns to PCA as rows come in
# --------------------------------------------
# Bias stays, sampling error goes. So the best pair wanders towards the corner.

temperings = np.arange(11) / 10
for name, population in populations.items():
    pairs = [population.oracle(n, tempering=temperings) for n in (30, 100, 1_000, 10_000)]
    print(name + ":", ", ".join(f"({alpha:.2f}, {tempering:.1f})" for alpha, tempering in pairs))

# %%
# Does it hold in samples?
# ------------------------
# Two thousand samples of thirty rows with unequal noise. The expansion in :math:`1/n` is a little optimistic
# with so few rows; the order of the three is right.

population = populations["equal signal, unequal noise"]
best = population.oracle(n, tempering=temperings)
candidates = {"PCA": (0.0, 0.0), "best alpha": (population.oracle(n), 0.0), "best pair": best}
risks = {name: [] for name in candidates}
for seed in range(2_000):
    X = draw_rows(population.covariance, n, random_state=seed)
    S = X.T @ X / n
    for name, (alpha, tempering) in candidates.items():
        weights = np.diag(S) ** (-tempering / 2)
        T = (S - alpha * np.diag(np.diag(S))) * np.outer(weights, weights)
        u = np.linalg.eigh(T)[1][:, -1]
        risks[name].append(population.eigenvalues[0] - u @ population.covariance @ u)
for name, (alpha, tempering) in candidates.items():
    mean, error = np.mean(risks[name]), np.std(risks[name]) / len(risks[name]) ** 0.5
    predicted = population.excess_risk(alpha, n, tempering=tempering)
    print(f"{name}: simulated {mean:.4f} (standard error {error:.4f}), theory {predicted:.4f}")
