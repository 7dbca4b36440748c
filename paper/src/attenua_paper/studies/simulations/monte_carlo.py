"""Excess risks of attenuated PCA over many drawn samples, every strength on the same samples."""

import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from attenua_paper.theory import LAWS, Population

Array = NDArray[np.float64]

# Samples drawn together: 100 of 1,024 rows and 16 columns are 13 MB. Part of what a seed means.
REPLICATES_AT_ONCE = 100


@dataclass(frozen=True)
class Experiment:
    """Many samples of one size from one population.

    Attributes
    ----------
    name : str
        Names the stream of random numbers too, so that an experiment's numbers do not depend on which others
        run with it.
    population : Population
        Covariance and rank.
    n : int
        Rows of a sample.
    strengths : ndarray of shape (n_strengths,)
        Increasing, from 0.
    replicates : int
        Number of samples.
    law : str
        Law of the latent coordinates, a key of `attenua_paper.theory.LAWS`.
    """

    name: str
    population: Population
    n: int
    strengths: Array
    replicates: int
    law: str = "gaussian"

    @property
    def batches(self) -> list[int]:
        """Sizes of the batches in which the samples are drawn."""
        whole, rest = divmod(self.replicates, REPLICATES_AT_ONCE)
        return [REPLICATES_AT_ONCE] * whole + [rest] * (rest > 0)


def stream(seed: int, name: str, *more: int) -> np.random.SeedSequence:
    """Return the seed of one named use of randomness."""
    return np.random.SeedSequence([seed, zlib.crc32(name.encode()), *more])


def simulate_risks(
    experiments: Sequence[Experiment],
    *,
    seed: int,
    jobs: int = 1,
    advance: Callable[[int], Any] = lambda replicates: None,
) -> list[Array]:
    """Draw every experiment's samples and return the exact excess risks of the fitted subspaces.

    Parameters
    ----------
    experiments : sequence of Experiment
        What to draw.
    seed : int
        Every batch has its own stream, named by this seed, the experiment and the batch; the numbers are the
        same for any number of jobs.
    jobs : int
        Threads. NumPy lets go of the interpreter while it draws, multiplies and decomposes.
    advance : callable
        Called with the number of samples of every batch that is done.

    Returns
    -------
    list of ndarray of shape (replicates, n_strengths)
    """
    tasks = [
        (experiment, batch, size)
        for experiment in experiments
        for batch, size in enumerate(experiment.batches)
    ]

    def work(task: tuple[Experiment, int, int]) -> Array:
        experiment, batch, size = task
        random = np.random.default_rng(stream(seed, experiment.name, batch))
        covariances = draw_covariances(experiment, random, size)
        return attenuated_excess_risks(covariances, experiment.population, experiment.strengths)

    risks: list[list[Array]] = [[] for _ in experiments]
    owners = [index for index, experiment in enumerate(experiments) for _ in experiment.batches]
    # One thread inside each: the matrices are too small to share, and sums keep their order.
    with threadpool_limits(1), ThreadPoolExecutor(jobs) as pool:
        try:
            for owner, answer in zip(owners, pool.map(work, tasks), strict=True):
                risks[owner].append(answer)
                advance(len(answer))
        finally:
            # After Ctrl-C only the batches in hand are waited for.
            pool.shutdown(cancel_futures=True)
    return [np.concatenate(parts) for parts in risks]


def draw_covariances(experiment: Experiment, random: np.random.Generator, replicates: int) -> Array:
    r"""Return sample covariances :math:`S_n = X^\top X / n` of rows :math:`x = \Sigma^{1/2} z`.

    The mean is known to be zero and is not estimated, as in the paper. The square root is applied to
    :math:`Z^\top Z / n`, which is small, not to the rows.
    """
    p = experiment.population.n_features
    Z = LAWS[experiment.law].draw(random, (replicates, experiment.n, p))
    vectors = experiment.population.eigenvectors
    root = (vectors * np.sqrt(experiment.population.eigenvalues)) @ vectors.T
    return root @ (np.swapaxes(Z, 1, 2) @ Z / experiment.n) @ root


def attenuated_excess_risks(covariances: Array, population: Population, strengths: Array) -> Array:
    r"""Return :math:`\operatorname{tr}\{\Sigma (P_* - \hat P_\alpha)\}` of every sample at every strength.

    Parameters
    ----------
    covariances : ndarray of shape (replicates, p, p)
        Sample covariances.
    population : Population
        Covariance and rank.
    strengths : ndarray of shape (n_strengths,)
        Strengths.

    Returns
    -------
    ndarray of shape (replicates, n_strengths)
    """
    if population.n_features == 2:
        return _bivariate_excess_risks(covariances, population, strengths)
    d = population.n_components
    diagonals = covariances * np.eye(population.n_features)
    attenuated = covariances[:, None] - strengths[:, None, None] * diagonals[:, None]
    frames = np.linalg.eigh(attenuated)[1][..., -d:]
    retained = np.sum(frames * (population.covariance @ frames), axis=(-2, -1))
    return population.eigenvalues[:d].sum() - retained


def _bivariate_excess_risks(covariances: Array, population: Population, strengths: Array) -> Array:
    r"""Two coordinates: the leading direction is at half the angle of (s_11 - s_22, 2 s_12).

    Attenuation shrinks the first of the two by :math:`1 - \alpha`, and a direction off the target by an angle
    :math:`\delta` costs :math:`(\lambda_1 - \lambda_2) \sin^2 \delta`.
    """
    differences = covariances[:, 0, 0] - covariances[:, 1, 1]
    directions = np.arctan2(2 * covariances[:, :1, 1], np.outer(differences, 1 - strengths)) / 2
    sigma = population.covariance
    target = np.arctan2(2 * sigma[0, 1], sigma[0, 0] - sigma[1, 1]) / 2
    return population.gap * np.sin(directions - target) ** 2
