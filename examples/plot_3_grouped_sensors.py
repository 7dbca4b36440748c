"""
Grouped sensors: keep a person's windows together
=================================================

Eight people wear a sensor, and each gives eight windows of 32 time points. Windows of one person resemble
each other. We want a subspace for new people, so a person must not be on both sides of a fold:
``fit(X, groups=person)``.
"""

# %%
# The windows
# -----------
# The signals are waves of random phase, so that every time point has the same variance, and attenuation can
# help. Each person has a wave of their own; each window adds another wave, and noise.

import matplotlib.pyplot as plt
import numpy as np

from attenua import AttenuatedPCA, AttenuatedPCACV

time = 2 * np.pi * np.arange(32) / 32


def waves(random, size, amplitudes):
    """Draw sums of cosines with random amplitudes and phases."""
    shape = (size, len(amplitudes), 1)
    phases = random.uniform(0, 2 * np.pi, shape)
    heights = random.normal(size=shape) * np.array(amplitudes)[:, None]
    frequencies = np.arange(1, len(amplitudes) + 1)[:, None]
    return np.sum(heights * np.cos(frequencies * time + phases), axis=1)


def record(random, n_people, n_windows):
    """Return windows in the order of recording, so that people alternate, and whose they are."""
    person = np.tile(np.arange(n_people), n_windows)
    own = waves(random, n_people, [1, 1, 1.5, 1])
    momentary = waves(random, len(person), [1.5, 1, 0.5, 0.5])
    return own[person] + momentary + random.normal(size=momentary.shape), person


X, person = record(np.random.default_rng(0), 8, 8)
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
for label, colour in ((0, "#1d5a86"), (1, "#b5541c")):
    ax.plot(X[person == label].T[:, :4], color=colour, lw=1, alpha=0.8)
    ax.plot([], color=colour, label=f"person {label + 1}, four windows")
ax.set(xlabel="time point", ylabel="signal")
ax.legend(frameon=False, ncols=2, loc="upper right")

# %%
# With and without the groups
# ---------------------------
# Twenty such studies, each followed by 100 new people. The curves are means over the studies.

curves = {"people split": [], "people whole": [], "new people": []}
for seed in range(20):
    random = np.random.default_rng(seed)
    X, person = record(random, 8, 8)
    new_people, _ = record(random, 100, 4)
    split = AttenuatedPCACV(4).fit(X)
    whole = AttenuatedPCACV(4).fit(X, groups=person)
    curves["people split"].append(split.cv_risk_)
    curves["people whole"].append(whole.cv_risk_)
    models = (AttenuatedPCA(4, alpha=alpha).fit(X) for alpha in whole.alphas_)
    curves["new people"].append([model.reconstruction_error(new_people).mean() for model in models])

labels = {"people split": "cross-validation, people split"}
labels |= {"people whole": "cross-validation, people whole", "new people": "error on new people"}
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for (name, found), style in zip(curves.items(), ("s-", "o-", "k--"), strict=True):
    ax.plot(whole.alphas_, np.mean(found, axis=0), style, ms=4, label=labels[name])
    print(
        f"{labels[name]}: {np.mean(found, axis=0)[0]:.0f} for PCA, {np.mean(found, axis=0).min():.0f} at best"
    )
ax.set(xlabel=r"attenuation strength $\alpha$", ylabel="squared error of a window", ylim=(0, 110))
ax.legend(frameon=False, loc="lower left")

# %%
# Folds that split people promise an error that is too small: they measure how well a window is reconstructed
# from other windows of the same person. Folds of whole people promise about the error of new people.
