"""What must hold of what held-out rows chose: risks, strengths and gains are those of the definitions."""

import numpy as np
from tests.helpers import leading, sine
from tests.literal import GRIDS, PCA, At, Search, corrected_matrix

from attenua._correct.registry import parameter_is_missing
from attenua._data.namespace import to_host
from checks import at_most, check_subspace, same
from rounding import EPS, Estimate, doubt_of_covariance, sine_within

NAMED = {"direct": np.unique([*np.arange(21) / 20, 0.49]), "mask": np.unique([*np.arange(10) / 20, 0.49])}


def candidates_of(model):
    """Return the strengths that a model compared."""
    if hasattr(model, "alphas_"):
        return [At(attenuation=alpha) for alpha in to_host(model.alphas_)]
    return [At(**candidate) for candidate in model.candidates_]


class BoundedSearch(Search):
    """The search by its definitions, with what rounding can change of every risk."""

    def bounded(self, expected):
        """Say what the rows are, for the bounds."""
        self.expected, self.known = expected, {}
        for training, _ in self.splits:  # whether rounding decides how many ranks judge
            answer = expected.at(PCA, 1, training)
            values = np.linalg.eigvalsh(answer.matrix)
            self.is_clear &= bool(np.all(np.abs(values - 1e-10 * values[-1]) > answer.doubt))
        return self

    def fitted(self, strengths, split=None, rank=None):
        """Return the components at some strengths; columns may be in groups, as for the paper's classes."""
        S = self.covariance(split, strengths["row_tempering"])
        T = corrected_matrix(S, strengths, self.adjacency, self.expected.labels, self.reference)
        return leading(T, self.rank if rank is None else rank)

    def doubts(self, strengths):
        """Return, for every rank (lines) and split, what rounding can change of the risk."""
        if strengths not in self.known:
            found = [risk_doubts(self.expected, strengths, self.ranks, split) for split in self.splits]
            self.known[strengths] = np.column_stack(found)
        return self.known[strengths]

    def reported_doubts(self, strengths):
        """Return, for every split, what rounding can change of the risk at the rank asked for."""
        return self.doubts(strengths)[self.rank - 1]

    def deciding_doubt(self, strengths):
        """Return what rounding can change of the mean over ranks that decides, in any split."""
        weights = [min(q / self.rank, self.rank / q) for q in self.ranks]
        return float(np.average(self.doubts(strengths), axis=0, weights=weights).max())

    def doubt(self, strengths):
        """Return what rounding can change of a vote, which may draw the longest row several times."""
        return 8 * self.deciding_doubt(strengths)


def risk_doubts(expected, strengths, ranks, split):
    """Return what rounding can change of risks at all ranks: by the subspaces, and by the sums themselves."""
    training, held = split
    answer = expected.at(strengths, len(ranks), training)
    values = np.append(np.linalg.eigvalsh(answer.matrix)[::-1], -np.inf)
    sines = np.array([sine_within(answer.doubt, values[q - 1] - values[q]) for q in ranks])
    rows = expected.rows[held] - expected.rows[training].mean(axis=0)
    total = np.mean(np.sum(rows**2, axis=1))
    both = np.concatenate([training, held])
    sums = doubt_of_covariance(expected.rows[both]) * len(both) / min(len(held), len(training))
    return sines * total + (np.array(ranks) + 1) * np.linalg.norm(sums) + len(rows.T) * EPS * total


def search_of(problem, expected, rank, grids):
    """Return the search of a problem, not run."""
    return BoundedSearch(
        problem.rows,
        problem.splits,
        rank,
        grids,
        adjacency=expected.adjacency,
        groups=problem.groups,
        reference=expected.reference,
    ).bounded(expected)


def check_risks(found, search, candidates):
    """Check that risks are those of the definitions, and that their means are pooled over rows."""
    for number, candidate in enumerate(candidates):
        off = found.risks[:, number] - search.reported_of(candidate)
        at_most(off, search.reported_doubts(candidate), f"the risk of {candidate}")
    pooled = search.held @ found.risks / search.held.sum()
    at_most(found.risk - pooled, 1e-13 * np.abs(pooled) + np.finfo(float).tiny, "cv_risk_")


def check_attenuated(found, expected):
    """Check that the strength is that of least risk, or 0 where the subspace is PCA's."""
    problem, model = expected.problem, found.model
    alphas = problem.options["alphas"]
    alphas = NAMED[alphas] if isinstance(alphas, str) else np.unique([0.0, *alphas])
    at_most(to_host(model.alphas_) - alphas, 1e-15, "alphas_")
    search = search_of(problem, expected, found.rank, {})
    candidates = candidates_of(model)
    check_risks(found, search, candidates)
    check_subspace(found, expected.at(At(attenuation=model.alpha_), found.rank))
    risks = np.array([search.reported(candidate) for candidate in candidates])
    doubts = np.array([search.reported_doubts(candidate).max() for candidate in candidates])
    best = int(np.argmin(risks))
    rivals = risks - risks[best] <= doubts + doubts[best]
    if rivals.sum() > 1:
        return True
    answers = [expected.at(candidates[number], found.rank) for number in (0, best)]
    apart = sine(answers[0].components, answers[1].components)
    if abs(apart - 1e-6) <= answers[0].sine + answers[1].sine:
        return True
    same(model.alpha_, float(alphas[best]) if apart > 1e-6 else 0.0, "alpha_")
    gain = 1 - risks[best if apart > 1e-6 else 0] / risks[0]
    check_gain(model.gain_, gain, doubts.max() / risks[0], "gain_")
    return False


def check_gain(found, exact, doubt, what):
    """Check a part of PCA's risk."""
    at_most(found - exact, 4 * doubt + 1e-12, what)


def grids_of(problem):
    """Return the strengths that the search compares."""
    corrections = problem.options["corrections"]
    if isinstance(corrections, dict):
        grids = {name: tuple(sorted({0.0, *values})) for name, values in corrections.items()}
    else:
        grids = {name: GRIDS[name] for name in (GRIDS if isinstance(corrections, str) else corrections)}
    return {name: grid for name, grid in grids.items() if not parameter_is_missing(name, problem.options)}


def check_corrected(found, expected):
    """Check that risks, choices and their average are those of the search by its definitions."""
    problem, model = expected.problem, found.model
    search = search_of(problem, expected, found.rank, grids_of(problem)).run()
    candidates = candidates_of(model)
    check_risks(found, search, candidates)
    choices = {At(**choice): w for choice, w in zip(model.choices_, model.choice_weights_, strict=True)}
    check_subspace(found, average(expected, choices, found.rank))
    if not search.is_clear or is_nearly_pca(expected, search, found.rank):
        return True
    same(set(choices), set(search.weights), "choices_")
    for choice, weight in search.weights.items():
        at_most(choices[choice] - weight, 1e-12, f"the weight of {choice}")
    same(set(candidates), set(search.candidates), "candidates_")
    doubt = max(map(search.deciding_doubt, search.candidates))
    check_steps(model.steps_, search, doubt / search.pooled(PCA))
    return False


def average(expected, choices, rank):
    """Return the leading subspace of the mean of some choices by their weights."""
    answers = {choice: expected.at(choice, rank) for choice in choices}
    if len(choices) == 1:
        return next(iter(answers.values()))
    S, _ = expected.covariance(0.0, None)
    largest, mean, doubt = np.linalg.norm(S, 2), np.zeros_like(S), 0.0
    for choice, weight in choices.items():
        U, off = answers[choice].components, answers[choice].sine
        variances, rotation = np.linalg.eigh(U @ S @ U.T)
        variances = np.maximum(variances, 1e-12 * variances[-1])
        V = rotation.T @ U
        mean += weight * (V.T * np.sqrt(variances)) @ V
        # To first order: the basis turns, and so does what the root is taken of.
        doubt += weight * off * (2 * np.sqrt(largest) + largest / np.sqrt(variances[0] or np.inf))
    values, vectors = np.linalg.eigh(mean)
    values, vectors = values[::-1], vectors[:, ::-1]
    gap = np.inf if rank == len(values) else values[rank - 1] - values[rank]
    return Estimate(vectors[:, :rank].T, mean, doubt + len(values) * EPS * values[0], gap)


def is_nearly_pca(expected, search, rank):
    """Whether rounding decides if the average of some choices is PCA's subspace."""
    if set(search.averaged) == {PCA}:
        return False
    averaged, pca = average(expected, search.averaged, rank), expected.at(PCA, rank)
    return abs(sine(averaged.components, pca.components) - 1e-6) <= averaged.sine + pca.sine


def check_steps(steps, search, doubt):
    """Check what every step compared, found and took; `doubt` is what rounding can change of a gain."""
    found = [step for step in steps if step.strengths]
    same([step.correction for step in found], [step["correction"] for step in search.steps], "steps_")
    for step, exact in zip(found, search.steps, strict=True):
        for name in ("strengths", "best"):
            same(getattr(step, name), exact[name], f"{name} of the step {step.correction}")
        check_gain(step.gain, exact["gain"], doubt, f"gain of the step {step.correction}")
        # A standard deviation is off by no more than twice what its numbers are.
        error = exact["standard_error"]
        check_gain(
            step.standard_error, error, (2 + error) * doubt, f"standard_error of the step {step.correction}"
        )
        weight = sum(part for choice, part in search.weights.items() if choice[step.correction])
        at_most(step.weight - weight, 1e-12, f"weight of the step {step.correction}")
