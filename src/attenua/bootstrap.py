"""How stable components are: what other samples of rows would give, by the bootstrap."""

import numbers
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import norm
from sklearn.base import clone

from attenua._correct.registry import CORRECTIONS, Strengths, prepared
from attenua._data.checks import checked_count, checked_random
from attenua._data.folds import checked_groups
from attenua._data.moments import Moments
from attenua._data.opening import FitData, check_in_memory, checked_rows
from attenua._estimate.html import result_html
from attenua._estimate.parameter_types import HasFit, RandomState
from attenua._estimate.words import capitalised, listed
from attenua._select.election import average_of_choices
from attenua._select.progress import in_parts
from attenua._select.rank import resolve_rank
from attenua._select.resampling import (
    HOLDS,
    LARGEST_ANGLE,
    Block,
    angles_of_components,
    angles_of_leading,
    blocks_of,
    draw_units,
    matched,
)
from attenua.attenuation import AttenuatedPCA, AttenuatedPCACV
from attenua.corrected import CorrectedPCA, CorrectedPCACV

Array = NDArray[np.float64]

_FEWEST_UNITS = 5
_FEWEST_SAMPLES = 20
# Components that are orthonormal but for rounding, single precision included.
_ORTHONORMAL = 1e-4


@dataclass(frozen=True)
class Stability:
    r"""How far the components of bootstrap samples are from those of the fit, from :func:`stability`.

    Attributes
    ----------
    components : ndarray of shape (n_components, n_features)
        Those of the fit, :math:`u_k`: what the intervals are around.
    errors : ndarray of shape (n_components, n_features)
        Standard errors of their loadings, :math:`\{B^{-1} \sum_b (u^*_{kj} - u_{kj})^2\}^{1/2}` over the
        components :math:`u^*` of B bootstrap samples, each in the order and with the signs of the fit.
    angles : ndarray of shape (n_boot, n_components)
        Angle of each component to that of the fit, in degrees.
    leading_angles : ndarray of shape (n_boot, n_components)
        Largest principal angle between the first m components of a sample and of the fit, in degrees. The
        last column is that of the whole subspace.
    swapped : ndarray of shape (n_components,)
        Part of the samples in which a component was found at another place.
    explained_variance_ratio : ndarray of shape (n_components,)
        Part of the variance that each explains.
    feature_names : list of str
        Names of the columns.
    level : float
        Of the intervals.
    """

    components: Array
    errors: Array
    angles: Array = field(repr=False)
    leading_angles: Array = field(repr=False)
    swapped: Array
    explained_variance_ratio: Array
    feature_names: list[str] = field(repr=False)
    level: float

    @property
    def intervals(self) -> tuple[Array, Array]:
        r"""Lower and upper ends of the loadings: :math:`u_{kj} \pm z \, \mathrm{se}_{kj}`, within 1.

        Those of a component that is not stable singly say little: another sample has another component.
        """
        half = norm.ppf((1 + self.level) / 2) * self.errors
        return np.maximum(self.components - half, -1.0), np.minimum(self.components + half, 1.0)

    @property
    def angle_limits(self) -> Array:
        """Angle in degrees that each component stays below in a part `level` of the samples."""
        return np.quantile(self.angles, self.level, axis=0)

    @property
    def leading_limits(self) -> Array:
        """The same of the first m components together; the last is that of the whole subspace."""
        return np.quantile(self.leading_angles, self.level, axis=0)

    @property
    def blocks(self) -> list[Block]:
        r"""What can be read singly, what only together, and what not at all: ``(first, last, is_stable)``.

        The cut after m components holds if the first m turn little in nearly all samples,

        .. math::

            \frac1B \#\Bigl\{b : \tan \theta_m^{(b)} \le \tfrac12\Bigr\} \ge 0.95, \qquad
            \cos \theta_m^{(b)} = \sigma_{\min}(U_m U_m^{*(b)\top}),

        with the first m components in the rows of :math:`U_m`. Components between two cuts that hold are one
        block. What follows the last of them is not stable. Of two components with equal variances the
        bootstrap tells about 5% apart.
        """
        return blocks_of(self.leading_angles)

    @property
    def sentence(self) -> str:
        """The answer in words; what is not stable may turn by any angle, so no limit of it is given."""
        words = _blocks_in_words(self.blocks)
        holds = max((block.last for block in self.blocks if block.is_stable), default=0)
        if not holds:
            return words
        turn = "The first turns" if holds == 1 else f"The first {holds} together turn"
        if holds == len(self.components):
            turn = "The whole subspace turns"
        limit = f"{self.leading_limits[holds - 1]:.0f} degrees in {self.level:.0%} of the bootstrap samples"
        return f"{words} {turn} by less than {limit}."

    def __str__(self) -> str:
        return self.sentence

    def plot(self, ax: Any = None) -> Any:
        """Draw the angles, and the loadings with error bars, as :func:`attenua.pictures.stability` does.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of them, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        ndarray of matplotlib Axes
        """
        from attenua import pictures

        return pictures.stability(self, ax)

    def _repr_html_(self) -> str:
        """Show it in a notebook."""
        readings = [_reading(block) for block in self.blocks for _ in range(block.first, block.last + 1)]
        middle = np.median(self.angles, axis=0)
        columns = (
            self.explained_variance_ratio,
            middle,
            self.angle_limits,
            self.leading_limits,
            self.swapped,
        )
        return result_html(
            self.sentence,
            [
                ("bootstrap samples", f"{len(self.angles)}"),
                ("a cut holds", f"at up to {LARGEST_ANGLE:.0f} degrees in {HOLDS:.0%} of them"),
            ],
            ["component", "variance", "turn, median", "limit", "of the first m", "swapped", "read it"],
            [
                (k + 1, f"{part:.1%}", f"{turn:.0f}°", f"{most:.0f}°", f"{first:.0f}°", f"{moved:.0%}", words)
                for k, (part, turn, most, first, moved, words) in enumerate(
                    zip(*columns, readings, strict=True)
                )
            ],
        )


def stability(
    X: Any,
    estimator: float | HasFit,
    *,
    groups: ArrayLike | None = None,
    n_boot: int = 200,
    level: float = 0.95,
    random_state: RandomState = None,
    advance: Callable[[], object] | None = None,
) -> Stability:
    r"""Say how stable components are: which can be read singly, and error bars of their loadings.

    Rows, or whole groups of them, are drawn with replacement `n_boot` times. Each sample is fitted again. Its
    components are matched to those of the fit by their absolute cosines, and get their signs. They are not
    turned: if components change from sample to sample, this shows.

    Strengths are chosen once, by all rows, and held in the samples. To choose them again in every sample
    takes some ten times as long and changes the intervals by little. The guide page "How stable the
    components are, and what more rows bring" has the numbers, and how often the intervals hold what they
    should.

    Parameters
    ----------
    X : array-like, sparse matrix, data frame or Arrow table of shape (n_samples, n_features)
        Rows in memory. Cells may be missing (NaN) where the estimator takes them.
    estimator : int, float or estimator
        The number of components of a :class:`CorrectedPCACV`, or an estimator with orthonormal
        ``components_`` after ``fit``: one of this package, or scikit-learn's ``PCA``. It is fitted here.
    groups : array-like of shape (n_samples,), optional
        Labels of the rows, such as subjects; rows of one group are drawn together, and held out together
        where strengths are chosen.
    n_boot : int, default=200
        Bootstrap samples.
    level : float, default=0.95
        Level of the intervals.
    random_state : int, RandomState or None, default=None
        Draws the samples.
    advance : callable, default=None
        Called after every sample, for a progress bar.

    Returns
    -------
    Stability
        It prints as a sentence; its ``plot`` draws it.

    Notes
    -----
    A bootstrap sample differs from the rows about as much as the rows differ from the population, but not
    around the same centre. So intervals are centred on the fit. Where variances are equal, the fit itself is
    one of many, and no interval of its loadings holds those of the population. Nor do limits hold of what is
    not stable: samples turn less from the fit than the fit is turned from the population.

    Examples
    --------
    >>> import numpy as np
    >>> from attenua import stability
    >>> random = np.random.default_rng(0)
    >>> scores = random.standard_normal((100, 3)) * [8, 4, 4]  # two components have the same variance
    >>> X = scores @ np.linalg.qr(random.standard_normal((10, 3)))[0].T + random.standard_normal((100, 10))
    >>> print(stability(X, 3, random_state=0))  # doctest: +NORMALIZE_WHITESPACE
    Component 1 is stable; 2 and 3 are one subspace: do not read them singly. The whole subspace turns by
    less than 7 degrees in 95% of the bootstrap samples.
    """
    n_boot = checked_count(n_boot, "n_boot", _FEWEST_SAMPLES)
    if isinstance(level, bool) or not isinstance(level, numbers.Real) or not 0 < level < 1:
        raise ValueError(f"level must be a number between 0 and 1; got {level!r}.")
    random = checked_random(random_state)
    check_in_memory(X, "stability")
    fitted = fitted_once(estimator, X, groups)
    rows, again = checked_rows(fitted, X), held(fitted)
    units = checked_groups(groups, rows.shape[0])
    n_units = rows.shape[0] if units is None else int(units.max()) + 1
    if n_units < _FEWEST_UNITS:
        what = "rows" if units is None else "groups of rows"
        raise ValueError(f"X must have at least {_FEWEST_UNITS} {what} to draw from; got {n_units}.")
    components = components_of(fitted)
    squares, swaps = np.zeros_like(components), np.zeros(len(components))
    angles, leading = np.empty((2, n_boot, len(components)))
    for b in in_parts(range(n_boot), n_boot, lambda b: f"sample {b + 1} of {n_boot}"):
        drawn = draw_units(units, rows.shape[0], random)
        while len(drawn) < len(components):  # of small groups
            drawn = draw_units(units, rows.shape[0], random)
        other = again(rows[drawn])
        aligned, places = matched(components, other)
        squares += (aligned - components) ** 2
        swaps += places != np.arange(len(places))
        angles[b] = angles_of_components(components, aligned)
        leading[b] = angles_of_leading(components, other)
        if advance is not None:
            advance()
    names = getattr(fitted, "feature_names_in_", range(components.shape[1]))
    return Stability(
        components=components,
        errors=np.sqrt(squares / n_boot),
        angles=angles,
        leading_angles=leading,
        swapped=swaps / n_boot,
        explained_variance_ratio=np.asarray(fitted.explained_variance_ratio_, dtype=float),
        feature_names=[str(name) for name in names],
        level=float(level),
    )


class _HeldChoices(CorrectedPCA):
    """The average that a `CorrectedPCACV` chose, fitted to other rows."""

    _choices: dict[Strengths, float]

    def _fit_moments(self, data: FitData) -> None:
        rank = resolve_rank(self.n_components, data.moments, data.n_samples)

        def total_of(of_rows: Strengths) -> Moments:
            for name, strength in of_rows.nonzero():
                apply = CORRECTIONS[name].apply
                assert apply is not None
                (splits,) = apply(data.reweighter, [strength])
                return cast(Moments, splits.total)
            return data.moments.total

        made = prepared(vars(self), data.moments.n_features)
        average, _ = average_of_choices(self._choices, made, rank, total_of)
        self._store(data.moments.total, average, data.n_samples, data.dtype)


def held(fitted: Any) -> Callable[[Any], Array]:
    """Return what fits other rows with the strengths and the number of components of a fit."""
    n_components = int(fitted.n_components_)
    if isinstance(fitted, CorrectedPCACV):
        model: Any = _with_parameters_of(fitted, _HeldChoices())
        weights = zip(fitted.choices_, fitted.choice_weights_, strict=True)
        model._choices = {Strengths(**choice): weight for choice, weight in weights}
    elif isinstance(fitted, AttenuatedPCACV):
        model = _with_parameters_of(fitted, AttenuatedPCA(alpha=float(fitted.alpha_)))
    else:
        model = clone(fitted)
    model.set_params(n_components=n_components)

    def components(rows: Any) -> Array:
        with warnings.catch_warnings():
            # A sample has fewer different rows, so ties are to be expected.
            warnings.simplefilter("ignore")
            return components_of(model.fit(rows))

    return components


def _with_parameters_of(fitted: Any, model: Any) -> Any:
    """Return a model with the parameters that both have, but for strengths."""
    shared = fitted.get_params(deep=False).keys() & model.get_params(deep=False).keys()
    return model.set_params(**{name: getattr(fitted, name) for name in shared})


def fitted_once(estimator: Any, X: Any, groups: Any) -> Any:
    """Return an estimator, or that of a number of components, fitted to all rows."""
    if isinstance(estimator, numbers.Real) and not isinstance(estimator, bool):
        estimator = CorrectedPCACV(cast(float, estimator))
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        rows = f"rows ({type(estimator).__name__}), which come first"
        raise ValueError(
            "estimator must be a number of components, or an estimator such as CorrectedPCACV(5); got "
            f"{rows if hasattr(estimator, 'shape') else repr(estimator)}."
        )
    chooses = isinstance(estimator, (CorrectedPCACV, AttenuatedPCACV))
    fitted = clone(estimator)
    fitted.fit(X, groups=groups) if chooses else fitted.fit(X)
    vectors = getattr(fitted, "components_", None)
    vectors = None if vectors is None else np.asarray(vectors, dtype=float)
    if vectors is None or np.abs(vectors @ vectors.T - np.eye(len(vectors))).max() > _ORTHONORMAL:
        raise ValueError(
            "estimator must have orthonormal components_ after fit, as CorrectedPCACV and PCA do; got "
            f"{type(estimator).__name__}."
        )
    return fitted


def components_of(fitted: Any) -> Array:
    """Return the components of a fitted estimator."""
    return np.asarray(fitted.components_, dtype=float)


def _reading(block: Block) -> str:
    if not block.is_stable:
        return "not at all"
    return "singly" if block.is_single else f"{block.span} together"


def _blocks_in_words(blocks: list[Block]) -> str:
    """Return in a sentence which components are stable, which are one subspace, and which are not stable."""
    singles = [str(block.first) for block in blocks if block.is_stable and block.is_single]
    together = [block for block in blocks if block.is_stable and not block.is_single]
    rest = [block for block in blocks if not block.is_stable]
    if not singles and not together:
        return "No component is stable: other rows of this kind would give others."
    parts = []
    if singles:
        parts.append(f"{_named(singles)} {'is' if len(singles) == 1 else 'are'} stable")
    for block in together:
        parts.append(
            f"{'' if parts else 'components '}{block.span} are one subspace: do not read them singly"
        )
    for block in rest:
        parts.append(f"{block.span} {'is' if block.is_single else 'are'} not stable")
    return f"{capitalised(', '.join(parts[:1]) + ''.join(f'; {part}' for part in parts[1:]))}."


def _named(numbers: list[str]) -> str:
    """Return the numbers of single components in words, long runs as a span."""
    if len(numbers) == 1:
        return f"component {numbers[0]}"
    if len(numbers) > 2 and int(numbers[-1]) - int(numbers[0]) == len(numbers) - 1:
        return f"components {numbers[0]} to {numbers[-1]}"
    return f"components {listed(numbers)}"
