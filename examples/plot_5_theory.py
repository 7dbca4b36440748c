"""
A walk through the theory
=========================

For a known covariance the expected excess risk of corrected PCA is, to order :math:`1/n`, a population cost
plus a sampling coefficient over :math:`n`. :class:`~attenua.theory.Population` computes both.
"""

# %%
# Equal variances: nothing to lose
# --------------------------------
# Four coordinates of variance 2, all correlated by a half. Attenuation leaves the target where it is, and
# every strength up to complete attenuation lowers the risk.

import matplotlib.pyplot as plt
import numpy as np

from attenua.display import ExpectationsDisplay, RiskCurveDisplay
from attenua.theory import Population, StudentT, draw_rows, plug_in_report, when

flat = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
preserved = flat.preserves_target(attenuation=[0.25, 0.5, 1.0])
print("target preserved at every strength:", bool(preserved.all()))
print(f"strength of smallest leading risk: {flat.asymptotic_oracle():g}")
print(f"among those that masks reach: {flat.asymptotic_oracle('mask'):g}")
pca, complete = flat.excess_risk(50, attenuation=[0, 1])
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
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
RiskCurveDisplay.from_population(moving, 64, ax=left)
RiskCurveDisplay.from_population(moving, [64, 256, 1024, 4096], ax=right)
right.get_legend().set(frame_on=True, alpha=1, loc="upper right")
for n in (64, 256, 1024, 4096):
    best = moving.oracle(n, ["attenuation"]).attenuation
    removed = moving.benefit(n, attenuation=best) / moving.excess_risk(n)
    print(f"n = {n}: best strength {best:.2f}, risk removed {removed:.0%}")

# %%
# Does the formula hold?
# ----------------------
# Two thousand samples of 64 rows, against the curve.

alphas = np.linspace(0, 1, 11)
risks = np.zeros((2_000, len(alphas)))
for seed in range(len(risks)):
    X = draw_rows(moving.covariance, 64, random_state=seed)
    S = X.T @ X / len(X)
    for column, alpha in enumerate(alphas):
        u = np.linalg.eigh(S - alpha * np.diag(np.diag(S)))[1][:, -1]
        risks[seed, column] = np.trace(moving.covariance @ (moving.projector - np.outer(u, u)))
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
expected = moving.excess_risk(64, attenuation=alphas)
ax.plot(alphas, expected, color="#1d5a86", lw=2, label="theory, to order 1/n")
ax.errorbar(
    alphas,
    risks.mean(axis=0),
    1.96 * risks.std(axis=0) / len(risks) ** 0.5,
    fmt="o",
    color="#b5541c",
    capsize=3,
    label="2,000 samples",
)
ax.set(xlabel=r"attenuation strength $\alpha$", ylabel="expected excess risk", ylim=(0, None))
ax.legend(frameon=False)

# %%
# All corrections
# ---------------
# The same for every correction, alone or together, and for other laws of the rows. Row tempering is for rows
# with heavy tails; on Gaussian rows it only loses, a little at first and more at full strength. Here it
# weighs pairs of rows, as the estimators do up to 1,000 rows.

grid = np.linspace(0, 1, 21)
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
laws = {"Gaussian rows": ("gaussian", "#1d5a86"), "t rows, 5 degrees of freedom": (StudentT(5), "#b5541c")}
paired = Population(flat.covariance, n_components=1, row_pairs=True)
for name, (law, color) in laws.items():
    ax.plot(grid, paired.excess_risk(50, row_tempering=grid, law=law), color=color, lw=2, label=name)
ax.set(xlabel=r"row tempering $\kappa$", ylabel="expected excess risk at n = 50", ylim=(0, None))
ax.legend(frameon=False)

# %%
# When is which correction worth it?
# ----------------------------------
# One call answers for all of them: the best strength of each at this number of rows, its gain by the theory
# and in simulated samples, and the number of rows up to which it is worth it. Here twenty columns along a
# line share two smooth signals, their noise is unequal, and rows have heavy tails.

places = np.arange(20)
signals = 2 * np.exp(-(np.subtract.outer(places, places) ** 2) / 18)
covariance = signals + np.diag(np.linspace(0.3, 2, 20))
expected = when(covariance, 2, 60, law=StudentT(7), neighbours="line", random_state=0)
ExpectationsDisplay.from_expectations(expected)
print(expected)

# %%
# Without the population
# ----------------------
# ``when`` also takes a sample, and estimates the population from it. The printed text includes how far to
# trust the estimate.

print(when(draw_rows(covariance, 60, law=StudentT(7), random_state=0), 2, neighbours="line", random_state=0))

# %%
# For the paper's attenuation alone there is a report with a bootstrap. It puts the sample covariance itself
# into the formulas, and explains how much that is worth.

variances = np.diag([1.0, 1.0, 1.2, 1.2, 1.4, 1.4])
six = np.ones((6, 6)) + variances
report = plug_in_report(draw_rows(six, 60, random_state=1), 1, n_bootstrap=60, random_state=0)
RiskCurveDisplay.from_report(report)
print(report.trust)
