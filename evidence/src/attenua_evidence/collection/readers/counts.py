"""Counts, and shares of counts."""

from pathlib import Path

import numpy as np

from ..formats import numbers, numeric, r_object
from ..table import Table, codes
from .returns import week


def chicago(root: Path) -> Table:
    """Read riders at twenty stations, in thousands, a row a day. Groups: calendar weeks."""
    frame = r_object(root, "Chicago")
    return Table(numeric(frame.loc[:, "Austin":"California"]), week(frame["date"].to_numpy(float)))


def mite(root: Path) -> Table:
    """Read logarithms of counts + 1. Labels: hummock or blanket of moss."""
    counts = numeric(r_object(root, "mite", "mite.rda"))
    return Table(np.log1p(counts), labels=codes(r_object(root, "mite.env", "mite.env.rda")["Topo"]))


def pyrifos(root: Path) -> Table:
    """Read logarithms of counts in twelve ditches, eleven times. Groups: ditches.

    Labels: doses. Ditches and doses are not in the file; the package's help page gives them.
    """
    x = numeric(r_object(root, "pyrifos", "pyrifos.rda"))
    dose = (0.1, 0, 0, 0.9, 0, 44, 6, 0.1, 44, 0.9, 0, 6)
    return Table(x, np.arange(len(x)) % 12, codes(np.tile(dose, 11)))


def waitakere(root: Path) -> Table:
    """Read which of seventeen plants are at a site; the last column, altitude, is left out."""
    return Table(numeric(r_object(root, "waitakere"))[:, :17])


def spam(root: Path) -> Table:
    """Read percentages of words and signs in mails, without lengths. Labels: spam or not."""
    frame = r_object(root, "spam", "spam.rda")
    return Table(numeric(frame)[:, :54], labels=codes(frame["type"]))


def health_words(root: Path) -> Table:
    """Read how often a person used each of 115 words. Labels: the person's own health."""
    frame = r_object(root, "health", "health.rda")
    return Table(numbers(frame.iloc[:, :115]), labels=codes(frame["Health condition"]))


def molluscs(root: Path) -> Table:
    """Read logarithms of counts + 1. Groups: sites. Labels: seasons of the year."""
    found = r_object(root, "mollusc", "mollusc.rda")
    plan = found["plan"]
    return Table(np.log1p(numbers(found["fau"])), codes(plan["site"]), codes(plan["season"]))


def amino_acids(root: Path) -> Table:
    """Read how often each amino acid occurs in a protein, in percent. Labels: where the protein is."""
    found = r_object(root, "perthi02", "perthi02.rda")
    counts = numbers(found["tab"])
    return Table(100 * counts / counts.sum(axis=1, keepdims=True), labels=codes(found["cla"]))


def gut_microbes(root: Path) -> Table:
    """Read square roots of the shares of bacteria."""
    found = r_object(root, "enterotype", "enterotype.RData")
    return Table(np.sqrt(np.asarray(found.otu_table, dtype=float)).T)


def canyon_plants(root: Path) -> Table:
    """Read how much of a plot each plant covers, in classes from 0 to 5."""
    return Table(numbers(r_object(root, "bryceveg", "bryceveg.rda")))


def throat(root: Path) -> Table:
    """Read square roots of the shares of bacteria. Labels: smokers or not."""
    shares = _shares(numbers(r_object(root, "throat.otu.tab", "throat.otu.tab.rda")))
    about = r_object(root, "throat.meta", "throat.meta.rda")
    return Table(np.sqrt(shares), labels=codes(about["SmokingStatus"]))


def stool(root: Path) -> Table:
    """Read square roots of the shares of every second kind of bacteria."""
    shares = _shares(np.asarray(r_object(root, "stool.otu.tab", "stool.otu.tab.rda"), dtype=float).T)
    return Table(np.sqrt(shares[:, ::2]))


def _shares(counts: np.ndarray) -> np.ndarray:
    return counts / counts.sum(axis=1, keepdims=True)


def flu(root: Path) -> Table:
    """Read logarithms of weekly counts + 1 by district, from January 2001. Groups: July to June."""
    counts = np.asarray(r_object(root, "fluBYBW", "fluBYBW.RData").observed, dtype=float)
    return Table(np.log1p(counts), (np.arange(len(counts)) + 26) // 52)
