"""Expression of genes, proteins and metabolites; genotypes."""

from pathlib import Path

import numpy as np
import pandas as pd

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
