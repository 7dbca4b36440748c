"""Results in a notebook: a title, a few facts, a small curve and a folded table; in plain text, a line.

Colours that are not set are inherited from the page, so that results suit light and dark notebooks.
"""

from collections.abc import Sequence
from html import escape
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._pprint import _EstimatorPrettyPrinter

from attenua._estimate.words import Answer

_CELL = 'style="text-align:right;padding:1px 10px"'
_LEFT = "text-align:left;vertical-align:top"


class ShowsAnswer(BaseEstimator):
    """An estimator that shows what came out of its fit above scikit-learn's diagram."""

    _fitted: ClassVar[dict[str, Any]]

    def _answer(self) -> Answer | None:
        """Return the answer of the fitted estimator; a subclass that has none returns None."""
        return None

    def _answer_if_fitted(self) -> Answer | None:
        return self._answer() if hasattr(self, next(iter(type(self)._fitted))) else None

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return scikit-learn's text and, once fitted, a line that says what came out."""
        text: str = super().__repr__(N_CHAR_MAX)
        try:
            answer = self._answer_if_fitted()
        except Exception:  # such as of parameters that were changed since: a debugger shows texts, too
            answer = None
        return text if answer is None else f"{text}\n{answer.caption}; {dict(answer.facts)['fitted']}"

    def _answer_html(self) -> str:
        answer = self._answer_if_fitted()
        return "" if answer is None else facts_html(answer.title, answer.facts)

    # scikit-learn's hooks: the answer goes above its diagram, and under the name in that of a pipeline.
    # Notebooks use the bundle, other pages the text.
    def _repr_html_inner(self) -> str:
        return f"{self._answer_html()}{super()._repr_html_inner()}"

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._answer_html() + bundle["text/html"]
        return bundle

    def _sk_visual_block_(self) -> SimpleNamespace:
        answer = self._answer_if_fitted()
        return SimpleNamespace(
            kind="single",
            estimators=self,
            names=type(self).__name__,
            name_details=super().__repr__(),
            name_caption=None if answer is None else answer.caption,
            doc_link_label=None,
            dash_wrapped=True,
        )


# scikit-learn breaks long lines by the method that makes them.
_EstimatorPrettyPrinter._dispatch[ShowsAnswer.__repr__] = _EstimatorPrettyPrinter._dispatch[
    BaseEstimator.__repr__
]


def result_html(
    title: str,
    facts: Sequence[tuple[str, str]],
    head: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    curve: tuple[ArrayLike, ArrayLike, str] | None = None,
    mark_least: bool = True,
) -> str:
    """Return a result as HTML: title, facts, a folded table, and a small curve (x, y, label) if given."""
    heads = "".join(f'<th scope="col" {_CELL}>{escape(cell)}</th>' for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td {_CELL}>{escape(str(cell))}</td>" for cell in row) + "</tr>" for row in rows
    )
    picture = "" if curve is None else _curve(*curve, mark_least)
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:8px 32px;align-items:flex-start">'
        f"{facts_html(title, facts)}{picture}</div>"
        f'<details><summary>Table</summary><div style="overflow-x:auto"><table><thead><tr>{heads}</tr>'
        f"</thead><tbody>{body}</tbody></table></div></details>"
    )


def facts_html(title: str, facts: Sequence[tuple[str, str]]) -> str:
    """Return a title and a small table of names and values."""
    lines = "".join(
        f'<tr><th style="{_LEFT};font-weight:normal;opacity:.7;padding:1px 14px 1px 0;white-space:nowrap">'
        f'{escape(name)}</th><td style="{_LEFT};padding:1px 0">{escape(value)}</td></tr>'
        for name, value in facts
    )
    return f"<div><strong>{escape(title)}</strong><table>{lines}</table></div>"


def _curve(xs: ArrayLike, ys: ArrayLike, label: str, mark_least: bool) -> str:
    points_y = np.asarray(ys, dtype=float)
    keep = np.isfinite(points_y)
    x, y = np.asarray(xs, dtype=float)[keep], points_y[keep]
    if len(x) < 2:
        return ""
    across = 6 + 228 * (x - x[0]) / (np.ptp(x) or 1)
    down = 64 - 56 * (y - y.min()) / (np.ptp(y) or 1)
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, down, strict=True))
    best, dot = int(np.argmin(y)), ""
    if mark_least:
        dot = f'<circle cx="{across[best]:.1f}" cy="{down[best]:.1f}" r="4" fill="#c2410c"/>'
    return (
        f'<figure style="margin:0"><svg role="img" aria-label="{escape(label, quote=True)}" width="240" '
        f'height="72" viewBox="0 0 240 72"><polyline points="{points}" fill="none" stroke="currentColor" '
        f'stroke-width="1.6"/>{dot}</svg>'
        f'<figcaption style="font-size:85%;opacity:.7">{escape(label)}</figcaption></figure>'
    )
