"""A first look: PCA against attenuated PCA on image patches, at small numbers of fitting rows."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from attenua._data.files import write_whole
from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
from attenua.studies.gain import best_affine_risk, excess_risk_removed, mean_and_interval
from attenua.studies.patches import draw_patches

RANK = 2
# The first images are for fitting, the rest for testing; no image is in both.
_FITTING_IMAGES = 1_000


@dataclass(frozen=True)
class BudgetResult:
    """What many subsamples of one size gave.

    Attributes
    ----------
    n_rows : int
        Rows in each subsample.
    pca_excess, excess : ndarray of shape (n_subsamples,)
        Test risk above that of the best subspace, of PCA and of attenuated PCA.
    removed : ndarray of shape (n_subsamples,)
        Percentage of PCA's excess that attenuation removes.
    alphas : ndarray of shape (n_alphas,)
        Strengths compared.
    chosen : ndarray of shape (n_subsamples,)
        Strength that cross-validation chose.
    curves : ndarray of shape (n_subsamples, n_alphas)
        Validation risk in percent of PCA's.
    """

    n_rows: int
    pca_excess: NDArray[np.float64]
    excess: NDArray[np.float64]
    removed: NDArray[np.float64]
    alphas: NDArray[np.float64]
    chosen: NDArray[np.float64]
    curves: NDArray[np.float64]


def run_demo(
    budgets: Sequence[int] = (32, 64, 128),
    n_subsamples: int = 200,
    *,
    seed: int = 0,
    advance: Callable[[], Any] = lambda: None,
) -> list[BudgetResult]:
    """Fit PCA and attenuated PCA to many small subsamples of patches and test both.

    Parameters
    ----------
    budgets : sequence of int
        Numbers of fitting rows.
    n_subsamples : int
        Subsamples of each size.
    seed : int
        Draws the patches and the subsamples.
    advance : callable
        Called after every subsample, for a progress bar.

    Returns
    -------
    list of BudgetResult
        One for each budget.
    """
    random = np.random.default_rng(seed)
    patches = draw_patches(load_digits().images, random)
    pool, test = patches[:_FITTING_IMAGES], patches[_FITTING_IMAGES:]
    reference = best_affine_risk(test, RANK)
    results = []
    for n_rows in budgets:
        records = []
        for _ in range(n_subsamples):
            rows = pool[random.choice(len(pool), n_rows, replace=False)]
            pca_risk = -AttenuatedPCA(RANK, alpha=0).fit(rows).score(test)
            model = AttenuatedPCACV(RANK).fit(rows)
            records.append(
                (pca_risk, -model.score(test), model.alpha_, 100 * model.cv_risk_ / model.cv_risk_[0])
            )
            advance()
        pca_risks, risks, chosen, curves = (np.array(column) for column in zip(*records, strict=True))
        removed = excess_risk_removed(pca_risks, risks, reference)
        results.append(
            BudgetResult(
                n_rows, pca_risks - reference, risks - reference, removed, model.alphas_, chosen, curves
            )
        )
    return results


def plot_demo(results: Sequence[BudgetResult], path: Path) -> None:
    """Save a picture of the validation curves and the gains."""
    from matplotlib.figure import Figure  # not pyplot, whose backend is the user's

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    styles = zip(results, ["C0", "C1", "C2"], ["-", "--", ":"], ["o", "s", "D"], strict=False)
    for position, (result, colour, dash, marker) in enumerate(styles):
        mean = result.curves.mean(axis=0)
        half = 1.96 * result.curves.std(axis=0, ddof=1) / np.sqrt(len(result.curves))
        left.plot(result.alphas, mean, dash, color=colour, label=f"{result.n_rows} rows")
        left.fill_between(result.alphas, mean - half, mean + half, color=colour, alpha=0.15, lw=0)
        centre, low, high = mean_and_interval(result.removed)
        right.boxplot(
            result.removed,
            positions=[position],
            widths=0.5,
            showfliers=False,
            medianprops={"color": "none"},
            boxprops={"color": colour},
            whiskerprops={"color": colour},
            capprops={"color": colour},
        )
        right.errorbar(
            position, centre, [[centre - low], [high - centre]], fmt=marker, color=colour, capsize=4, ms=7
        )
    left.axhline(100, color="0.4", lw=0.8)
    left.axvspan(0, 0.5, color="0.93", zorder=0)
    left.text(0.02, 0.03, "reached by masking", transform=left.transAxes, color="0.35")
    left.set(
        xlabel="attenuation strength α",
        ylabel="validation risk, % of PCA's",
        title="Validation curve, mean over subsamples",
        xlim=(0, 1),
    )
    left.legend(frameon=False)
    right.axhline(0, color="0.4", lw=0.8)
    right.set_xticks(range(len(results)), [f"{result.n_rows}" for result in results])
    right.set(
        xlabel="rows to fit",
        ylabel="PCA's test excess risk removed, %",
        title="Test gain: mean (95%), quartiles",
    )
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=150)
    write_whole(path, picture.getvalue())
