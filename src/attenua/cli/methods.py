"""The methods a command can fit: which estimator each is, and which options belong to it."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import typer

from attenua import AttenuatedPCACV, CorrectedPCA, CorrectedPCACV
from attenua.cli.base import fail
from attenua.cli.reading import Reading


class Method(StrEnum):
    """What is fitted."""

    CORRECTED = "corrected"
    ATTENUATED = "attenuated"
    PCA = "pca"


_CHOSEN = (Method.CORRECTED, Method.ATTENUATED)
# Options that not every method has.
_OF_METHODS = {
    "corrections": (Method.CORRECTED,),
    "neighbours": (Method.CORRECTED,),
    "guard": (Method.CORRECTED,),
    "alphas": (Method.ATTENUATED,),
    "cv": _CHOSEN,
    "repeats": _CHOSEN,
    "seed": _CHOSEN,
}
# Arguments of the estimators, in what the library says, and the options that set them.
_OPTIONS = {
    "n_components": "--components",
    "n_repeats": "--repeats",
    "cv": "--cv",
    "neighbours": "--neighbours",
    "image_shape": "--image-shape",
}


@dataclass(frozen=True)
class Request:
    """How a command was asked to fit."""

    file: str | None
    reading: Reading
    k: int | float
    method: Method
    corrections: Any
    neighbours: Any
    guard: float
    alphas: Any
    cv: int
    repeats: int
    seed: int

    @property
    def estimator_class(self) -> type:
        """Class of the estimator that is asked for."""
        return {
            Method.CORRECTED: CorrectedPCACV,
            Method.ATTENUATED: AttenuatedPCACV,
            Method.PCA: CorrectedPCA,
        }[self.method]

    @property
    def parameters(self) -> dict[str, Any]:
        """Its parameters, apart from the number of components."""
        common = {"cv": self.cv, "n_repeats": self.repeats, "random_state": self.seed}
        search = {"corrections": self.corrections, "neighbours": self.neighbours, "guard": self.guard}
        return {
            Method.CORRECTED: search | common,
            Method.ATTENUATED: {"alphas": self.alphas} | common,
            Method.PCA: {},
        }[self.method]


def in_options(sentence: str) -> str:
    """Return a sentence of the library with options in place of arguments.

    >>> in_options("n_components=9 must be between 1 and 3.")
    '--components 9 must be between 1 and 3.'
    """
    # Words of every day as well: these are arguments only where a sentence begins with them.
    sentence = re.sub(r"^(corrections|guard)\b", r"--\1", sentence)
    # In quotes they are names of columns.
    arguments = rf"(?<!['-])\b({'|'.join(_OPTIONS)})\b(?!')(=?)"
    sentence = re.sub(arguments, lambda found: _OPTIONS[found[1]] + " " * len(found[2]), sentence)
    return re.sub(r"\bn_samples=(\d+)", r"\1 rows", sentence)


def refuse_options_of_other_methods(context: typer.Context, method: Method) -> None:
    """Say which option was given that the method does not have."""
    for name, methods in _OF_METHODS.items():
        if _is_given(context, name) and method not in methods:
            raise typer.BadParameter(
                f"it belongs to --method {' or '.join(methods)}, and this is --method {method}.",
                param_hint=f"--{name}",
            )


def refuse_options_of_a_fit(context: typer.Context) -> None:
    """Say which option was given that asks for a fit, where a model is fitted already."""
    for name in ("k", "method", *_OF_METHODS):
        if _is_given(context, name):
            flag = "-k" if name == "k" else f"--{name}"
            fail(f"{flag} has no effect with --model, which is fitted already; leave one of them out.")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    # By name: the enumeration is click's, or a copy of it in newer versions of typer.
    return source is not None and source.name == "COMMANDLINE"
