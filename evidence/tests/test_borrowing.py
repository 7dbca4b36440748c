"""The script that measures borrowing: shares of excess risk by hand, and a table of one small data set."""

import numpy as np
import pytest

from attenua import CorrectedPCA
from attenua_evidence import borrowing
from attenua_evidence.borrowing import METHODS, Outcome, main, outcomes, removed


def rows_of_parts(seed=0):
    """Three parts of 40 rows with the same two strong directions, and other means."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 12)) * 2 + rng.standard_normal((120, 12))
    labels = np.repeat([0, 1, 2], 40)
    return rows + 3 * labels[:, None], labels


def test_excess_is_over_the_best_subspace_of_the_other_rows():
    X, labels = rows_of_parts()
    own, reference = X[labels == 1], X[labels != 1]
    found = outcomes(own, reference, 16, 2, (0, 1))
    order = np.random.default_rng((0, 1)).permutation(40)
    rows, test = own[order[:16]], own[order[16:]]
    best = np.sum(np.linalg.svd(test - test.mean(axis=0), compute_uv=False)[2:] ** 2) / len(test)
    pca = CorrectedPCA(2).fit(rows)
    error = np.mean(np.sum((test - pca.inverse_transform(pca.transform(test))) ** 2, axis=1))
    assert found["PCA"].excess == pytest.approx(error - best)
    assert list(found) == list(METHODS)


def test_shares_are_of_the_sums_over_draws():
    draws = [
        {"PCA": Outcome(3.0, 0.0), "x": Outcome(1.0, 0.0)},
        {"PCA": Outcome(1.0, 0), "x": Outcome(2.0, 0)},
    ]
    assert removed(draws, "x") == pytest.approx(1 - 3 / 4)


def test_the_table(monkeypatch, tmp_path):
    monkeypatch.setattr(borrowing, "data_sets", lambda folder: iter([("three parts", *rows_of_parts())]))
    monkeypatch.setattr(borrowing, "SIZES", (16,))
    monkeypatch.setattr(borrowing, "RANKS", (2,))
    main(["--draws", "1", "--write", str(tmp_path / "table.md")])
    header, _, line = (tmp_path / "table.md").read_text(encoding="utf-8").splitlines()
    assert header.count("|") == line.count("|")
    assert line.startswith("| three parts | 16 | 2 | ")
