"""Laws of the rows: the noise of their covariance, with or without row tempering, and drawn rows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainccinv, gammaincinv, gammaln, polygamma
from sklearn.utils import check_random_state

from attenua._data.checks import real_numbers
from attenua.theory._checks import INPUT_TOLERANCE, as_matrix, as_rows
from attenua.theory.cutoff import Array
from attenua.theory.noise import RowNoise, RowTerms, row_pair_moments, shortened_gaussian

# Distance of the nodes of the rule for the lengths of rows, where pairs are weighed, and what it leaves out.
_MIXING_SPACING, _MIXING_LEFT_OUT = 0.8, 1e-5
# Logarithms of lengths beyond this would overflow; only laws that barely have the moment reach it.
_LARGEST_LOG = 600.0
# Half the degrees of freedom above which a t law is nearly Gaussian.
_MANY_DEGREES = 1e4
# Parts of fourth moments that are left out.
_NEGLIGIBLE = 1e-13
# Matrices that differ by less than this part of the largest entry are the same moments.
_MOMENT_TOLERANCE = 1e-8
# Squared mean of rows, in units of its squared error, from which on they cannot be rows of mean 0.
_FAR_FROM_0 = 100.0


class Law(ABC):
    r"""A law of rows of mean 0: the second moments of :math:`y y^\top` for any covariance."""

    @abstractmethod
    def noise(
        self, covariance: Array, row_tempering: float = 0.0, unit: float = 1.0, row_pairs: bool = False
    ) -> RowNoise:
        r"""Return mean and second moments of :math:`y y^\top`.

        The scale of y is free, since no leading subspace depends on it: with row tempering the trace is kept.

        Parameters
        ----------
        covariance : ndarray of shape (p, p)
            Covariance of x, divided by `unit`.
        row_tempering : float, default=0.0
            :math:`\kappa`.
        unit : float, default=1.0
            What the moments are divided by as well; it matters to laws that are given as numbers.
        row_pairs : bool, default=False
            Whether row tempering is of pairs of rows; then y y' is the part that one row adds to their mean.
        """

    def can_temper_rows(self, row_pairs: bool = False) -> bool:
        """Whether the law has moments of row tempering, of pairs of rows or of single ones."""
        return False

    @property
    def can_draw(self) -> bool:
        """Whether rows can be drawn."""
        return False

    def draw(self, random: Any, n: int, root: Array) -> Array:
        """Draw rows, with a symmetric square root of their covariance."""
        raise ValueError(f"rows cannot be drawn from a law that is given as {type(self).__name__}.")


class Elliptical(Law):
    r"""Rows :math:`\sqrt\tau\, g` with Gaussian g and independent :math:`\tau \ge 0`."""

    def can_temper_rows(self, row_pairs: bool = False) -> bool:
        """Return True."""
        return True

    @property
    def can_draw(self) -> bool:
        """Return True."""
        return True

    @abstractmethod
    def tail_factor(self, power: float) -> float:
        r"""Return :math:`E[\tau^{2s}] / (E[\tau^s])^2` for a power s from 0 to 1; infinity if it is."""

    @abstractmethod
    def mixing(self, power: float) -> tuple[Array, Array]:
        r"""Return values of :math:`\tau` and their weights, good for means of :math:`\tau^{2s}`."""

    @abstractmethod
    def _lengths(self, random: Any, n: int) -> Any:
        r"""Draw :math:`\sqrt\tau` for every row."""

    def draw(self, random: Any, n: int, root: Array) -> Array:
        """Draw rows, with a symmetric square root of their covariance."""
        lengths = self._lengths(random, n)
        return lengths * (random.standard_normal((n, len(root))) @ root)

    def noise(
        self, covariance: Array, row_tempering: float = 0.0, unit: float = 1.0, row_pairs: bool = False
    ) -> RowNoise:
        """Return mean and second moments; sums of Gaussian ones."""
        power = 1 - row_tempering
        factor = self.tail_factor(power)
        if row_tempering == 0:
            if not np.isfinite(factor):
                return RowNoise(covariance, is_finite=False)
            excess = ((factor - 1, covariance),) if factor != 1 else ()
            return RowNoise(covariance, crossed=((factor, covariance),), matrices=excess)
        values, vectors = np.linalg.eigh(covariance)
        values = np.clip(values, 0, None)
        varies = np.diag(covariance) > 0

        def matrix(profile: Array) -> Array:
            # Rounding must not give a column a variance that it does not have: tempering would see it.
            return np.where(np.outer(varies, varies), (vectors * profile) @ vectors.T, 0.0)

        if not np.isfinite(factor):
            return RowNoise(matrix(shortened_gaussian(values, row_tempering)[0]), is_finite=False)
        if row_pairs:
            mean, crossed, (weights, straight) = row_pair_moments(values, row_tempering, self.mixing(power))
            matrices = tuple(zip(weights.tolist(), map(matrix, straight), strict=True))
            return RowNoise(matrix(mean), tuple((1.0, matrix(some)) for some in crossed), matrices)
        second, fourth = shortened_gaussian(values, row_tempering)
        weighted = tuple((factor, matrix(profile)) for profile in fourth)
        return RowNoise(matrix(second), weighted, (*weighted, (-1.0, matrix(second))))


@dataclass(frozen=True)
class Gaussian(Elliptical):
    """Gaussian rows."""

    def tail_factor(self, power: float) -> float:
        """Return 1: no row is longer than another but by chance."""
        return 1.0

    def mixing(self, power: float) -> tuple[Array, Array]:
        """Return one value."""
        return np.ones(1), np.ones(1)

    def _lengths(self, random: Any, n: int) -> Any:
        return 1.0


@dataclass(frozen=True)
class StudentT(Elliptical):
    r"""Multivariate t: :math:`\tau = \nu / \chi^2_\nu`, scaled to the covariance where there is one.

    With 2 degrees of freedom or fewer there is no covariance, and the matrix given instead is a multiple
    of the scatter matrix. The noise is finite where :math:`\nu > 4 (1 - \kappa)`: with 4 or fewer, PCA's risk
    falls more slowly than 1/n, and row tempering repairs that.

    Parameters
    ----------
    degrees_of_freedom : float
        :math:`\nu > 0`.
    """

    degrees_of_freedom: float

    def __post_init__(self) -> None:
        df = self.degrees_of_freedom
        if not isinstance(df, Real) or not 0 < df < np.inf:
            raise ValueError(f"degrees_of_freedom must be a positive, finite number; got {df!r}.")

    def tail_factor(self, power: float) -> float:
        r"""Return :math:`\Gamma(\nu/2 - 2s) \Gamma(\nu/2) / \Gamma(\nu/2 - s)^2`."""
        half = self.degrees_of_freedom / 2
        if half <= 2 * power:
            return np.inf
        if half > _MANY_DEGREES:  # a second difference, whose terms would cancel
            return float(np.exp(power**2 * polygamma(1, half - power)))
        return float(np.exp(gammaln(half - 2 * power) + gammaln(half) - 2 * gammaln(half - power)))

    def mixing(self, power: float) -> tuple[Array, Array]:
        r"""Return equally spaced logarithms of :math:`1 / \chi^2_\nu`, up to scale, and their weights.

        For a density that falls exponentially in the logarithm this rule has an error that does, too, in the
        number of its nodes for each standard deviation.
        """
        half = self.degrees_of_freedom / 2
        spacing = _MIXING_SPACING * min(1.0, 1.75 * float(polygamma(1, half)) ** 0.5)
        # From the most likely value: down to what the law leaves out, up to what its moment does.
        least = np.log(half / gammainccinv(half, _MIXING_LEFT_OUT / 100))
        shortest = gammaincinv(half - 2 * power, _MIXING_LEFT_OUT) / half
        most = -np.log(max(shortest, np.exp(-_LARGEST_LOG)))
        logs = np.arange(least, most + spacing, spacing)
        weights = np.exp(-half * (logs + np.expm1(-logs)))
        return np.exp(logs), weights / weights.sum()

    def _lengths(self, random: Any, n: int) -> Any:
        nu = self.degrees_of_freedom
        return np.sqrt((nu - 2 if nu > 2 else nu) / random.chisquare(nu, (n, 1)))


@dataclass(frozen=True)
class ContaminatedNormal(Elliptical):
    """Gaussian rows of which a part is longer, all of one covariance matrix up to scale.

    Parameters
    ----------
    fraction : float
        Part of the rows that are longer, between 0 and 1.
    scale : float
        How many times longer, positive.
    """

    fraction: float
    scale: float

    def __post_init__(self) -> None:
        if not 0 <= self.fraction <= 1:
            raise ValueError(f"fraction must lie between 0 and 1; got {self.fraction!r}.")
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"scale must be positive and finite; got {self.scale!r}.")

    def _mean_power(self, power: float) -> float:
        return 1 - self.fraction + self.fraction * self.scale ** (2 * power)

    def tail_factor(self, power: float) -> float:
        r"""Return it from :math:`E[\tau^s] \propto 1 - f + f c^{2s}`, fraction f and scale c."""
        return self._mean_power(2 * power) / self._mean_power(power) ** 2

    def mixing(self, power: float) -> tuple[Array, Array]:
        """Return the two squared lengths."""
        kept = np.array([self.fraction < 1, self.fraction > 0])
        return np.array([1.0, self.scale**2])[kept], np.array([1 - self.fraction, self.fraction])[kept]

    def _lengths(self, random: Any, n: int) -> Any:
        lengths = np.where(random.uniform(size=(n, 1)) < self.fraction, self.scale, 1.0)
        return lengths / np.sqrt(self._mean_power(1))


@dataclass(frozen=True)
class LatentCoordinates(Law):
    r"""Rows :math:`x = \Sigma^{1/2} z` with independent coordinates z of one law, as in the paper.

    Parameters
    ----------
    kurtosis : float
        Excess kurtosis :math:`E[z^4] - 3` of a coordinate, at least -2.
    draw_latent : callable, default=None
        Draws coordinates of mean 0 and variance 1: takes a numpy random state and a size.
    """

    kurtosis: float
    draw_latent: Callable[[Any, Any], Array] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not (np.isfinite(self.kurtosis) and self.kurtosis >= -2):
            raise ValueError(f"kurtosis must be finite and at least -2; got {self.kurtosis!r}.")

    def noise(
        self, covariance: Array, row_tempering: float = 0.0, unit: float = 1.0, row_pairs: bool = False
    ) -> RowNoise:
        r"""Return Gaussian moments, and the kurtosis times those of the columns of :math:`\Sigma^{1/2}`."""
        if row_tempering:
            raise ValueError(
                "row_tempering needs an elliptical law (Gaussian, StudentT, ContaminatedNormal) or rows: "
                "draw some with draw_rows and give them as law."
            )
        crossed = ((1.0, covariance),)
        if not self.kurtosis:
            return RowNoise(covariance, crossed)
        rows = RowTerms(square_root(covariance), self.kurtosis, np.zeros_like(covariance))
        return RowNoise(covariance, crossed, rows=rows)

    @property
    def can_draw(self) -> bool:
        """Return whether there is a function that draws coordinates."""
        return self.draw_latent is not None

    def draw(self, random: Any, n: int, root: Array) -> Array:
        """Draw rows, with a symmetric square root of their covariance."""
        if self.draw_latent is None:
            return super().draw(random, n, root)
        return self.draw_latent(random, (n, len(root))) @ root


class FourthMoments(Law):
    r"""A law given by its fourth moments :math:`E[x_a x_b x_c x_d]`, for few columns.

    Parameters
    ----------
    moments : array-like of shape (p, p, p, p)
        Fourth moments, the same for every order of the four indices.
    """

    def __init__(self, moments: ArrayLike) -> None:
        self.moments = real_numbers(moments, "moments must be an array of real numbers")
        if self.moments.ndim != 4 or len(set(self.moments.shape)) != 1 or self.moments.size == 0:
            raise ValueError(f"moments must have shape (p, p, p, p); got {self.moments.shape}.")
        largest = np.abs(self.moments).max()
        for order in ((1, 0, 2, 3), (2, 1, 0, 3), (3, 1, 2, 0)):
            if not np.abs(self.moments - self.moments.transpose(order)).max() <= _MOMENT_TOLERANCE * largest:
                raise ValueError("moments must be finite and the same for every order of the four indices.")

    def __repr__(self) -> str:
        return f"FourthMoments(<{len(self.moments)} columns>)"

    def noise(
        self, covariance: Array, row_tempering: float = 0.0, unit: float = 1.0, row_pairs: bool = False
    ) -> RowNoise:
        """Return the moments given, less those of the mean, as products of matrices."""
        if row_tempering:
            raise ValueError("row_tempering needs an elliptical law or rows, not fourth moments alone.")
        p = len(covariance)
        if len(self.moments) != p:
            raise ValueError(f"moments must have {p} values along each axis; got {len(self.moments)}.")
        flat = self.moments.reshape(p * p, p * p) / unit / unit - np.outer(covariance, covariance)
        values, vectors = np.linalg.eigh((flat + flat.T) / 2)
        kept = np.abs(values) > _NEGLIGIBLE * np.abs(values).max(initial=0.0)
        matrices = zip(values[kept].tolist(), vectors.T[kept].reshape(-1, p, p), strict=True)
        return RowNoise(covariance, matrices=tuple(matrices))


class Rows(Law):
    """The law of some rows of mean 0: their moments, as they are, for any row tempering.

    Parameters
    ----------
    rows : array-like of shape (m, p)
        Rows of mean 0; the more there are, the better they represent a law. With row tempering the bias is
        that of their own second moments, and hundreds of thousands may be needed where the target moves.
    """

    def __init__(self, rows: ArrayLike) -> None:
        self.rows = as_rows(rows, name="law").copy()
        unitless = self.rows / (np.abs(self.rows).max() or 1.0)
        count, second = len(unitless), np.mean(unitless**2, axis=0).sum()
        from_mean = np.sum(np.mean(unitless, axis=0) ** 2)
        # A squared t statistic, with a bound that no ten rows of mean 0 pass by chance.
        if count >= 10 and (count - 1) * from_mean > _FAR_FROM_0 * (second - from_mean):
            raise ValueError("law must hold rows of mean 0, and these are far from it; take off their mean.")

    def can_temper_rows(self, row_pairs: bool = False) -> bool:
        """Return whether it is of single rows."""
        return not row_pairs

    def __repr__(self) -> str:
        return "Rows(<{} rows of {} columns>)".format(*self.rows.shape)

    def noise(
        self, covariance: Array, row_tempering: float = 0.0, unit: float = 1.0, row_pairs: bool = False
    ) -> RowNoise:
        """Return the moments of the rows, shortened by row tempering."""
        if self.rows.shape[1] != len(covariance):
            raise ValueError(
                f"law must hold rows of {len(covariance)} features; got shape {self.rows.shape}."
            )
        if row_pairs and row_tempering:
            raise ValueError("pairs of rows need an elliptical law (Gaussian, StudentT, ContaminatedNormal).")
        rows, second = self.rows / np.sqrt(unit), covariance
        if row_tempering:
            lengths = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = rows * np.where(lengths > 0, lengths, np.inf) ** -row_tempering
            second = rows.T @ rows / len(rows)
            if not second.any():
                raise ValueError("row_tempering needs rows that are not all 0.")
            scale = np.trace(covariance) / np.trace(second)
            rows, second = rows * np.sqrt(scale), second * scale
        return RowNoise(second, rows=RowTerms(rows, 1 / len(rows), second))


LATENT_LAWS = {
    "gaussian": LatentCoordinates(0.0, lambda random, size: random.standard_normal(size)),
    "t10": LatentCoordinates(1.0, lambda random, size: random.standard_t(10, size) * np.sqrt(8 / 10)),
    "exponential": LatentCoordinates(6.0, lambda random, size: random.standard_exponential(size) - 1),
}


def as_law(law: Any) -> Law:
    """Return a law from a law, the name of one, or rows."""
    if isinstance(law, Law):
        return law
    if isinstance(law, str):
        if law == "gaussian":
            return Gaussian()
        if law in LATENT_LAWS:
            return LATENT_LAWS[law]
        raise ValueError(f"law must be one of {', '.join(map(repr, LATENT_LAWS))}; got {law!r}.")
    if np.ndim(law) == 2:
        return Rows(law)
    raise ValueError(f"law must be a name, a law or an array of rows; got {law!r}.")


def square_root(covariance: Array) -> Array:
    """Return the symmetric square root of a covariance; negative eigenvalues count as 0.

    A column without variance stays exactly 0.
    """
    values, vectors = np.linalg.eigh(covariance)
    varies = np.diag(covariance) > 0
    root = (vectors * np.sqrt(np.clip(values, 0, None))) @ vectors.T
    return np.where(np.outer(varies, varies), root, 0.0)


def draw_rows(covariance: ArrayLike, n: int, *, law: Any = "gaussian", random_state: Any = None) -> Array:
    r"""Draw `n` rows of mean 0.

    Parameters
    ----------
    covariance : array-like of shape (p, p)
        :math:`\Sigma`; its symmetric square root is used, as in the paper.
    n : int
        Number of rows.
    law : {"gaussian", "t10", "exponential"} or law, default="gaussian"
        A name: rows :math:`\Sigma^{1/2} z` with independent coordinates z that are normal, Student t with 10
        degrees of freedom scaled to variance 1, or exponential centred to mean 0. Or a law, such as
        :class:`StudentT`.
    random_state : int, RandomState or None
        Seed or generator, as in scikit-learn.

    Returns
    -------
    ndarray of shape (n, p)

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import StudentT, draw_rows
    >>> draw_rows(np.eye(3), 5, law=StudentT(4), random_state=0).shape
    (5, 3)
    """
    return next(draw_batches(covariance, n, batch_size=n, law=law, random_state=random_state))


def draw_batches(
    covariance: ArrayLike,
    n: int,
    *,
    batch_size: int = 10_000,
    law: Any = "gaussian",
    random_state: Any = None,
) -> Iterator[Array]:
    """Yield the rows of `draw_rows` in batches of at most `batch_size`, never holding more than one.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua.theory import draw_batches
    >>> [len(batch) for batch in draw_batches(np.eye(3), 25, batch_size=10, random_state=0)]
    [10, 10, 5]
    """
    law = as_law(law)
    for name, count in (("n", n), ("batch_size", batch_size)):
        if count < 1:
            raise ValueError(f"{name} must be at least 1; got {count!r}.")
    sigma = as_matrix(covariance, "covariance")
    values = np.linalg.eigvalsh(sigma)
    if values[0] < -INPUT_TOLERANCE * np.abs(values).max():
        raise ValueError(f"covariance must have no negative eigenvalue; its smallest is {values[0]:g}.")
    root, random = square_root(sigma), check_random_state(random_state)
    return (law.draw(random, min(batch_size, n - start), root) for start in range(0, n, batch_size))
