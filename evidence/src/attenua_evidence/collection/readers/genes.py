"""Expression of genes, proteins and metabolites; genotypes."""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.io.arff import loadarff

from ..formats import numbers, numeric, r_object
from ..table import Table, codes

# Expression


def ad_proteins(root: Path) -> Table:
    """Read proteins of patients, without age and sex. Labels: impaired or control."""
    frame = r_object(root, "ad_data")
    return Table(numeric(frame.drop(columns=["age", "male"])), labels=codes(frame["Class"]))


def metabolites(root: Path) -> Table:
    """Read metabolites (rows) in samples (columns); the package's help has it the other way round."""
    return Table(np.asarray(r_object(root, "metaboliteDataComplete", "metaboliteDataComplete.RData")))


def golub_genes(root: Path) -> Table:
    """Read probes (rows) in patients (columns). Groups: probes of one gene have one description.

    Controls are described by their probe, ``AFFX-GENE_PART_at``, and grouped by what is before the part.
    """
    description = np.asarray(r_object(root, "golub.gnames", "golub.RData")).reshape(3, -1)[1]
    gene = [d.rsplit("_", 2)[0] if d.startswith("AFFX") else d for d in description]
    return Table(np.asarray(r_object(root, "golub", "golub.RData")), codes(gene))


def tissue_genes(root: Path) -> Table:
    """Read expression of every fourth gene in samples of tissue. Labels: tissues."""
    data = r_object(root, "tissue_gene_expression")
    return Table(np.asarray(data["x"])[:, ::4], labels=codes(data["y"]))


def bd_genes(root: Path) -> Table:
    """Read expression of genes in persons who are not related."""
    return Table(np.asarray(r_object(root, "geneExpression", "geneExpression.RData")))


def small_round_tumours(root: Path) -> Table:
    """Read every 12th gene. Labels: kinds of tumour."""
    folder = root / "ISLP/data"
    rows = pd.concat([pd.read_csv(folder / f"Khan_x{part}.csv") for part in ("train", "test")])
    labels = pd.concat([pd.read_csv(folder / f"Khan_y{part}.csv")["x"] for part in ("train", "test")])
    return Table(numbers(rows.iloc[:, ::12]), labels=codes(labels))


def cancer_lines(root: Path) -> Table:
    """Read every 40th gene. Labels: kinds of cancer."""
    labels = pd.read_csv(root / "ISLP/data/NCI60labs.csv")["label"]
    return Table(np.load(root / "ISLP/data/NCI60data.npy")[:, ::40], labels=codes(labels))


def yeast_genes(root: Path) -> Table:
    """Read genes (rows) under conditions that miss at most 1% of them: else most rows would go."""
    frame = pd.read_csv(root / "Orange/datasets/brown-selected.tab", sep="\t", skiprows=[1, 2], na_values="?")
    x = numbers(frame.iloc[:, :-2])
    return Table(x[:, np.isnan(x).mean(axis=0) <= 0.01], labels=codes(frame["function"]))


def influenza(root: Path) -> Table:
    """Read every 25th gene in blood of infected persons, about 15 times each. Labels: symptoms or none."""
    rows = np.asarray(r_object(root, "eset.full", "fluExample.RData")).T
    people = r_object(root, "flu.meta", "fluExample.RData")
    return Table(rows[:, ::25], codes(people["Subject"]), codes(people["Condition"]))


def cell_signals(root: Path) -> Table:
    """Read logarithms of eleven proteins in cells. Labels: experiments."""
    frame = r_object(root, "Sachs", "Sachs.rda")
    return Table(numbers(frame.iloc[:, :11]), labels=codes(frame["grp"]))


def lung_tumours(root: Path) -> Table:
    """Read genes of lung tissue. Groups: patients. Labels: kinds of tumour, or healthy tissue.

    Names are such as 314-99_SCLC, patient and kind; those of nodes do not tell the kind.
    """
    frame = r_object(root, "lung", "lung.RData")
    names = pd.Series(frame.columns.astype(str))
    patients = names.str.extract(r"^(\d+-\d+)")[0].fillna(names)
    kinds = names.str.extract("(Adeno|SCC|SCLC|LCLC|normal)")[0]
    return Table(numbers(frame).T, codes(patients), codes(kinds))


def brain_tumours(root: Path) -> Table:
    """Read log2 of every fourth gene in brain tumours, the training rows and then the test rows."""
    found = r_object(root, "brainCancer", "brainCancer.rda")
    rows = np.concatenate([np.asarray(found[part], dtype=float) for part in ("train", "test")])
    return Table(np.log2(rows[:, ::4]))


def lung_cells(root: Path) -> Table:
    """Read logarithms of expression + 1 in single cells of mouse lungs. Labels: age."""
    folder = "../extdata/lung"
    values = r_object(root, "lung_exprs_data", f"{folder}_exprs_data.RData")
    about = r_object(root, "lung_phenotype_data", f"{folder}_phenotype_data.RData")
    return Table(np.log1p(np.asarray(values)).T, labels=codes(about["age"]))


def breast_tumours(root: Path) -> Table:
    """Read genes of breast tumours. Labels: oestrogen receptor or not. Target: size, cm."""
    path = root / "sksurv/datasets/data/breast_cancer_GSE7390-metastasis.arff"
    frame = pd.DataFrame(loadarff(path)[0])
    return Table(numbers(frame.iloc[:, 6:]), labels=codes(frame["er"]), target=frame["size"].to_numpy(float))


# Genotypes


def cattle(root: Path) -> Table:
    """Read counts of alleles. Labels: breeds."""
    found = r_object(root, "microbov", "microbov.rda")
    return Table(np.asarray(found.tab, float), labels=codes(found.other["breed"]))


def influenza_strains(root: Path) -> Table:
    """Read which allele is where. Labels: seasons."""
    found = r_object(root, "H3N2", "H3N2.rda")
    return Table(np.asarray(found.tab, float), labels=codes(found.other["epid"]))


def speedwell(root: Path) -> Table:
    """Read which bands a plant has."""
    return Table(np.asarray(r_object(root, "veronica", "veronica.rda"), float))


def peoples(root: Path) -> Table:
    """Read counts of every tenth allele. Groups: peoples. Labels: parts of the world."""
    found = r_object(root, "eHGDP", "eHGDP.rda")
    people = np.asarray(found.pop).astype(int)
    regions = found.other["popInfo"].set_index("Label")["Region"].astype(str)
    regions.index = regions.index.astype(int)
    return Table(np.asarray(found.tab, float)[:, ::10], people, codes(regions[people]))


def listeria(root: Path) -> Table:
    """Read genotypes of mice along the chromosomes: 1, 2 or 3; those known in part are missing.

    Target: hours until death by the infection; mice that lived have 264.
    """
    cross = r_object(root, "listeria", "listeria.RData")
    x = np.concatenate([np.asarray(part["data"], float) for part in cross["geno"].values()], axis=1)
    return Table(np.where(x <= 3, x, np.nan), target=cross["pheno"]["T264"].to_numpy(float, na_value=np.nan))
