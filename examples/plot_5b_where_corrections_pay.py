"""
Where corrections pay: variances and covariances
================================================

Attenuation, tempering and damping each weaken one kind of sampling error, and each may move the subspace that
PCA looks for. For each there is a population where it pays and one where it costs. Lines are the expected
excess risk of :class:`~attenua.theory.Population`, points are simulated samples.
"""

# %%
# Six populations of twelve columns
# ---------------------------------
# *Attenuation* weakens the sample variances on the diagonal. It pays where all columns have the same
# variance, so that the diagonal carries no information; it costs where the leading direction is mostly one
# column that varies by itself.
#
# *Tempering* divides covariances by powers of standard deviations. It pays for twelve measurements of one
# quantity on one scale; it costs where half of the columns vary more, and should.
#
# *Damping* weakens small correlations. It pays where five columns vary together and the others are noise,
# whose correlations are all errors; it costs where a direction is made of many small correlations.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import wishart

from attenua.theory import Population

p = 12
unit = np.eye(p)


def common(correlation):
    """Return a matrix where all columns have variance 1 and one correlation."""
    return (1 - correlation) * unit + correlation


signs = np.tile([1.0, -1.0], p // 2)
scales = np.repeat([1.0, 1.5], p // 2)
block = np.zeros((p, p))
block[:5, :5] = 0.6
cases = {
    "attenuation": (
        (Population(0.6 * unit + 0.25 + 0.15 * np.outer(signs, signs), 2), "equal variances", [100]),
        (Population(common(0.2) + 4 * np.diag(unit[0]), 1), "one column varies most", [100]),
    ),
    "tempering": (
        (Population(common(0.7), 1), "measured twelve times", [100]),
        (Population(common(0.4) * np.outer(scales, scales), 1), "six columns vary more", [100]),
    ),
    "damping": (
        (Population(block + np.diag(1 - np.diag(block)), 1), "five columns of twelve", [100, 10_000]),
        (Population(common(0.2), 1), "many small correlations", [100, 10_000]),
    ),
}

# %%
# Samples
# -------
# The rows are Gaussian with a known mean of 0, as in the theory. Sample covariances are drawn as such, and
# corrected all at once. The estimators do the same after subtracting the mean.


def corrected(S, attenuation=0.0, tempering=0.0, damping=0.0):
    """Correct a stack of covariances."""
    variances = np.diagonal(S, axis1=1, axis2=2)
    products = variances[:, :, None] * variances[:, None, :]
    T = S * (np.abs(S) / np.sqrt(products)) ** damping * products ** (-tempering / 2)
    return T * (1 - attenuation * unit)


def excess_risk(T, population):
    """Return the variance that the leading subspaces of a stack miss, beyond the best of their rank."""
    d = population.n_components
    U = np.linalg.eigh(T)[1][:, :, -d:]
    return population.eigenvalues[:d].sum() - np.einsum("tij,tij->t", U, population.covariance @ U)


# %%
# The picture
# -----------
# Risks are divided by the one that the theory expects of PCA, so that the points at strength 0 show how good
# the theory is for PCA itself. Bars are 95% intervals of the mean of 3,000 samples. Where the target is
# kept, the line is the same for every number of rows; so damping shows two.

n_samples, points = 3_000, np.array([0, 0.1, 0.25, 0.5, 0.75, 1.0])
along = np.append(0, np.linspace(0.002, 1, 60))
figure, axes = plt.subplots(3, 2, figsize=(6.4, 7.6), layout="constrained")
for row, (name, both) in zip(axes, cases.items(), strict=True):
    for ax, outcome, (population, title, sizes) in zip(row, ("pays", "costs"), both, strict=True):
        theory = population.excess_risk(sizes[0], **{name: along})
        ax.axhline(1, color="0.6", lw=0.8)
        # Without the first value, PCA's, which is 1: the line of damping need not start there (see below).
        ax.plot(along[1:], theory[1:] / theory[0], color="#1d5a86", lw=2, label="theory")
        for n, filled in zip(sizes, ("#b5541c", "white"), strict=False):
            S = wishart.rvs(n, population.covariance, size=n_samples, random_state=0) / n
            risks = np.array([excess_risk(corrected(S, **{name: s}), population) for s in points])
            pca = population.excess_risk(n)
            means, halves = risks.mean(axis=1) / pca, 1.96 * risks.std(axis=1) / n_samples**0.5 / pca
            style = {"fmt": "o", "color": "#b5541c", "mfc": filled, "ms": 4.5, "capsize": 3}
            ax.errorbar(points, means, halves, label=f"n = {n:,}", **style)
            expected = population.excess_risk(n, **{name: points}) / pca
            print(f"{name}, {title}, n = {n:,}, target kept: {population.preserves_target(**{name: 0.5})}")
            for label, values in (("theory", expected), ("samples", means)):
                pairs = (f"{s:g}: {v:.2f}" for s, v in zip(points, values, strict=True))
                print(f"  {label}:", ", ".join(pairs))
        ax.set_title(f"{name} {outcome}:\n{title}", fontsize=10)
        ax.set(ylim=(0, None), xlabel=f"strength of {name}")
    row[0].set_ylabel("risk / PCA's risk")
    row[0].legend(frameon=False, fontsize=9)

# %%
# Reading the picture
# -------------------
# Attenuation and tempering agree with the theory with a hundred rows already. A little tempering pays even
# where the variances differ. Attenuation of one half is where the theory is off most: the gap at the rank has
# shrunk there, and the smaller the gap, the more rows an expansion in 1/n needs.

varied = cases["attenuation"][1][0]
gaps = varied.cutoff_gap(attenuation=[0.0, 0.5, 1.0])
print("gap at attenuation 0, 0.5 and 1:", ", ".join(f"{gap:.2f}" for gap in gaps))

# %%
# Damping is different. In the theory, a correlation is either 0 or far from it. One of 0 loses its errors
# altogether at any strength above 0, so that the line does not start at PCA's risk. That is true in the
# limit. With n rows the errors of such correlations, of size :math:`n^{-1/2}`, are multiplied by about
# :math:`n^{-\beta/2}`, which is not small for weak damping. On the right the correlations of 0.2 are only
# twice their errors at n = 100, and damping costs less than expected. The line is the limit of the points,
# not a prediction for a hundred rows.

for n in (100, 10_000):
    factors = ", ".join(f"{s:g}: {n ** (-s / 2):.2f}" for s in points)
    print(f"n = {n:,}: errors of size {n**-0.5:.2f} are multiplied by about", factors)
