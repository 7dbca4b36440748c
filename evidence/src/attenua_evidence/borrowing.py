"""What borrowing gains: a few rows of one part of a data set, with its other parts as the reference.

A part is a subject of the smartphone data (HAR), a digit, or a photo of scikit-learn in squares of 8 x 8
pixels. Some of its rows are fitted, and its other rows judge. The excess risk is that over the best subspace
of the judging rows, and the share of PCA's that is removed is a mean over the parts, with its standard error.
For two photos, every draw of rows counts as a part.

A reference that does not fit has its columns in another order, which leaves only what all columns share: how
often it is borrowed from, and what is lost by it.

python -m attenua_evidence.borrowing [--data FOLDER] [--draws 2] [--write docs/guide/_borrowing.md]
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_sample_images

from attenua import CorrectedPCA, CorrectedPCACV
from attenua._files import write_whole
from attenua_paper.datasets import fetch_har
from attenua_paper.studies.gain import best_affine_risk

Array = NDArray[np.float64]
SIZES, RANKS = (16, 32), (2, 5, 10)
SEED = 1
OTHER_ORDER = "columns of the reference in another order"
# A number of components and a reference in, a model out.
METHODS: dict[str, Callable[[int, Array], Any]] = {
    "PCA": lambda k, reference: CorrectedPCA(k),
    "without a reference": lambda k, reference: CorrectedPCACV(k),
    "with the reference": lambda k, reference: CorrectedPCACV(k, reference=reference),
    "PCA of the reference alone": lambda k, reference: CorrectedPCA(k, borrowing=1, reference=reference),
    OTHER_ORDER: lambda k, reference: CorrectedPCACV(k, reference=shuffled(reference)),
}


class Outcome(NamedTuple):
    """What came of one fit: its excess risk, and the mean strength of borrowing over its choices."""

    excess: float
    borrowed: float


def shuffled(reference: Array) -> Array:
    """Return rows with their columns in another order."""
    return reference[:, np.random.default_rng(SEED).permutation(reference.shape[1])]


def data_sets(folder: str | None) -> Iterator[tuple[str, Array, NDArray[Any]]]:
    """Yield names, rows, and the part that each row belongs to."""
    har = fetch_har(data_home=folder)
    subjects = np.concatenate([har.groups_train, har.groups_test])
    yield "HAR, 30 subjects", np.vstack([har.X_train, har.X_test]), subjects
    digits = load_digits()
    yield "digits, 10 classes", digits.data, digits.target
    images = [image.mean(axis=2) for image in load_sample_images().images]
    squares = [sliding_window_view(image, (8, 8))[::8, ::8].reshape(-1, 64) for image in images]
    yield "photos, 2 of them", np.concatenate(squares), np.repeat([0, 1], [len(some) for some in squares])


def risk(model: Any, rows: Array) -> float:
    """Return the mean squared reconstruction error of rows."""
    centred = rows - model.mean_
    return float(np.mean(np.sum((centred - centred @ model.components_.T @ model.components_) ** 2, axis=1)))


def outcomes(own: Array, reference: Array, n: int, k: int, seed: Sequence[int]) -> dict[str, Outcome]:
    """Fit n rows of a part by every method, and judge by the other rows of the part."""
    order = np.random.default_rng(seed).permutation(len(own))
    rows, test = own[order[:n]], own[order[n:]]
    best, found = best_affine_risk(test, k), {}
    for name, make in METHODS.items():
        model = make(k, reference).fit(rows)
        choices = zip(getattr(model, "choices_", ()), getattr(model, "choice_weights_", ()), strict=True)
        borrowed = sum(weight * choice["borrowing"] for choice, weight in choices)
        found[name] = Outcome(risk(model, test) - best, borrowed)
    return found


def of_parts(X: Array, labels: NDArray[Any], n: int, k: int, draws: int) -> list[list[dict[str, Outcome]]]:
    """Return the outcomes of every part, in some draws of its rows; two parts are as many as their draws."""
    names = np.unique(labels)
    found = [
        outcomes(X[labels == name], X[labels != name], n, k, (SEED, int(name), draw))
        for name in names
        for draw in range(draws)
    ]
    count = draws if len(names) > 2 else 1
    return [found[start : start + count] for start in range(0, len(found), count)]


def removed(part: Sequence[dict[str, Outcome]], name: str) -> float:
    """Return the share of PCA's excess risk that a method removes, over the draws of a part."""
    return 1 - sum(each[name].excess for each in part) / sum(each["PCA"].excess for each in part)


def in_words(values: Sequence[float]) -> str:
    """Return a mean and its standard error, in percent."""
    mean, error = 100 * np.mean(values), 100 * np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.round(mean) + 0.0:.0f} ± {error:.0f}"  # + 0.0: no minus before a zero


def line(name: str, n: int, k: int, parts: Sequence[Sequence[dict[str, Outcome]]]) -> str:
    """Return a line of the table."""
    compared = [in_words([removed(part, method) for part in parts]) for method in list(METHODS)[1:4]]
    used = np.mean([each["with the reference"].borrowed for part in parts for each in part])
    wrong = [each[OTHER_ORDER].borrowed for part in parts for each in part]
    lost = [removed(part, "without a reference") - removed(part, OTHER_ORDER) for part in parts]
    cells = (name, n, k, *compared, f"{used:.2f}", f"{np.mean(np.array(wrong) > 0):.0%}", in_words(lost))
    return f"| {' | '.join(map(str, cells))} |"


HEADER = (
    "| data | rows | rank | without a reference | **with the reference** | PCA of the reference alone | mean "
    "strength | another order: borrowed | lost |\n|---|---|---|---|---|---|---|---|---|"
)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", help="folder of the data sets of the paper")
    parser.add_argument("--draws", type=int, default=2, help="draws of rows of every part")
    parser.add_argument("--write", type=Path, help="a file for the table; printed otherwise")
    options = parser.parse_args(arguments)
    lines = [HEADER]
    for name, X, labels in data_sets(options.data):
        for n in SIZES:
            for k in RANKS:
                draws = options.draws * (5 if len(np.unique(labels)) == 2 else 1)
                lines.append(line(name, n, k, of_parts(X, labels, n, k, draws)))
                print(lines[-1], flush=True)
    if options.write:
        write_whole(options.write, "\n".join([*lines, ""]).encode())


if __name__ == "__main__":
    main()
