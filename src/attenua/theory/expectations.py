"""What the theory expects of each correction: numbers, and the same in words."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from attenua._correct.registry import Strengths
from attenua._data.checks import real_numbers
from attenua._estimate.html import result_html
from attenua.theory._checks import as_answer
from attenua.theory.corrected_map import in_words
from attenua.theory.cutoff import Array
from attenua.theory.laws import Law
from attenua.theory.population import MANY_SMALL, Population

# A correction is worth it while some strength removes at least this share of PCA's excess risk.
WORTH = 0.01
# An expansion in 1/n does not hold for fewer rows.
_FEWEST = 10
# A bias below this part of PCA's sampling coefficient is rounding: no sample is large enough to show it.
_NO_BIAS = 1e-12
_HTML_NUMBERS = ["bias", "sampling", "gain, %", "simulated, %", "+-", "worth until n ="]


@dataclass(frozen=True)
class Expectation:
    r"""What is expected of one correction, or of all together.

    Attributes
    ----------
    correction : str
        Its name, or "together".
    strengths : Strengths
        The best ones at this sample size.
    n, bias, sampling, pca : float
        Sample size, :math:`B_{pop}` and :math:`K / n` at these strengths, and :math:`K(0) / n` of PCA.
    simulated_gain, simulated_error : float
        Share of PCA's excess risk that these strengths remove in simulated samples, and its standard error;
        NaN without a simulation.
    plug_in_gains : ndarray
        For a sample: `gain` as estimated from simulated samples, in the same way as from the sample itself.
        Empty without a simulation.
    is_sound : bool
        Whether the expansion in 1/n agrees with the simulation. Where it does not, the strength of a single
        correction is the best of the simulation.
    candidates : tuple of Strengths
        All strengths that were compared.
    biases, coefficients : ndarray
        :math:`B_{pop}` and :math:`K` of the candidates; infinite where the gap at the rank closes.
    """

    correction: str
    strengths: Strengths
    n: float
    bias: float
    sampling: float
    pca: float
    candidates: tuple[Strengths, ...] = field(repr=False)
    biases: Array = field(repr=False)
    coefficients: Array = field(repr=False)
    simulated_gain: float = np.nan
    simulated_error: float = np.nan
    plug_in_gains: Array = field(default_factory=lambda: np.empty(0), repr=False)
    is_sound: bool = True

    @property
    def is_pca(self) -> bool:
        """Whether all strengths are 0: no strength helps."""
        return not self.strengths

    @property
    def title(self) -> str:
        """Name of the correction as a person writes it."""
        return self.correction.replace("_", " ")

    @property
    def gain(self) -> float:
        """Expected share of PCA's excess risk that is removed, to order 1/n."""
        return 1 - (self.bias + self.sampling) / self.pca

    def gain_at(self, n: ArrayLike) -> Any:
        r"""Return the expected gain of the best candidate at other sample sizes, never below 0.

        :math:`\max_s \{1 - (n B(s) + K(s)) / K(0)\}`. Candidates with a negative risk, which is impossible,
        are left out.
        """
        sizes = real_numbers(n, "n must be a sample size or an array of them")
        risks = np.multiply.outer(sizes, self.biases) + self.coefficients
        gains = np.where(risks >= 0, 1 - risks / (self.pca * self.n), 0.0)
        return as_answer(np.asarray(gains.max(axis=-1, initial=0.0)))

    @property
    def worth_until(self) -> float:
        r"""The largest `n` at which some candidate removes at least 1% of PCA's excess risk.

        :math:`\max_s \{0.99 K(0) - K(s)\} / B(s)`; infinity where a candidate keeps the target and has the
        smaller :math:`K`, 0 where there is none.
        """
        limit = self.pca * self.n
        # As shares of PCA's: the unit of the columns must not matter.
        saving = (1 - WORTH) - self.coefficients / limit
        useful = np.isfinite(self.coefficients) & (saving >= 0)
        if not useful.any():
            return 0.0
        bias, saving = self.biases[useful] / limit, saving[useful]
        return float(np.max(np.where(bias > _NO_BIAS, saving / np.maximum(bias, _NO_BIAS), np.inf)))

    @property
    def table_row(self) -> dict[str, Any]:
        """The numbers, by name."""
        low, high = np.quantile(self.plug_in_gains, [0.1, 0.9]) if self.plug_in_gains.size else (np.nan,) * 2
        return {
            "correction": self.correction,
            "strengths": dict(self.strengths.nonzero()),
            "gain": self.gain,
            "bias": self.bias,
            "sampling": self.sampling,
            "worth_until": self.worth_until,
            "simulated_gain": self.simulated_gain,
            "simulated_error": self.simulated_error,
            "plug_in_low": float(low),
            "plug_in_high": float(high),
            "is_sound": self.is_sound,
        }

    def _html_row(self) -> tuple[str, ...]:
        simulated = (self.simulated_gain, self.simulated_error)
        return (
            self.title,
            "0" if self.is_pca else in_words(self.strengths).replace("_", " "),
            *(f"{value:.4g}" for value in (self.bias, self.sampling)),
            f"{100 * self.gain:.1f}",
            *("" if np.isnan(value) else f"{100 * value:.1f}" for value in simulated),
            rounded(self.worth_until) if self.is_sound else "?",
        )

    def __str__(self) -> str:
        until = rounded(self.worth_until)
        if self.is_pca and self.is_sound and self.worth_until >= self.n:
            return f"{self.title}: no strength is sure to help here: where one might, the expansion fails"
        if self.is_pca:
            helps_fewer = self.is_sound and self.worth_until >= _FEWEST
            only = f", only up to about {until} rows" if helps_fewer else ""
            return f"{self.title}: no strength helps here{only}"
        used = in_words(self.strengths).replace("_", " ").replace(" = ", " ")
        head = f"together ({used}): removes" if self.correction == "together" else f"{used} removes"
        if not self.is_sound:
            return (
                f"{head} {share(self.simulated_gain)} of PCA's excess risk in the simulation; the expansion "
                "does not hold here, so there is no prediction for other n"
            )
        simulated = f" ({share(self.simulated_gain)} in the simulation)"
        checked = "" if np.isnan(self.simulated_gain) else simulated
        limit = "" if self.gain < WORTH else f"; worth it up to about {until} rows"
        if np.isinf(self.worth_until):
            limit = "; worth it at every n"
        return f"{head} {share(self.gain)} of PCA's excess risk{checked}{limit}"


def rounded(n: float) -> str:
    """Return a number of rows with two digits; an expansion is not more accurate."""
    return "every n" if np.isinf(n) else f"{float(f'{n:.2g}'):,.0f}"


def _points(difference: float) -> str:
    count = round(100 * difference)
    return "a point" if count <= 1 else f"{count} points"


def whole(gain: float) -> str:
    """Return a gain in whole percent, without a sign before 0."""
    return f"{round(float(gain), 2) + 0:.0%}"


def share(gain: float) -> str:
    """Return a gain in percent, where a small one does not read as 0."""
    return "less than 1%" if 0 < gain < WORTH else f"{gain:.0%}"


@dataclass(frozen=True)
class Expectations:
    r"""What is expected of each correction alone, and of all together.

    Made by :func:`when`. It is a sequence of :class:`Expectation`; one is found by name too.

    Attributes
    ----------
    population : Population
        The covariance, or its estimate, and the rank.
    n : float
        Sample size.
    law : law
        Law of the rows.
    corrections : tuple of Expectation
        One for each correction, and one for all together if there are several.
    is_sample : bool
        Whether the population was estimated from a sample.
    n_simulations : int
        Samples of the simulation.
    """

    population: Population
    n: float
    law: Law
    corrections: tuple[Expectation, ...]
    is_sample: bool
    n_simulations: int

    def __iter__(self) -> Iterator[Expectation]:
        return iter(self.corrections)

    def __len__(self) -> int:
        return len(self.corrections)

    def __contains__(self, name: object) -> bool:
        return any(name in (e, e.correction) for e in self.corrections)

    def __getitem__(self, key: Any) -> Any:
        if not isinstance(key, str):
            return self.corrections[key]
        for expectation in self.corrections:
            if expectation.correction == key:
                return expectation
        raise KeyError(f"{key!r} is not one of {', '.join(e.correction for e in self.corrections)}.")

    @property
    def table(self) -> list[dict[str, Any]]:
        """One dict of numbers for each correction, as a data frame takes them."""
        return [expectation.table_row for expectation in self.corrections]

    @property
    def trust(self) -> str:
        """How far to trust the numbers, with this result's own figures."""
        parts = self._trust_in_expansion(), self._trust_in_sample(), self._trust_in_damping()
        return " ".join(part for part in parts if part)

    def _trust_in_expansion(self) -> str:
        if not self.n_simulations:
            return "The numbers are an expansion in 1/n that no simulation has checked here."
        used = [e for e in self.corrections if not e.is_pca]
        if not used:
            return "No strength helps, so there was nothing to check by simulation."
        worst = max(used, key=lambda e: abs(e.gain - e.simulated_gain))
        off = [e.title for e in self.corrections if not e.is_sound]
        text = (
            f"The numbers are an expansion in 1/n. In {self.n_simulations} simulated samples the gains were "
            f"at most {_points(abs(worst.gain - worst.simulated_gain))} away from it "
            f"({worst.title}: {worst.gain:.0%} expected, {worst.simulated_gain:.0%} "
            f"+- {worst.simulated_error:.1%} simulated)."
        )
        if len(off) < len(used):
            text += " Where the two differ, the simulation is the better guide at this n."
        if off:
            text += f" The expansion does not hold for {', '.join(off)}: go by the simulation there."
            if len(self.corrections) > 1 and off != ["together"]:
                text += " What it does not hold for is left out of together."
        return text

    def _trust_in_sample(self) -> str:
        if not self.is_sample:
            return ""
        p = self.population.n_features
        text = "A sample stands for the population, and its gains are estimates."
        if p > self.n:
            text += (
                f" With {p} columns and n = {self.n:g} most of the sample covariance is noise: mainly its "
                "factors and variances are used, and little is known of other correlations."
            )
        known = [e for e in self.corrections if e.plug_in_gains.size and e.is_sound and not e.is_pca]
        if known:
            words = (
                f"{e.title} {whole(np.quantile(e.plug_in_gains, 0.1))} to "
                f"{whole(np.quantile(e.plug_in_gains, 0.9))} (against {whole(e.gain)})"
                for e in known
            )
            text += (
                " Samples of this size from that very population would have predicted, four times out of "
                f"five: {'; '.join(words)}."
            )
        return text + " Let held-out rows choose the strengths; this explains the choice."

    def _trust_in_damping(self) -> str:
        small = self.population.share_of_small_correlations(self.n)
        if "damping" not in self or small <= MANY_SMALL:
            return ""
        return (
            f"{small:.0%} of the correlations are smaller than their errors, 1/sqrt(n) = "
            f"{1 / np.sqrt(self.n):.2g}, and damping's expansion is for larger ones."
        )

    def __str__(self) -> str:
        head = (
            f"{'From a sample: ' if self.is_sample else ''}{self.population.n_features} features, rank "
            f"{self.population.n_components}, n = {self.n:g}, {self.law}"
        )
        return "\n".join([head, *(f"  {e}" for e in self.corrections), "", self.trust])

    def _repr_html_(self) -> str:
        """Show the result in a notebook."""
        return result_html(
            "What the theory expects",
            [
                ("features, rank", f"{self.population.n_features}, {self.population.n_components}"),
                ("n", f"{self.n:g}" + (" (rows less one for the mean)" if self.is_sample else "")),
                ("law", str(self.law)),
                *((e.title, str(e)) for e in self.corrections),
                ("trust", self.trust),
            ],
            ["correction", "strength", *_HTML_NUMBERS],
            [e._html_row() for e in self.corrections],
        )
