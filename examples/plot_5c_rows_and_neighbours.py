"""
Where corrections pay: long rows and neighbouring columns
=========================================================

Row tempering makes long rows count less, and smoothing averages neighbouring columns. The first assumes that
tails are heavy, the second that neighbours vary alike. For each there are populations where it pays and one
where it costs. Lines are the expected excess risk of :class:`~attenua.theory.Population`, points are
simulated samples.
"""

# %%
# Rows of three laws, curves of two shapes
# ----------------------------------------
# For row tempering, eight columns that all correlate by 0.4, with rows of three laws: Student's t with five
# degrees of freedom, Gaussian rows of which one in ten is three times longer, and Gaussian rows. All are
# elliptical, so that row tempering keeps the target and changes only the noise.
#
# For smoothing, 30 columns along a line. In one population the signal is an autoregression, smooth at the
# scale of a few columns; in the other its sign alternates from column to column.

import matplotlib.pyplot as plt
import numpy as np
from scipy.linalg import expm
from scipy.stats import wishart

from attenua.theory import ContaminatedNormal, Gaussian, Population, StudentT, draw_rows

eight = Population(0.6 * np.eye(8) + 0.4, 1)
place = np.arange(30)
distances, alternating = np.abs(place[:, None] - place), (-1.0) ** place
smooth = Population(np.eye(30) + 2 * 0.9**distances, 3, neighbours="line")
sharp = Population(np.eye(30) + 8 / 30 * np.outer(alternating, alternating), 1, neighbours="line")

# %%
# Samples
# -------
# A hundred rows with a known mean of 0. Row tempering divides every row by a power of its length. Smoothing
# multiplies the covariance from both sides by the heat kernel of the line, :math:`\exp(-h^2 L / 2)` with the
# graph Laplacian L.

n, n_samples = 100, 2_000


def excess_risk(T, population):
    """Return the variance that the leading subspaces of a stack miss, beyond the best of their rank."""
    d = population.n_components
    U = np.linalg.eigh(T)[1][:, :, -d:]
    return population.eigenvalues[:d].sum() - np.einsum("tij,tij->t", U, population.covariance @ U)


def row_tempered(population, law, strengths):
    """Return the excess risks of all samples at every strength of row tempering."""
    X = draw_rows(population.covariance, n_samples * n, law=law, random_state=0)
    X = X.reshape(n_samples, n, -1)
    lengths = np.linalg.norm(X, axis=2, keepdims=True)
    shortened = (X * lengths**-strength for strength in strengths)
    return np.array([excess_risk(Y.transpose(0, 2, 1) @ Y, population) for Y in shortened])


def smoothed(population, strengths):
    """Return the excess risks of all samples at every strength of smoothing."""
    S = wishart.rvs(n, population.covariance, size=n_samples, random_state=0) / n
    steps = np.diff(np.eye(30), axis=0)
    kernels = (expm(-(strength**2) / 2 * steps.T @ steps) for strength in strengths)
    return np.array([excess_risk(K @ S @ K, population) for K in kernels])


# %%
# The picture
# -----------
# Risks are divided by the one that the theory expects of PCA, so that the points at strength 0 show how good
# the theory is for PCA itself. Bars are 95% intervals of the mean of 2,000 samples. The last line
# leaves its frame, for a reason given below.

powers, widths = np.array([0, 0.1, 0.25, 0.5, 0.75, 1.0]), np.array([0, 0.5, 0.8, 1.2, 2.0, 3.0, 4.0])
figure, axes = plt.subplots(2, 2, figsize=(6.4, 5.6), layout="constrained")


def compare(ax, name, population, points, risks, law, label="", dashes="-", marker="o"):
    """Draw a line and its points, and print both."""
    along, pca = np.linspace(0, points[-1], 61), population.excess_risk(n, law=law)
    theory = population.excess_risk(n, law=law, **{name: along}) / pca
    means, halves = risks.mean(axis=1) / pca, 1.96 * risks.std(axis=1) / n_samples**0.5 / pca
    ax.axhline(1, color="0.6", lw=0.8)
    ax.plot(along, theory, dashes, color="#1d5a86", lw=2, label=f"theory{label}")
    ax.errorbar(
        points, means, halves, fmt=marker, color="#b5541c", ms=4.5, capsize=3, label=f"samples{label}"
    )
    expected = population.excess_risk(n, law=law, **{name: points}) / pca
    for title, values in (("theory", expected), ("samples", means)):
        pairs = (f"{s:g}: {v:.2f}" for s, v in zip(points, values, strict=True))
        print(f"{name}{label}, {title}:", ", ".join(pairs))


student, mixed = StudentT(5), ContaminatedNormal(0.1, 3)
for law, label, dashes, marker in ((student, ", t", "-", "o"), (mixed, ", mixed", "--", "s")):
    found = row_tempered(eight, law, powers)
    compare(axes[0, 0], "row_tempering", eight, powers, found, law, label, dashes, marker)
compare(axes[1, 0], "row_tempering", eight, powers, row_tempered(eight, Gaussian(), powers), Gaussian())
compare(axes[0, 1], "smoothing", smooth, widths, smoothed(smooth, widths), Gaussian())
compare(axes[1, 1], "smoothing", sharp, widths, smoothed(sharp, widths), Gaussian())
titles = (
    "row tempering pays:\nt with 5 df; one row in ten longer",
    "smoothing pays:\nan autoregression",
    "row tempering costs:\nGaussian rows",
    "smoothing costs:\nan alternating signal",
)
for ax, title in zip(axes.ravel(), titles, strict=True):
    ax.set_title(title, fontsize=10)
    ax.set(ylim=(0, None))
axes[1, 1].set(ylim=(0, 70))
for row in axes:
    row[0].set(xlabel="strength of row tempering", ylabel="risk / PCA's risk")
    row[1].set(xlabel="strength of smoothing, columns")
axes[0, 0].legend(frameon=False, fontsize=8)
axes[0, 1].legend(frameon=False, fontsize=9)

# %%
# Reading the picture
# -------------------
# With heavy tails row tempering removes more than half of PCA's excess, and on Gaussian rows a moderate
# strength costs little. The line for Student's law is too high at PCA's end. With few degrees of freedom the
# mean square in the theory is dominated by very long rows, and a hundred rows rarely include one of them.
# With four degrees or fewer the theory gives no number for PCA, but still one for row tempering.

for df in (5, 4, 3):
    risks = eight.excess_risk(n, law=StudentT(df), row_tempering=[0.0, 0.5])
    print(f"t with {df} degrees of freedom, n = {n}: PCA {risks[0]:.3f}, row tempering of 0.5 {risks[1]:.3f}")

# %%
# Smoothing pays where neighbours vary alike: a width of a few columns takes a mean over them and keeps the
# signal. It removes an alternating signal, and beyond a width of about one column nothing of it is left. The
# estimate then follows smoothed noise; the risk stays at the cost of missing the signal. The theory finds
# this level as well, but not the way there: where the smoothed population has next to no gap at the rank, its
# expansion in 1/n means nothing, and may even be negative.

for width in (0.0, 0.5, 0.8, 1.2, 1.5, 2.0):
    gap, risk = sharp.cutoff_gap(smoothing=width), sharp.excess_risk(n, smoothing=width)
    print(f"width {width:g}: gap {gap:.4f}, expected {risk / sharp.excess_risk(n):.1f} times PCA's risk")
