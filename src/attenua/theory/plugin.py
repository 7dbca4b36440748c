"""The theory at a sample covariance: a plug-in report, and how far to trust it."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua._correct.registry import Strengths
from attenua._data.checks import checked_random
from attenua._estimate.html import result_html
from attenua.theory._checks import as_rank, as_rows, as_strengths
from attenua.theory.cutoff import Array, excess_risk, threads_for
from attenua.theory.geometry import default_strengths, upper_end
from attenua.theory.laws import as_law
from attenua.theory.population import Population

_TRUST = """\
What this is worth: to order 1/n the formulas hold for a Gaussian population that has this sample
covariance. Of the population behind the data they are an estimate, and not a sharp one. Sample
eigenvalues are more spread than the population's, and a sample covariance never has exactly balanced
marginals or a preserved target: even where the true bias is zero the plug-in bias is of order 1/n, the
order of the saving it is weighed against, and more rows do not make that comparison clean. So a plug-in
tends to understate attenuation. Let held-out rows choose the strength; use this report to understand the
choice."""


@dataclass(frozen=True)
class Bootstrap:
    r"""Parametric bootstrap of a plug-in curve: samples of the same size from the plug-in population.

    Attributes
    ----------
    curves : ndarray of shape (n_bootstrap, n_strengths)
        The plug-in risk curve of every bootstrap sample.
    risks : ndarray of shape (n_bootstrap, n_strengths)
        The exact excess risk, in the plug-in population, of the subspaces fitted to every bootstrap sample.
    """

    curves: Array
    risks: Array

    @property
    def simulated_risk(self) -> Array:
        """Expected excess risk in the plug-in population by simulation: free of the 1/n expansion."""
        return self.risks.mean(axis=0)

    @property
    def simulated_error(self) -> Array:
        """Standard error of `simulated_risk`."""
        return self.risks.std(axis=0, ddof=1) / np.sqrt(len(self.risks))


@dataclass(frozen=True)
class PlugInReport:
    r"""The risk theory evaluated at a sample covariance.

    Attributes
    ----------
    population : Population
        The plug-in population: sample covariance (divisor ``n - 1``) and rank.
    n : int
        Sample size of the theory, the number of rows less one for the estimated mean.
    alphas : ndarray of shape (n_strengths,)
        Strengths.
    bias, sampling : ndarray of shape (n_strengths,)
        Plug-in :math:`B_{pop}(\alpha)` and :math:`K(\alpha) / n`.
    bootstrap : Bootstrap or None
        Bootstrap of the curve; None for ``n_bootstrap=0``.
    level : float
        Level of `band`.
    fitted_alpha : float or None
        Strength of the estimator the report was made for.
    """

    population: Population
    n: int
    alphas: Array
    bias: Array
    sampling: Array
    bootstrap: Bootstrap | None = field(repr=False)
    level: float
    fitted_alpha: float | None = None

    @property
    def risk(self) -> Array:
        """Plug-in expected excess risk: `bias` + `sampling`."""
        return self.bias + self.sampling

    @property
    def band(self) -> tuple[Array, Array]:
        r"""Lower and upper end, at each strength, of the bootstrap interval for the risk curve.

        Bootstrap curves relate to the plug-in curve as the plug-in curve relates to the population's. The
        interval therefore turns the bootstrap quantiles round the plug-in on a logarithmic scale,
        :math:`r^2 / q_{hi}` to :math:`r^2 / q_{lo}`, which also corrects a proportional bias (the quantiles
        themselves do not: they inherit the bias twice). Where curves are not positive, because the expansion
        fails, the interval is open: down to 0, or up to infinity.
        """
        if self.bootstrap is None:
            raise ValueError("The report has no bootstrap; ask for one with n_bootstrap.")
        tail = (1 - self.level) / 2
        low, high = np.quantile(self.bootstrap.curves, [tail, 1 - tail], axis=0)
        usable = self.risk > 0
        risk = np.where(usable, self.risk, 1.0)
        lower = np.divide(risk, high, out=np.zeros_like(high), where=usable & (high > 0))
        upper = np.divide(risk, low, out=np.full_like(low, np.inf), where=usable & (low > 0))
        return risk * lower, risk * upper  # no squares, which would overflow first

    def oracle(self, path: str = "direct") -> float:
        """Return the strength of `alphas` with the smallest plug-in risk on a path."""
        inside = self.alphas <= upper_end(path)
        if not inside.any():
            raise ValueError("alphas must hold at least one strength of the path, at most 0.5.")
        return float(self.alphas[inside][np.argmin(self.risk[inside])])

    @property
    def trust(self) -> str:
        """What a plug-in is worth, in words, with this report's own figures where it has a bootstrap."""
        if self.bootstrap is None:
            return _TRUST
        best = int(np.argmin(self.risk))
        drift = np.median(self.bootstrap.curves[:, best]) / self.risk[best] - 1
        expansion = self.risk[best] / self.bootstrap.simulated_risk[best] - 1
        chosen = self.alphas[np.argmin(self.bootstrap.curves, axis=1)]
        low, high = np.quantile(chosen, [0.1, 0.9])
        return (
            f"{_TRUST}\nHere, for samples of this size from the plug-in population: the plug-in curve at "
            f"alpha = {self.alphas[best]:g} has a median {drift:+.0%} off the one it estimates, the plug-in "
            f"oracle falls between {low:g} and {high:g} in four samples of five, and the order-1/n formula "
            f"is {expansion:+.0%} off the simulated risk."
        )

    def _repr_html_(self) -> str:
        """Show the report in a notebook."""
        base = self.population.excess_risk(self.n)
        low, high = self.band if self.bootstrap is not None else (np.full_like(self.risk, np.nan),) * 2
        columns = zip(self.alphas, self.bias, self.sampling, self.risk, low, high, strict=True)
        given = "" if self.fitted_alpha is None else f"{self.fitted_alpha:g}"
        return result_html(
            "Plug-in risk theory",
            [
                ("features, rank", f"{self.population.n_features}, {self.population.n_components}"),
                ("n", f"{self.n} (rows less one for the mean)"),
                ("smallest risk at", f"alpha = {self.oracle():g}; in the mask range {self.oracle('mask'):g}"),
                *([("fitted with", f"alpha = {given}")] if given else []),
                ("trust", "an estimate, not a sharp one: see .trust"),
            ],
            ["alpha", "bias", "sampling", "risk", "vs PCA, %", "low", "high"],
            [
                (
                    *(f"{value:.4g}" for value in (a, b, s, r)),
                    f"{100 * (r / base - 1):+.1f}",
                    *(f"{end:.4g}" if np.isfinite(end) else "" for end in (lo, hi)),
                )
                for a, b, s, r, lo, hi in columns
            ],
            curve=(self.alphas, self.risk, "expected excess risk against strength"),
        )

    def __str__(self) -> str:
        head = (
            f"Plug-in risk theory: {self.population.n_features} features, rank "
            f"{self.population.n_components}, n = {self.n} (rows less one for the mean)"
        )
        lines = [head, f"{'alpha':>7} {'bias':>11} {'sampling':>11} {'risk':>11} {'vs PCA':>8}"]
        base = self.population.excess_risk(self.n)
        columns = zip(self.alphas, self.bias, self.sampling, self.risk, strict=True)
        lines += [f"{a:7.3f} {b:11.4g} {s:11.4g} {r:11.4g} {r / base - 1:+8.1%}" for a, b, s, r in columns]
        lines.append(
            f"smallest risk at alpha = {self.oracle():g}; in the mask range at {self.oracle('mask'):g}"
        )
        if self.fitted_alpha is not None:
            lines.append(f"the estimator was fitted with alpha = {self.fitted_alpha:g}")
        return "\n".join([*lines, "", self.trust])


def plug_in_report(
    X: ArrayLike,
    n_components: int,
    *,
    alphas: ArrayLike | None = None,
    n_bootstrap: int = 100,
    level: float = 0.9,
    random_state: Any = None,
) -> PlugInReport:
    r"""Evaluate the risk theory at the sample covariance of `X`.

    The rows are centred, which costs one of them: the sample size of the theory is ``n - 1``.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Rows.
    n_components : int
        Rank.
    alphas : array-like, default=None
        Strengths; by default the paper's grid {0, .05, ..., 1} with .49.
    n_bootstrap : int, default=100
        Samples of the parametric bootstrap: Gaussian rows with the plug-in covariance. 0 skips it. Each costs
        as much as the report itself.
    level : float, default=0.9
        Level of the band.
    random_state : int, RandomState or None
        Seed of the bootstrap.

    Returns
    -------
    PlugInReport
        Its `trust` says in words how far to trust it; printing it prints that too.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import draw_rows, plug_in_report
    >>> X = draw_rows(np.eye(4) + np.ones((4, 4)), 100, random_state=0)
    >>> report = plug_in_report(X, 1, n_bootstrap=0)
    >>> report.n, report.risk.shape
    (99, (22,))
    """
    rows = as_rows(X)
    d, n = as_rank(n_components, rows.shape[1]), len(rows) - 1
    if n <= d:
        raise ValueError(f"X must have more than n_components + 1 = {d + 1} rows; got {len(rows)}.")
    if not 0 < level < 1:
        raise ValueError(f"level must lie strictly between 0 and 1; got {level!r}.")
    if n_bootstrap < 0 or n_bootstrap == 1:
        raise ValueError(f"n_bootstrap must be 0 or at least 2; got {n_bootstrap!r}.")
    strengths = default_strengths() if alphas is None else np.unique(as_strengths(alphas, "alphas"))
    with threads_for(rows.shape[1]):
        population = Population(np.cov(rows, rowvar=False), d)
        bias, coefficient = population._over({"attenuation": strengths}, "gaussian", population._parts).T
        bootstrap = _bootstrap(population, n, strengths, n_bootstrap, random_state) if n_bootstrap else None
    return PlugInReport(
        population=population,
        n=n,
        alphas=strengths,
        bias=bias,
        sampling=coefficient / n,
        bootstrap=bootstrap,
        level=level,
    )


def plug_in_report_for(estimator: Any, X: ArrayLike, **options: Any) -> PlugInReport:
    """Evaluate the risk theory for a fitted estimator and the rows it was fitted on.

    Parameters
    ----------
    estimator : fitted estimator
        Anything with ``n_components_`` and ``mean_``, such as `AttenuatedPCACV` or scikit-learn's PCA.
    X : array-like of shape (n, p)
        The rows it was fitted on; the estimator keeps no covariance of them.
    **options
        As for `plug_in_report`.

    Returns
    -------
    PlugInReport
        With the estimator's strength as `fitted_alpha`, where it has one.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from attenua import AttenuatedPCA
    >>> from attenua.theory import plug_in_report_for
    >>> X = load_iris().data
    >>> plug_in_report_for(AttenuatedPCA(1, alpha=0.2).fit(X), X, n_bootstrap=0).fitted_alpha
    0.2
    """
    for name in ("n_components_", "mean_"):
        if not hasattr(estimator, name):
            raise ValueError(f"estimator must be fitted and have {name}; got {type(estimator).__name__}.")
    rows = as_rows(X, len(estimator.mean_))
    if not np.allclose(rows.mean(axis=0), estimator.mean_, rtol=1e-4, atol=1e-6 * np.abs(rows).max()):
        raise ValueError("X must be the rows the estimator was fitted on; their mean is not its mean_.")
    alpha = getattr(estimator, "alpha_", getattr(estimator, "alpha", None))
    report = plug_in_report(rows, int(estimator.n_components_), **options)
    return replace(report, fitted_alpha=None if alpha is None else float(alpha))


def _bootstrap(
    population: Population, n: int, strengths: Array, repeats: int, random_state: Any
) -> Bootstrap:
    """Draw Gaussian samples of size n from the population, with all figures in its unit."""
    rng, p, d = checked_random(random_state), population.n_features, population.n_components
    at, law = population.cutoff, as_law("gaussian")
    values = np.concatenate([at.retained_values, at.omitted_values])
    root = population.eigenvectors * np.sqrt(np.clip(values, 0, None))
    curves, risks = np.empty((2, repeats, len(strengths)))
    for repeat in range(repeats):
        Z = rng.standard_normal((n, p)) @ root.T
        sample = Population(Z.T @ Z / n, d)
        for place, strength in enumerate(strengths):
            # One decomposition gives the sample's own curve and the risk of the subspace fitted to it.
            fitted = sample._corrected(Strengths(attenuation=float(strength)), law)
            curves[repeat, place] = sample._bias(fitted.cutoff) + sample._coefficient(fitted) / n
            risks[repeat, place] = excess_risk(at, fitted.cutoff.retained)
    return Bootstrap(curves * population.unit, risks * population.unit)
