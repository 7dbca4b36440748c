"""Questionnaires and tests."""

from pathlib import Path

import numpy as np
import pandas as pd

from ..formats import numbers, numeric, r_object
from ..table import Table, codes


def bfi(root: Path) -> Table:
    """Read answers to 25 items. Labels: gender."""
    frame = r_object(root, "bfi")
    return Table(numeric(frame.iloc[:, :25]), labels=codes(frame["gender"]))


def msq(root: Path) -> Table:
    """Read answers to mood items. Groups: persons.

    The second part of a study (its name ends in 2) is taken to number persons as the first part does.
    """
    frame = r_object(root, "msq")
    study = frame["exper"].astype(str).str.replace(r"[.-]?\d$", "", regex=True)
    return Table(numeric(frame.iloc[:, :72]), codes(study + "/" + frame["ID"].astype(str)))


def spi(root: Path) -> Table:
    """Read answers to 135 items. Labels: sex; some persons did not say."""
    frame = r_object(root, "spi")
    return Table(numeric(frame.iloc[:, 10:]), labels=codes(frame["sex"].to_numpy(float)))


def epi(root: Path) -> Table:
    """Read yes and no answers to 57 items."""
    return Table(numeric(r_object(root, "epi")))


def big5(root: Path) -> Table:
    """Read answers to every second of 240 items."""
    return Table(np.asarray(r_object(root, "big5", "big5.RData"))[:, ::2])


def holzinger(root: Path) -> Table:
    """Read the 24 tests that all children took. Labels: schools."""
    frame = r_object(root, "holzinger.swineford")
    return Table(numeric(frame.loc[:, "t01_visperc":"t24_woody"]), labels=codes(frame["school"]))


def blot(root: Path) -> Table:
    """Read right and wrong answers to 35 items."""
    return Table(numeric(r_object(root, "blot")))


def gratitude(root: Path) -> Table:
    """Read answers of young people; rows with a number outside its scale, an error of the file, go."""
    frame = r_object(root, "YouthGratitude", "YouthGratitude.rda")
    answers = numbers(frame.loc[:, "gq6_1":"ao_4"])
    return Table(np.where(answers <= 9, answers, np.nan), labels=codes(frame["agegroup"]))


def conspiracies(root: Path) -> Table:
    """Read answers to 15 items. Labels: city, suburb or country."""
    found = r_object(root, "ConspiracistBeliefs2016", "ConspiracistBeliefs2016.rda")
    return Table(numbers(pd.DataFrame(found["resp"])), labels=codes(found["area"]))


def aggression(root: Path) -> Table:
    """Read answers to 24 items. Labels: gender."""
    found = r_object(root, "VerbalAggression", "VerbalAggression.rda")
    return Table(numbers(pd.DataFrame(found["resp"])), labels=codes(found["gender"]))


def gender_roles(root: Path) -> Table:
    """Read answers to 74 items. Labels: gender."""
    frame = r_object(root, "Athenstaedt")
    return Table(numbers(frame.loc[:, "V1":"V74"]), labels=codes(frame["gender"]))


def senators(root: Path) -> Table:
    """Read yes and no in 672 votes of the US Senate. Labels: parties."""
    frame = r_object(root, "Senate", "Senate.rda")
    return Table(numbers(frame.loc[:, "rc1":]), labels=codes(frame["party"]))


def leadership(root: Path) -> Table:
    """Read answers of soldiers on leaders, tasks and moods. Groups: companies."""
    frame = r_object(root, "lq2002", "lq2002.rda")
    return Table(numbers(frame.loc[:, "LEAD01":"HOSTIL05"]), codes(frame["COMPID"]))


def quiz(root: Path) -> Table:
    """Read right and wrong answers to 45 questions of general knowledge. Labels: gender."""
    found = r_object(root, "SPISA", "SPISA.rda")
    return Table(numbers(pd.DataFrame(found["spisa"])), labels=codes(found["gender"]))


def carers(root: Path) -> Table:
    """Read what carers of old people said, without sums of other columns. Target: quality of life."""
    frame = r_object(root, "efc", "efc.RData")
    others = ["e15relat", "neg_c_7", "pos_v_4", "quol_5", "n4pstu", "nur_pst"]
    return Table(numbers(frame.drop(columns=others)), target=frame["quol_5"].to_numpy(float, na_value=np.nan))


def televisions(root: Path) -> Table:
    """Read marks of a panel for fifteen qualities of pictures. Groups: assessors. Labels: televisions."""
    frame = r_object(root, "TVbo")
    x = numbers(frame.loc[:, "Coloursaturation":"Elasticeffect"])
    return Table(x, codes(frame["Assessor"]), codes(frame["TVset"]))


def abilities(root: Path) -> Table:
    """Read the numbers among the answers and scores of persons."""
    path = root / "nilearn/datasets/tests/data/localizer_behavioural.tsv"
    return Table(numeric(pd.read_csv(path, sep="\t").drop(columns="id")))
