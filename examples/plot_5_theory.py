"""
A walk through the theory
=========================

For a known covariance the expected excess risk of attenuated PCA is, to order :math:`1/n`, a population cost
plus a sampling coefficient over :math:`n`. :class:`~attenua_paper.theory.Population` computes both.
"""

# %%
# Equal variances: nothing to lose
# --------------------------------
# Four coordinates of variance 2, all correlated by a half. Attenuation leaves the target where it is, and
# every strength up to complete attenuation lowers the risk.

import matplotlib.pyplot as plt
import numpy as np

from attenua import AttenuatedPCA
from attenua_paper.theory import Population, expected_risk

BLUE, RED = "#1d5a86", "#b5541c"

flat = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
print("target preserved at every strength:", bool(flat.preserves_target([0.25, 0.5, 1.0]).all()))
print(f"strength of smallest leading risk: {flat.asymptotic_oracle():g}")
print(f"among those that masks reach: {flat.asymptotic_oracle(upper=0.5):g}")
pca, complete = flat.excess_risk(50, [0, 1])
print(f"excess risk at n = 50: PCA {pca:.3f}, alpha = 1 {complete:.3f}")

# %%
# Unequal variances: a balance that depends on n
# ----------------------------------------------
# Now the target moves. The bias part grows with the strength and does not depend on the number of rows; the
# sampling part falls like one over that number. So the best strength shrinks as rows are added, and with very
# many rows PCA is best.

angle = np.radians(45 - 4)
rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
moving = Population(rotation @ np.diag([5.0, 1.0]) @ rotation.T, n_components=1)
alphas, sizes = np.linspace(0, 1, 101), (64, 256, 1024, 4096)
bias, coefficient = moving.bias(alphas), moving.sampling_coefficient(alphas)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
left.plot(alphas, bias + coefficient / 64, color=BLUE, lw=2, label="risk at 64 rows")
left.plot(alphas, bias, "--", color=RED, label="bias part")
left.plot(alphas, coefficient / 64, ":", color="0.4", label="sampling part")
left.set(xlabel=r"attenuation strength $\alpha$", ylabel="expected excess risk")
left.legend(frameon=False)
for n, style in zip(sizes, ("-", "--", "-.", ":"), strict=True):
    risk = bias + coefficient / n
    right.plot(alphas, risk / risk[0], style, color=BLUE, label=f"n = {n:,}")
    best = moving.oracle(n)
    print(f"n = {n}: best strength {best:.2f}, risk removed {moving.benefit(n, best) / risk[0]:.0%}")
right.axhline(1, color="0.6", lw=0.8)
right.set(xlabel=r"attenuation strength $\alpha$", ylabel="risk / PCA's risk", ylim=(0, 3))
right.legend(frameon=False)

# %%
# Does the formula hold?
# ----------------------
# Fits to a thousand samples of 64 rows, against the curve. The estimator centres, which costs one row.

points = np.linspace(0, 1, 6)
found = [expected_risk(moving, AttenuatedPCA(1, alpha=a), 64, 1_000, random_state=0) for a in points]
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.plot(alphas, moving.excess_risk(63, alphas), color=BLUE, lw=2, label="theory, to order 1/n")
ax.errorbar(
    points,
    [risk.mean for risk in found],
    [1.96 * risk.standard_error for risk in found],
    fmt="o",
    color=RED,
    capsize=3,
    label="1,000 samples",
)
ax.set(xlabel=r"attenuation strength $\alpha$", ylabel="expected excess risk", ylim=(0, None))
ax.legend(frameon=False)
