"""The whole covariance: the search by brute force, scikit-learn's covariances, containers and errors."""

from html import escape

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.covariance import OAS, EmpiricalCovariance, LedoitWolf, ledoit_wolf_shrinkage
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import KFold, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from attenua import CorrectedCovariance, CorrectedPCACV
from attenua._correct.registry import COVARIANCE_CORRECTIONS
from attenua._select.likelihood import _towards_variances
from tests.literal import At, Search, changed, corrected_matrix, line, smooth_rows

LW = At(shrinkage=1.0)
ORDER = ["shrinkage", "smoothing", "row_tempering", "damping", "pooling", "decoupling", "shrinkage"]


@parametrize_with_checks([CorrectedCovariance()])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def factors(n, p, seed=0):
    """Rows of two factors, whose columns come in blocks, with noise."""
    rng = np.random.default_rng(seed)
    loadings = np.repeat(np.eye(3), -(-p // 3), axis=1)[:, :p]
    return rng.standard_normal((n, 3)) * [3, 2, 1] @ loadings + rng.standard_normal((n, p)) * 0.7 + 5


class CovarianceSearch(Search):
    """The search for a covariance by its definitions, with scikit-learn's shrinkages and scipy's density."""

    def __init__(self, X, splits, *, centred=False, **given):
        self.is_centred = centred
        grids = {name: correction.strengths for name, correction in COVARIANCE_CORRECTIONS.items()}
        super().__init__(X, splits, 0, grids, **given)
        odds = [c / (1 - c) for c in (OAS(assume_centered=centred).fit(X).shrinkage_, self.closed_form(None))]
        self.grids["shrinkage"] = tuple(sorted({*self.grids["shrinkage"], odds[0] / odds[1]}))

    least_gain = 0.0

    def rows(self, split):
        return self.X if split is None else self.X[self.splits[split][0]]

    def closed_form(self, split):
        return ledoit_wolf_shrinkage(self.rows(split), assume_centered=self.is_centred)

    def centre(self, split):
        return np.zeros(self.X.shape[1]) if self.is_centred else self.rows(split).mean(axis=0)

    def fitted(self, strengths, split=None):
        """The covariance at some strengths: of the training rows of a split, or of all rows."""
        Z = self.rows(split) - self.centre(split)
        S, k = Z.T @ Z / len(Z), strengths["row_tempering"]
        T = corrected_matrix(self.covariance(split, k) if k else S, strengths, self.adjacency)
        T = T * np.trace(S) / np.trace(T)
        T = (1 - strengths["decoupling"]) * T + strengths["decoupling"] * np.diag(np.diag(T))
        part = strengths["shrinkage"] * self.closed_form(split)
        part /= 1 - self.closed_form(split) + part
        return (1 - part) * T + part * np.trace(S) / len(S) * np.eye(len(S))

    def _losses_of(self, strengths):
        return [
            -multivariate_normal(self.centre(split), self.fitted(strengths, split)).logpdf(self.X[held])
            for split, (_, held) in enumerate(self.splits)
        ]

    def walk(self, correction, present, known):
        """Risks of the strengths that are compared: downwards, and upwards if that was no better.

        And which of them all splits have judged; those that are known are.
        """
        grid = list(self.grids[correction])
        start = grid.index(present[correction])
        risks, judged = {start: self.pooled(present)}, [present]
        for direction in (-1, 1):
            place = start + direction
            while 0 <= place < len(grid):
                rival, candidate = (changed(present, correction, grid[i]) for i in (place - direction, place))
                if candidate not in known and not self.may_gain(rival, candidate):
                    risks[place] = self.estimated(rival, candidate)
                    break
                risks[place] = self.pooled(candidate)
                judged.append(candidate)
                if risks[place] > risks[place - direction]:
                    break
                place += direction
            if min(self.pooled(candidate) for candidate in judged) < risks[start]:
                break
        return {grid[place]: risks[place] for place in sorted(risks)}, judged

    def run(self):
        present, candidates, self.walks = LW, {LW: None}, []
        for correction in ORDER:
            if correction == "smoothing" and self.adjacency is None:
                continue
            risks, judged = self.walk(correction, present, candidates)
            self.walks.append((correction, risks))
            candidates |= dict.fromkeys(judged)
            present = min(judged, key=self.pooled)
        neutral = {"shrinkage": 1.0}
        candidates |= dict.fromkeys(changed(present, name, neutral.get(name, 0.0)) for name in present)
        self.candidates, self.chosen = list(candidates), present
        self.weights = self.elected(LW)
        return self

    def average(self, split=None):
        return sum(weight * self.fitted(choice, split) for choice, weight in self.weights.items() if weight)

    def held_out_variances(self):
        """The mean square of held-out rows along the eigenvectors of each training set, made monotone."""
        sums = np.zeros(self.X.shape[1])
        for split, (_, held) in enumerate(self.splits):
            values, vectors = np.linalg.eigh(self.average(split))
            squares = ((self.X[held] - self.centre(split)) @ vectors) ** 2
            # Within an eigenspace of several dimensions any basis will do, so only the mean counts.
            same = np.abs(values[:, None] - values) <= 1e-10 * values[-1]
            sums += same / same.sum(axis=1) @ squares.sum(axis=0)
        h = sums / sum(self.held)
        places = range(len(h))
        return [
            max(min(h[i : k + 1].mean() for k in places if k >= j) for i in places if i <= j) for j in places
        ]

    def estimate(self):
        """The mean of the choices, with its eigenvalues moved towards the held-out variances."""
        values, vectors = np.linalg.eigh(self.average())
        if [choice for choice, weight in self.weights.items() if weight] != [LW]:
            variances = np.clip(self.held_out_variances(), values / 16, 16 * values)
            values = np.sqrt(values * variances)
        return vectors @ np.diag(values) @ vectors.T


def interleaved(n, folds=5):
    rows = np.arange(n)
    return [(rows[rows % folds != k], rows[rows % folds == k]) for k in range(folds)]


def agree(model, reference):
    """The same steps, candidates, votes and covariance."""
    steps = [step for step in model.steps_ if step.strengths]
    for step, (correction, risks) in zip(steps, reference.walks, strict=True):
        assert step.correction == correction
        np.testing.assert_allclose(step.strengths, list(risks), rtol=1e-9)
        np.testing.assert_allclose(step.risks, list(risks.values()), rtol=1e-8)
    for name, strength in reference.chosen.items():
        assert model.steps_[name].best == pytest.approx(strength, rel=1e-9)
    assert len(model.candidates_) == len(reference.candidates)
    np.testing.assert_allclose(
        sorted(model.choice_weights_), sorted(filter(None, reference.weights.values())), atol=1e-12
    )
    np.testing.assert_allclose(model.covariance_, reference.estimate(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.location_, reference.centre(None), atol=1e-12)


@pytest.mark.parametrize("shape", [(30, 6), (24, 12), (18, 20)], ids=str)
@pytest.mark.parametrize("is_ordered", [False, True])
def test_the_search_by_brute_force(shape, is_ordered):
    X = smooth_rows(*shape, seed=3)
    adjacency = line(shape[1]) if is_ordered else None
    model = CorrectedCovariance(neighbours="line" if is_ordered else None).fit(X)
    agree(model, CovarianceSearch(X, interleaved(len(X)), adjacency=adjacency).run())


def test_rows_in_groups_and_rows_about_zero_by_brute_force():
    X, groups = factors(30, 6) - 5, np.arange(30) // 2
    folds = [[row for row in range(30) if groups[row] % 5 == k] for k in range(5)]
    splits = [(np.setdiff1d(np.arange(30), held), np.array(held)) for held in folds]
    model = CorrectedCovariance(cv=splits, assume_centered=True).fit(X, groups=groups)
    agree(model, CovarianceSearch(X, splits, centred=True, groups=groups).run())


def test_training_rows_that_are_drawn_twice_by_brute_force():
    X, rng = factors(24, 6), np.random.default_rng(0)
    drawn = [rng.integers(24, size=20) for _ in range(4)]
    splits = [(np.sort(rows), np.setdiff1d(np.arange(24), rows)) for rows in drawn]
    model = CorrectedCovariance(cv=splits, corrections=["damping", "shrinkage"]).fit(X)
    reference = CovarianceSearch(X, splits)
    for candidate, risk in zip(model.candidates_, model.cv_risk_folds_.T, strict=True):
        np.testing.assert_allclose(risk, reference.risk_of(At(**candidate)), rtol=1e-9)


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("shape", [(40, 8), (12, 30), (8, 600)], ids=str)
def test_without_corrections_it_is_scikit_learns_ledoit_wolf(shape, centred):
    X = factors(*shape)
    model = CorrectedCovariance(corrections=[], assume_centered=centred).fit(X)
    other = LedoitWolf(assume_centered=centred).fit(X)
    np.testing.assert_allclose(model.covariance_, other.covariance_, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(model.precision_, other.precision_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.location_, other.location_, rtol=1e-12)
    assert model.verdict_.startswith("The fit is Ledoit-Wolf's covariance: no correction")


@pytest.mark.parametrize("shape", [(60, 12), (20, 40), (10, 700)], ids=str)
def test_what_scikit_learns_covariances_have(shape):
    X = factors(*shape)
    model = CorrectedCovariance().fit(X)
    assert isinstance(model, EmpiricalCovariance)
    assert np.linalg.eigvalsh(model.covariance_)[0] > 0
    np.testing.assert_allclose(model.covariance_ @ model.precision_, np.eye(shape[1]), atol=1e-8)
    assert model.get_precision() is model.precision_
    # scikit-learn's own formulas, from the covariance.
    other = EmpiricalCovariance()
    other._set_covariance(model.covariance_)
    other.location_, other.n_features_in_ = model.location_, shape[1]
    new = factors(15, shape[1], seed=1)
    assert model.score(new) == pytest.approx(other.score(new), rel=1e-8)
    np.testing.assert_allclose(model.mahalanobis(new), other.mahalanobis(new), rtol=1e-6)
    density = multivariate_normal(model.location_, model.covariance_)
    np.testing.assert_allclose(model.score_samples(new), density.logpdf(new), rtol=1e-8)
    assert model.error_norm(other.covariance_) == 0
    assert clone(model).get_params() == model.get_params()


@pytest.mark.parametrize(("spread", "least"), [(1.0, 0.5), (0.0, -0.02)], ids=["blocks", "spheres"])
def test_what_new_rows_gain_over_ledoit_wolf(spread, least):
    """Blocks of columns, which damping and pooling find, and rows without structure: Monte Carlo."""
    gains, expected = [], []
    for seed in range(20):
        X, new = (spread * factors(n, 24, k) + noise(n, 24, k) for n, k in ((30, seed), (2000, 100 + seed)))
        model = CorrectedCovariance(nested=True).fit(X)
        gains.append(model.score(new) - LedoitWolf().fit(X).score(new))
        expected.append(model.left_out_gain_)
    error = np.std(np.subtract(gains, expected), ddof=1) / np.sqrt(20)
    assert np.mean(gains) > least
    assert abs(np.mean(gains) - np.mean(expected)) < 3 * error


def test_what_new_rows_gain_is_measured_with_four_fifths_of_the_rows():
    X, gains = factors(30, 12), np.empty(30)
    given = {"corrections": {"damping": [0.5], "shrinkage": [0.5, 1.0, 2.0]}}
    for held in (np.arange(k, 30, 5) for k in range(5)):
        others = np.setdiff1d(np.arange(30), held)
        folds = [(others % 5 != j, others % 5 == j) for j in range(5) if j != held[0]]
        choice = CorrectedCovariance(cv=[tuple(map(np.flatnonzero, fold)) for fold in folds], **given)
        of_both = (each.fit(X[others]) for each in (choice, CorrectedCovariance(corrections=[])))
        gains[held] = np.subtract(*(each.score_samples(X[held]) for each in of_both))
    model = CorrectedCovariance(nested=True, **given).fit(X)
    assert model.left_out_gain_ == pytest.approx(gains.mean())
    # Training sets overlap: Nadeau and Bengio.
    assert model.left_out_gain_error_ == pytest.approx(np.sqrt((1 + 5 / 4) / 30) * gains.std(ddof=1))


def test_rows_that_a_splitter_holds_out_together_are_left_out_together():
    """Every row is there twice, next to itself. Blocks that part the two promise a gain where rows lose."""
    X, new = np.repeat(noise(25, 40, 0), 2, axis=0), noise(2000, 40, 1)
    together, parted = (CorrectedCovariance(cv=cv, nested=True).fit(X) for cv in (KFold(5), 5))
    base = LedoitWolf().fit(X).score(new)
    gain = together.score(new) - base
    assert abs(together.left_out_gain_ - gain) < 3 * together.left_out_gain_error_
    assert parted.left_out_gain_ > 0 > parted.score(new) - base


def noise(n, p, seed):
    return np.random.default_rng([seed, 1]).standard_normal((n, p))


def test_damping_that_is_not_positive_definite_is_lifted():
    X = factors(200, 12) @ np.diag(np.arange(1, 13))
    model = CorrectedCovariance(corrections={"damping": [7.0], "shrinkage": [1e-9]}).fit(X)
    assert np.linalg.eigvalsh(model.covariance_)[0] > 0
    assert np.isfinite(model.cv_risk_).all()


@pytest.mark.parametrize(
    "container",
    [
        pd.DataFrame,
        np.float32,
        sp.csr_matrix,
        np.asfortranarray,
        lambda X: X * 2.0**400,
        lambda X: X / 2.0**500,
    ],
    ids=["frame", "float32", "sparse", "columns", "huge", "tiny"],
)
def test_containers(container):
    X = np.round(factors(40, 7), 2)
    plain, model = CorrectedCovariance().fit(X), CorrectedCovariance().fit(container(X))
    unit = 2.0 ** round(np.log2(float(model.location_[0]) / plain.location_[0]))
    assert model.covariance_.dtype == np.float64
    assert (model.covariance_ == model.covariance_.T).all()
    tolerance = 1e-5 if container is np.float32 else 1e-8
    np.testing.assert_allclose(model.covariance_ / unit / unit, plain.covariance_, rtol=tolerance)
    np.testing.assert_allclose(
        model.mahalanobis(container(X[:5])), plain.mahalanobis(X[:5]), rtol=20 * tolerance
    )
    for found, expected in zip(model.choices_, plain.choices_, strict=True):
        assert found == pytest.approx(expected, rel=1e-3)


def test_wide_rows_are_judged_by_inner_products(monkeypatch):
    """The same numbers where the matrix is formed."""
    X = factors(20, 600)
    few = CorrectedCovariance(corrections=["row_tempering", "decoupling", "shrinkage"]).fit(X)
    monkeypatch.setattr("attenua._data.rows._ALWAYS_SCATTER", 1000)
    formed = CorrectedCovariance(corrections=["row_tempering", "decoupling", "shrinkage"]).fit(X)
    np.testing.assert_allclose(few.cv_risk_, formed.cv_risk_, rtol=1e-9)
    np.testing.assert_allclose(few.covariance_, formed.covariance_, rtol=1e-8, atol=1e-9)


def test_a_reference_is_borrowed_from():
    X, others, new = factors(15, 30), factors(300, 30, seed=1), factors(1000, 30, seed=2)
    alone = CorrectedCovariance().fit(X)
    model = CorrectedCovariance(reference=others).fit(X)
    assert model.steps_["borrowing"].weight > 0
    assert model.score(new) > alone.score(new)


def test_few_rows_and_few_groups():
    X = factors(6, 4)
    for n in (2, 3):
        model = CorrectedCovariance(nested=True).fit(X[:n])
        # Ledoit and Wolf's covariance of two rows is singular, and ours is lifted.
        lifted = 1e-6 if n == 2 else 0.0
        np.testing.assert_allclose(
            model.covariance_, LedoitWolf().fit(X[:n]).covariance_, rtol=1e-10, atol=lifted
        )
        assert np.linalg.eigvalsh(model.covariance_)[0] > 0
        assert (
            model.verdict_
            == "The fit is Ledoit-Wolf's covariance: the rows or groups are too few to hold any out."
        )
        assert np.isnan(model.left_out_gain_)
    assert CorrectedCovariance().fit(X[:4]).cv_risk_folds_.shape[0] == 4
    assert CorrectedCovariance().fit(X, groups=[0, 0, 0, 1, 1, 1]).choices_ == [
        dict.fromkeys(COVARIANCE_CORRECTIONS, 0.0) | {"shrinkage": 1.0}
    ]
    assert CorrectedCovariance().fit(X, groups=[0, 0, 1, 1, 2, 2]).cv_risk_folds_.shape[0] == 3


def test_a_training_set_of_equal_rows():
    X = np.zeros((20, 3))
    X[0] = 1, 2, 3
    model = CorrectedCovariance().fit(X)
    assert np.isfinite(model.cv_risk_).all()
    assert np.linalg.eigvalsh(model.covariance_)[0] > 0


def test_eigenvectors_of_equal_eigenvalues_do_not_matter():
    """Shrinkage alone is the same in any coordinates. With more columns than rows, eigenvalues are tied."""
    X = factors(12, 3) @ noise(3, 30, 0) + 0.1 * noise(12, 30, 1)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((30, 30)))[0]
    plain, turned = (CorrectedCovariance(corrections=["shrinkage"]).fit(Z) for Z in (X, X @ turn))
    assert plain.steps_["shrinkage"].best != 1
    np.testing.assert_allclose(turned.covariance_, turn.T @ plain.covariance_ @ turn, rtol=1e-7, atol=1e-9)


def test_how_far_held_out_variances_move_eigenvalues():
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((4, 4)))[0]
    for values, variances, expected in (
        ([1, 2, 3, 4], [4, 8, 12, 16], [2, 4, 6, 8]),
        ([1, 2, 3, 4], [1e-9, 1, 1, 1e9], [1 / 4, 2**0.5, 3**0.5, 16]),
        ([1, 2, 2, 2], [1, 2, 4, 12], [1, 12**0.5, 12**0.5, 12**0.5]),
    ):
        found = _towards_variances((turn * values) @ turn.T, np.array(variances, float))
        np.testing.assert_allclose(found, (turn * expected) @ turn.T, rtol=1e-10, atol=1e-10)
    # Rounding errors would be a part of the least eigenvalue.
    matrix = np.diag([1e-11, 1.0, 1.0, 1.0])
    assert _towards_variances(matrix, np.ones(4)) is matrix


def test_one_missing_cell_changes_little():
    X = factors(30, 8)
    holes = X.copy()
    holes[3, 5] = np.nan
    corrections = {"shrinkage": [0.25], "damping": [0.25]}
    whole, partly = (CorrectedCovariance(corrections=corrections).fit(Z) for Z in (X, holes))
    assert partly.choices_ == whole.choices_
    np.testing.assert_allclose(partly.choice_weights_, whole.choice_weights_, atol=0.1)
    np.testing.assert_allclose(
        partly.covariance_, whole.covariance_, atol=0.05 * np.trace(whole.covariance_) / 8
    )


def test_columns_of_very_different_variances_are_hardly_shrunk():
    """Ledoit and Wolf's shrinkage is far too much for the smallest, and the sample covariance is good."""
    scales = np.geomspace(1, 1e-3, 10)
    X, new = noise(200, 10, 0) * scales, noise(2000, 10, 1) * scales
    found, sample = (each.fit(X).score(new) for each in (CorrectedCovariance(), EmpiricalCovariance()))
    assert found > sample - 0.1
    assert found > LedoitWolf().fit(X).score(new) + 5


def test_metadata_routing():
    X = factors(30, 5)
    with sklearn.config_context(enable_metadata_routing=True):
        model = CorrectedCovariance().set_fit_request(groups=True)
        params = {"groups": np.arange(30) // 2}
        scores = cross_val_score(model, X, params=params, cv=3)
    assert np.isfinite(scores).all()


def test_discriminant_analysis_takes_it():
    rng = np.random.default_rng(0)
    X, y = factors(60, 20), np.arange(60) % 3
    X[np.arange(60), y] += 6
    model = LinearDiscriminantAnalysis(solver="eigen", covariance_estimator=CorrectedCovariance())
    new = factors(300, 20, seed=5)
    labels = rng.integers(3, size=300)
    new[np.arange(300), labels] += 6
    assert model.fit(X, y).score(new, labels) > 0.6


def test_what_is_shown():
    model = CorrectedCovariance(nested=True).fit(factors(30, 24))
    assert "nats" in repr(model.steps_)
    assert escape(model.verdict_) in model._repr_mimebundle_()["text/html"]
    assert "nats per row above Ledoit-Wolf's" in model.verdict_
    expected = f"{model.left_out_gain_:.3g} nats per row above Ledoit-Wolf, standard error "
    assert dict(model._answer().facts)["to expect of new rows"].startswith(expected)


@pytest.mark.parametrize(
    ("X", "given", "message"),
    [
        (np.ones((5, 3)), {}, "X must hold rows that differ"),
        (np.ones((5, 4001)), {}, "X has 4,001 columns; a whole covariance is estimated of up to 4,000"),
        (factors(9, 3), {"corrections": ["tempering"]}, "corrections names 'tempering'; the corrections are"),
        (
            factors(9, 3),
            {"corrections": ["smoothing"]},
            "corrections names smoothing, which needs neighbours",
        ),
        (factors(9, 3), {"corrections": {"shrinkage": [-1]}}, r"corrections\['shrinkage'\] must be a finite"),
    ],
)
def test_bad_input(X, given, message):
    with pytest.raises(ValueError, match=message):
        CorrectedCovariance(**given).fit(X)


@pytest.mark.parametrize(
    "groups", [5, np.zeros((9, 2)), [1], [None] * 9], ids=["number", "matrix", "one", "none"]
)
def test_bad_groups(groups):
    with pytest.raises(ValueError, match=r"groups (must|holds)"):
        CorrectedCovariance().fit(factors(9, 3), groups=groups)


def test_shrinkages_are_not_pcas():
    assert "shrinkage" not in CorrectedPCACV(2).fit(factors(20, 5)).choices_[0]
    with pytest.raises(ValueError, match="corrections names 'shrinkage'; the corrections are row_tempering"):
        CorrectedPCACV(2, corrections=["shrinkage"]).fit(factors(20, 5))


def test_rows_that_are_too_far_to_square_are_infinitely_far():
    rows = np.zeros((2, 6))
    rows[:, 0], rows[1, 3] = 1e200, np.nan
    model = CorrectedCovariance(corrections=[]).fit(smooth_rows(40, 6, 0))
    np.testing.assert_array_equal(model.mahalanobis(rows), np.inf)
    np.testing.assert_array_equal(model.score_samples(rows), -np.inf)
