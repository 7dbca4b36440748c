"""
Corrected PCA on few digits
===========================

Sixty-four images of digits, and a subspace that is to reconstruct the other 1,733. ``CorrectedPCACV`` tries
five corrections one after another and keeps those that reconstruct held-out rows clearly better. It is told
that the columns are the pixels of an 8 x 8 image, so it may smooth over neighbours.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from attenua import AttenuatedPCA, AttenuatedPCACV, CorrectedPCACV
from attenua.studies.gain import best_affine_risk, excess_risk_removed

images = load_digits().data
rows = np.random.default_rng(0).permutation(len(images))
fitting, test = images[rows[:64]], images[rows[64:]]

corrected = CorrectedPCACV(20, neighbours=(8, 8)).fit(fitting)
print(corrected.verdict_)
print(corrected.steps_)

# %%
# The table has one line for each correction: the strengths compared, the best of them, the part of PCA's
# held-out error that it removes beyond the lines above it, and the standard error of that part. A step is
# taken if the gain is more than what the guard asks for, by default about one standard error.

figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
for place, step in enumerate(corrected.steps_):
    colour = "#b5541c" if step.taken else "0.6"
    ax.errorbar(100 * step.gain, place, xerr=100 * step.needed, fmt="D", color=colour, capsize=4)
    words = f"{step.best:g}, taken" if step.taken else "not taken"
    ax.text(100 * (step.gain + step.needed) + 0.3, place, words, va="center", fontsize="small", color=colour)
ax.axvline(0, color="0.4", lw=0.8)
ax.set_yticks(range(5), [step.correction.replace("_", " ") for step in corrected.steps_])
ax.set(
    xlim=(-2, 14),
    ylim=(4.6, -0.6),
    xlabel="gain, % of PCA's held-out error; the bar is what the guard asks for",
)

# %%
# What counts is the error on the other images, and of it only the part that a subspace can be blamed for: the
# excess over the best subspace of those images. The paper's method, one strength of attenuation, is beside
# it.

paper = AttenuatedPCACV(20).fit(fitting)
pca_error, best = -AttenuatedPCA(20).fit(fitting).score(test), best_affine_risk(test, 20)
for name, model in (("the paper's strength", paper), ("all corrections", corrected)):
    removed = excess_risk_removed(pca_error, -model.score(test), best)
    print(f"{name}: {removed:.1f}% of PCA's excess error on the other images is removed")

# %%
# One sample says little. ``attenua demo`` draws twenty, of digits and of four other data sets, from few rows
# and from more, and shows where the corrections help and where they lose.
