"""What every step of a search compared and took: a table to print, to show and to hand to pandas."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple, overload

from attenua._correct.registry import ALL_CORRECTIONS


class Step(NamedTuple):
    """One step of a search, by all held-out rows together."""

    correction: str  # whose strengths were compared
    strengths: tuple[float, ...] = ()  # increasing; empty where the correction was left out
    # Held-out risk of each, with the strengths of the steps before it, by the loss that decides: of PCA, a
    # mean over ranks. Of one that was clearly worse on the first splits, an estimate from these.
    risks: tuple[float, ...] = ()
    best: float = 0.0  # the strength of least risk, which the next steps begin from
    gain: float = 0.0  # part of PCA's held-out risk that it removes beyond the steps before it, or nats
    standard_error: float = float("nan")  # of the gain, over the splits; NaN where there is one split only
    weight: float = 0.0  # part of the average of those choices that have this correction
    why: str = ""  # why it was left out
    unit: str = ""  # of the gain: "nats" of a log-likelihood, or "" for a part


_HEADINGS = ("correction", "compared", "best", "gain", "s.e.", "weight", "note")
_NUMBERS = ("best", "gain", "s.e.", "weight")
# Numbers to the right, words to the left.
_STYLES = tuple(
    f'style="text-align:{"right" if heading in _NUMBERS else "left"};padding:2px 10px"'
    for heading in _HEADINGS
)


class Steps(Sequence[Step]):
    """The steps of a search, in their order.

    A sequence of :class:`Step`, also by the name of the correction, ``steps["smoothing"]``: the last of it.
    ``pandas.DataFrame(steps)`` is a table of all their attributes.
    """

    def __init__(self, steps: Iterable[Step]):
        self._steps = tuple(steps)

    @overload
    def __getitem__(self, index: int | str) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> "Steps": ...

    def __getitem__(self, index: int | str | slice) -> "Step | Steps":
        if isinstance(index, str):
            found = [step for step in self._steps if step.correction == index]
            if not found:
                tried = ", ".join(step.correction for step in self._steps) or "none"
                raise KeyError(f"{index!r} is not a step of this search; the steps are {tried}")
            return found[-1]
        return Steps(self._steps[index]) if isinstance(index, slice) else self._steps[index]

    def __len__(self) -> int:
        return len(self._steps)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Steps) and repr(self.to_records()) == repr(other.to_records())

    def with_weights(self, choices: Sequence[Mapping[str, float]], weights: Sequence[float]) -> "Steps":
        """Return the steps with the weight of the choices that have each correction."""
        pairs = list(zip(choices, weights, strict=True))

        def weight_of(name: str) -> float:
            return float(
                sum(weight for choice, weight in pairs if choice[name] != ALL_CORRECTIONS[name].neutral)
            )

        return Steps(step._replace(weight=weight_of(step.correction)) for step in self._steps)

    def to_records(self) -> list[dict[str, Any]]:
        """Return the steps as dicts of plain numbers, lists and texts."""
        return [
            step._asdict() | {"strengths": list(step.strengths), "risks": list(step.risks)}
            for step in self._steps
        ]

    @classmethod
    def from_records(cls, records: Iterable[dict[str, Any]]) -> "Steps":
        """Return the steps that ``to_records`` made records of."""
        return cls(
            Step(**(record | {"strengths": tuple(record["strengths"]), "risks": tuple(record["risks"])}))
            for record in records
        )

    def plot(self, ax: Any = None) -> Any:
        """Draw what each step gained, as :func:`attenua.pictures.steps` does.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib Axes
        """
        from attenua import pictures

        return pictures.steps(self, ax)

    def __repr__(self) -> str:
        table = [_HEADINGS, *(_cells(step) for step in self._steps)]
        widths = [max(len(row[k]) for row in table) for k in range(len(_HEADINGS))]
        return "\n".join(
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in table
        )

    def _repr_html_(self) -> str:
        head = "".join(
            f'<th scope="col" {style}>{heading}</th>'
            for heading, style in zip(_HEADINGS, _STYLES, strict=True)
        )
        rows = "".join(_html_row(step) for step in self._steps)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f'<div style="overflow-x:auto">{table}</div>'


def _html_row(step: Step) -> str:
    cells = (
        f"<td {style}>{f'<b>{escape(cell)}</b>' if step.weight else escape(cell)}</td>"
        for cell, style in zip(_cells(step), _STYLES, strict=True)
    )
    return f"<tr>{''.join(cells)}</tr>"


def _cells(step: Step) -> tuple[str, ...]:
    if not step.strengths:
        return (step.correction, "-", "-", "-", "-", "-", step.why)
    return (
        step.correction,
        ", ".join(f"{strength:g}" for strength in step.strengths),
        f"{step.best:g}",
        _gain(step, step.gain) if step.gain else "-",
        _gain(step, step.standard_error) if step.gain and step.standard_error == step.standard_error else "-",
        f"{step.weight:.0%}",
        step.why,
    )


def _gain(step: Step, value: float) -> str:
    return f"{value:.3f} {step.unit}" if step.unit else f"{value:.2%}"
