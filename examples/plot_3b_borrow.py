"""
Borrowing from another data set
===============================

Few rows, and a larger data set with the same columns that is about something else: another photo, other
people. ``reference=`` lets held-out rows decide how much to borrow from it.
"""

# %%
# One photo for another
# ---------------------
# scikit-learn ships two photos, of a temple and of a flower. Their rows are squares of 8 x 8 pixels. We fit a
# few squares of the temple; the flower is the reference, and the other squares of the temple judge. The
# excess error is that over the best subspace of these squares.

# sphinx_gallery_thumbnail_number = 1
import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_sample_images

from attenua import CorrectedPCA, CorrectedPCACV
from attenua_paper.datasets import DatasetNotAvailable, fetch_har

images = [image.mean(axis=2) for image in load_sample_images().images]
temple, flower = (sliding_window_view(image, (8, 8))[::8, ::8].reshape(-1, 64) for image in images)


def excess(components, mean, rows):
    """Return the error of a subspace on rows, over that of the best one."""
    centred = rows - mean
    error = np.mean(np.sum(centred**2, axis=1)) - np.mean(np.sum((centred @ components.T) ** 2, axis=1))
    return error - np.linalg.eigvalsh(np.cov(rows.T, bias=True))[: -len(components)].sum()


def removed(model, rows, test):
    """Return the percentage of PCA's excess error that a model removes."""
    pca = CorrectedPCA(5).fit(rows)
    fitted = model.fit(rows)
    of_pca, own = (excess(each.components_, each.mean_, test) for each in (pca, fitted))
    return 100 * (1 - own / of_pca)


def compared(own, reference, n, draws):
    """Return the percentages removed in some draws of rows: without, with, and by the reference alone."""
    found = []
    for draw in range(draws):
        order = np.random.default_rng(draw).permutation(len(own))
        rows, test = own[order[:n]], own[order[n:]]
        models = (
            CorrectedPCACV(5),
            CorrectedPCACV(5, reference=reference),
            CorrectedPCA(5, borrowing=1, reference=reference),
        )
        found.append([removed(model, rows, test) for model in models])
    return np.array(found)


NAMES = "corrections of the\nrows alone", "with the reference", "PCA of the\nreference alone"
COLOURS = "0.6", "#5f7a3a", "#d8c9a0"


def draw_bars(ax, found, title):
    """Draw means and standard errors."""
    errors = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    ax.bar(NAMES, found.mean(axis=0), yerr=errors, color=COLOURS, capsize=4)
    ax.axhline(0, color="black", lw=0.8)
    ax.set(ylabel="% of PCA's excess error removed", title=title)


figure, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, n in zip(axes, (16, 64), strict=True):
    draw_bars(ax, compared(temple, flower, n, draws=10), f"{n} squares of the temple")

# %%
# How much was borrowed
# ---------------------
# The step of borrowing compares strengths from 0, the rows alone, to 1, the reference alone.

model = CorrectedPCACV(5, reference=flower, nested=True).fit(temple[::200])
print(model.verdict_)
print(model.steps_)

# %%
# A reference that does not fit
# -----------------------------
# With its pixels in another order, the flower still has one thing in common with the temple: some squares are
# light and others dark. Turned at random in the space of all pixels, it has nothing in common with it, and
# held-out rows notice.

random = np.random.default_rng(0)
references = {
    "as it is": flower,
    "pixels in another order": flower[:, random.permutation(64)],
    "turned at random": flower @ np.linalg.qr(random.standard_normal((64, 64)))[0],
}
for name, reference in references.items():
    step = CorrectedPCACV(5, reference=reference).fit(temple[::200]).steps_["borrowing"]
    print(f"{name}: best strength {step.best:g}, weight in the fit {step.weight:.0%}")

# %%
# Rows that are fitted must not be in the reference, where they would be known before they are held out.

try:
    CorrectedPCACV(5, reference=temple).fit(temple[::200])
except ValueError as error:
    print(error)

# %%
# One person, and the others
# --------------------------
# Windows of acceleration from 30 people (``attenua-paper data`` fetches them). A few windows of one person
# are fitted, with those of the other 29 as the reference. Here are the first six people.

try:
    har = fetch_har(download_if_missing=False)
except DatasetNotAvailable:
    print("The data of the 30 people are not here; the guide has a table with them.")
else:
    X = np.vstack([har.X_train, har.X_test])
    person = np.concatenate([har.groups_train, har.groups_test])
    found = [compared(X[person == number], X[person != number], 32, draws=1) for number in range(1, 7)]
    figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
    draw_bars(ax, np.concatenate(found), "32 windows of one person")

plt.show()
