"""What corrections do to PCA of few cells: scanpy's 700 blood cells, half of them never fitted.

Needs scanpy, as in the environment of ``make test-h5ad``.

python -m attenua_evidence.few_cells [--draws 10] [--write docs/guide/_few_cells.md]
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import scanpy as sc
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._files import write_whole

N_COMPS = 10
SIZES = (25, 100, 350)


def read_cells():
    """Return the highly variable genes, as logarithms and scaled, and the cell types."""
    cells = sc.datasets.pbmc68k_reduced()
    used = cells.var["highly_variable"].to_numpy()
    forms = {"log": cells.raw.X[:, used].toarray(), "scaled": cells.X[:, used]}
    types = cells.obs["bulk_labels"].astype(str).to_numpy()
    return {form: X.astype(float) for form, X in forms.items()}, types


def judge(X, types, n_fitted, seed):
    """Return the gain on cells that were not fitted, and by how much their types are told better."""
    order = np.random.default_rng(seed).permutation(len(X))
    fitted, unseen = order[:n_fitted], order[len(X) // 2 :]
    errors, agreements = [], []
    for estimator in (CorrectedPCA(N_COMPS), CorrectedPCACV(N_COMPS)):
        scores = estimator.fit(X[fitted]).transform(X[unseen])
        errors.append(estimator.reconstruction_error(X[unseen]).mean())
        told = cross_val_score(KNeighborsClassifier(15), scores, types[unseen], cv=3)
        agreements.append(told.mean())
    return 1 - errors[1] / errors[0], agreements[1] - agreements[0]


def table(draws):
    """Return the lines of the table: mean gains over random draws, and changes in accuracy."""
    forms, types = read_cells()
    lines = [
        "| values | cells fitted | error removed | least, most | change in accuracy |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for form, X in forms.items():
        for size in SIZES:
            gains, better = np.transpose([judge(X, types, size, seed) for seed in range(draws)])
            spread = f"{gains.min():.1%}, {gains.max():.1%}"
            error = better.std(ddof=1) / np.sqrt(draws)
            told = f"{better.mean():+.1%} ± {error:.1%}"
            lines.append(f"| {form} | {size} | {gains.mean():.1%} | {spread} | {told} |")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=10, help="random halves and fitted cells")
    parser.add_argument("--write", type=Path, help="also write the table to this file")
    options = parser.parse_args(arguments)
    with warnings.catch_warnings():
        # Rare types have fewer cells than the classifier has folds.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        text = "\n".join(table(options.draws)) + "\n"
    print(text, end="")
    if options.write:
        write_whole(options.write, text.encode())


if __name__ == "__main__":
    main()
