"""A first look: PCA against corrected PCA on image patches, at small numbers of fitting rows."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

from attenua._correct.corrections import CORRECTIONS
from attenua._data.files import write_whole
from attenua.corrected import CorrectedPCA, CorrectedPCACV
from attenua.studies.gain import best_affine_risk, excess_risk_removed, mean_and_interval
from attenua.studies.patches import draw_patches

RANK = 2
# Patches of images: columns are pixels, whose neighbours are known.
SHAPE = (3, 3)
# The first images are for fitting, the rest for testing; no image is in both.
_FITTING_IMAGES = 1_000

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BudgetResult:
    """What many subsamples of one size gave.

    Attributes
    ----------
    n_rows : int
        Rows in each subsample.
    pca_excess, excess : ndarray of shape (n_subsamples,)
        Test risk above that of the best subspace, of PCA and of corrected PCA.
    removed : ndarray of shape (n_subsamples,)
        Percentage of PCA's excess that the corrections remove.
    strengths : ndarray of shape (n_subsamples, n_corrections)
        What cross-validation chose, in the order of the corrections.
    is_pca : ndarray of bool of shape (n_subsamples,)
        Whether the fit is ordinary PCA.
    """

    n_rows: int
    pca_excess: Array
    excess: Array
    removed: Array
    strengths: Array
    is_pca: NDArray[np.bool_]


def run_demo(
    budgets: Sequence[int] = (32, 64, 128),
    n_subsamples: int = 100,
    *,
    seed: int = 0,
    advance: Callable[[], Any] = lambda: None,
) -> list[BudgetResult]:
    """Fit PCA and corrected PCA to many small subsamples of patches and test both.

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
            pca_risk = -CorrectedPCA(RANK).fit(rows).score(test)
            model = CorrectedPCACV(RANK, neighbours=SHAPE).fit(rows)
            choices = [any(choice.values()) for choice in model.choices_]
            strengths = list(model.corrections_.values())
            records.append((pca_risk, -model.score(test), strengths, not any(choices)))
            advance()
        pca_risks, risks, strengths, is_pca = (np.array(column) for column in zip(*records, strict=True))
        removed = excess_risk_removed(pca_risks, risks, reference)
        results.append(
            BudgetResult(n_rows, pca_risks - reference, risks - reference, removed, strengths, is_pca)
        )
    return results


def plot_demo(results: Sequence[BudgetResult], path: Path) -> None:
    """Save a picture of what was chosen and of the gains."""
    from matplotlib.figure import Figure  # not pyplot, whose backend is the user's

    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    width = 0.8 / len(results)
    places = np.arange(len(CORRECTIONS))
    styles = zip(results, ["C0", "C1", "C2"], ["o", "s", "D"], strict=False)
    for position, (result, colour, marker) in enumerate(styles):
        taken = 100 * (result.strengths > 0).mean(axis=0)
        shift = (position - (len(results) - 1) / 2) * width
        left.bar(places + shift, taken, width, color=colour, label=f"{result.n_rows} rows")
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
    left.set_xticks(places, [name.replace("_", "\n") for name in CORRECTIONS])
    left.set(ylabel="subsamples that took it, %", title="Corrections that held-out rows chose", ylim=(0, 100))
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
