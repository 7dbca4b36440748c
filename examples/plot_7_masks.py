r"""
Masks and the identity behind attenuation
=========================================

Hide every coordinate of a row with probability :math:`m`, project the rest, and compare with the whole row.
Averaged over all masks this loss is PCA's on a covariance whose diagonal is weakened by :math:`\alpha =
m/(1+m)`: attenuation is masking with an infinite number of masks.
"""

# %%
# Twenty patches of digits, and the subspace at the strength that belongs to the mask rate.

# sphinx_gallery_thumbnail_number = 2
import matplotlib.pyplot as plt
import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from sklearn.datasets import load_digits

from attenua import AttenuatedPCA, alpha_from_mask_rate, attenuation_path
from attenua_paper.theory import full_output_loss

random = np.random.default_rng(0)
images = load_digits().images
n = len(images)
windows = sliding_window_view(images, (3, 3), axis=(1, 2))
X = windows[np.arange(n), random.integers(0, 6, n), random.integers(0, 6, n)].reshape(n, 9)[:20]
X -= X.mean(axis=0)
covariance = X.T @ X / len(X)
mask_rate = 0.6
components = AttenuatedPCA(2, alpha=alpha_from_mask_rate(mask_rate)).fit(X).components_

# %%
# The mean over drawn masks converges to the exact value, which needs no masks.

n_masks = 5_000
drawn = np.empty(n_masks)
for number in range(n_masks):
    kept = X * (random.random(X.shape) >= mask_rate)
    drawn[number] = np.mean(np.sum((X - (kept @ components.T) @ components) ** 2, axis=1))
exact = full_output_loss(components, covariance, mask_rate)
print(f"drawn {drawn.mean():.2f} +- {drawn.std() / n_masks**0.5:.2f}, exact {exact:.2f}")

figure, ax = plt.subplots(figsize=(6.2, 3.8), layout="constrained")
ax.plot(np.cumsum(drawn) / np.arange(1, n_masks + 1), color="#b5541c", label="mean over drawn masks")
ax.axhline(exact, color="#1d5a86", ls="--", lw=1.5, label="exact")
ax.set(xscale="log", xlabel="masks drawn", ylabel="masked reconstruction loss")
ax.legend(frameon=False)

# %%
# Along the path of strengths, the exact loss of a mask rate is smallest at the strength of the identity.

figure, ax = plt.subplots(figsize=(6.2, 3.8), layout="constrained")
fine = attenuation_path(X, 2, alphas=np.linspace(0, 1, 81))
for rate, colour in ((0.25, "#93a35a"), (0.6, "#1d5a86"), (0.9, "#0b1c33")):
    losses = np.array([full_output_loss(U, covariance, rate) for U in fine.components])
    ax.plot(fine.alphas, 100 * (losses / losses[0] - 1), color=colour, label=f"$m = {rate:g}$")
    ax.axvline(alpha_from_mask_rate(rate), color=colour, ls=":", lw=1.2)
    found = fine.alphas[np.argmin(losses)]
    print(f"mask rate {rate:g}: least loss at {found:.3f}, m / (1 + m) = {alpha_from_mask_rate(rate):.3f}")
ax.axvspan(0, 0.5, color="#e9edf2", lw=0, zorder=0)
ax.set(xlim=(0, 1), xlabel=r"strength $\alpha$ of the subspace", ylabel="loss against PCA's, %")
ax.legend(frameon=False, loc="upper left")

# %%
# Masks reach the shaded strengths, below one half; attenuation goes on to one.
