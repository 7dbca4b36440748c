"""The expected excess risk of any estimator, by fitting it to drawn samples."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from attenua_paper.theory.checks import Array
from attenua_paper.theory.laws import square_root
from attenua_paper.theory.population import Population
from attenua_paper.theory.spectrum import excess_risk


class ExpectedRisk(NamedTuple):
    """A mean over drawn samples, and its standard error.

    Attributes
    ----------
    mean, standard_error : float
        Of the excess risk.
    risks : ndarray of shape (repeats,)
        Excess risk of every fit. The same seed draws the same samples, so that the risks of two estimators
        can be compared one by one.
    """

    mean: float
    standard_error: float
    risks: Array


def expected_risk(
    population: Population, estimator: Any, n: int, repeats: int = 200, random_state: Any = None
) -> ExpectedRisk:
    r"""Return the mean of :math:`\operatorname{tr}\{\Sigma (P_* - \hat P)\}` over fits to drawn samples.

    Where the expansion in 1/n of :meth:`Population.excess_risk` is for attenuation and many rows, this is for
    any estimator and any number of rows.

    Parameters
    ----------
    population : Population
        Where samples come from: covariance, rank and law.
    estimator : estimator
        Has ``components_`` after ``fit``, as many as the rank of the population; it is cloned.
    n : int
        Rows of a sample.
    repeats : int, default=200
        Number of samples, at least 2.
    random_state : int, RandomState or None
        Seed or generator of the samples.

    Returns
    -------
    ExpectedRisk

    Examples
    --------
    >>> import numpy as np
    >>> from attenua import AttenuatedPCA
    >>> from attenua_paper.theory import Population, expected_risk
    >>> population = Population(np.eye(4) + np.ones((4, 4)), n_components=1)
    >>> found = expected_risk(population, AttenuatedPCA(1, alpha=0.5), n=200, repeats=100, random_state=0)
    >>> print(f"{found.mean:.4f} +- {found.standard_error:.4f}; {population.excess_risk(199, 0.5):.4f}")
    0.0113 +- 0.0009; 0.0108
    """
    if repeats < 2:
        raise ValueError(f"repeats must be at least 2, for a standard error; got {repeats!r}.")
    random, root, risks = check_random_state(random_state), square_root(population.covariance), []
    for _ in range(repeats):
        rows = population.law.draw(random, (n, population.n_features)) @ root
        components = clone(estimator).fit(rows).components_
        if len(components) != population.n_components:
            raise ValueError(
                f"estimator has {len(components)} components; the population's rank is "
                f"{population.n_components}."
            )
        frame = np.linalg.qr(np.asarray(components, dtype=float).T)[0]
        risks.append(excess_risk(population.cutoff, frame))
    found = np.array(risks)
    return ExpectedRisk(float(found.mean()), float(found.std(ddof=1) / np.sqrt(repeats)), found)
