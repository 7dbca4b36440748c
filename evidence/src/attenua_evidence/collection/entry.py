"""What is known of one data set, and how it is read."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from .packages import PACKAGES, Package
from .table import Table, clean

# The part "known" was the final one of an earlier run, so its results have been seen.
PARTS = ("develop", "choose", "known", "final")
KINDS = (
    "images",
    "patches",
    "spectra",
    "time series",
    "sensors",
    "returns",
    "expression",
    "genotypes",
    "counts",
    "questionnaires",
    "table",
)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One data set.

    Parameters
    ----------
    name : str
        Short and unique.
    about : str
        What a row is.
    package : str
        Name of the package that holds it.
    reader : callable
        Folder of the unpacked package in, `Table` as it is in the package out.
    kind : str
        One of `KINDS`.
    part : {"develop", "choose", "known", "final"}
        What it may be used for.
    shape : tuple of int
        Rows and columns of the cleaned table.
    unit : {"one", "mixed"}
        Whether all columns are in one unit. Mixed columns are to be standardised by means and standard
        deviations of the training rows; `read` never scales.
    order : None, "line" or tuple of int
        How columns lie: in no order, along a line, or row by row in a grid of this shape. It is what
        ``neighbours`` of `attenua.CorrectedPCACV` wants.
    duplicates : int
        Rows left out because an earlier row is exactly equal.
    holes : bool
        Whether missing cells stay missing. Otherwise columns and rows that miss some are left out.
    grouping, labelling, target : str
        What a group, a label and the number that belongs to each row are; empty where there are none.
    data_licence : str
        What the package says of these data, where it says something of its own.
    note : str
        What a reader of results should know; empty where there is nothing.
    """

    name: str
    about: str
    package: str
    reader: Callable[[Path], Table]
    kind: str
    part: str
    shape: tuple[int, int]
    unit: str = "one"
    order: str | tuple[int, int] | None = None
    duplicates: int = 0
    holes: bool = False
    grouping: str = ""
    labelling: str = ""
    target: str = ""
    data_licence: str = ""
    note: str = ""

    @property
    def source(self) -> Package:
        """The package that holds the data."""
        return PACKAGES[self.package]

    @property
    def version(self) -> str:
        """Version of the package."""
        return self.source.version

    @property
    def licence(self) -> str:
        """Licence of the data, or else of the package."""
        return self.data_licence or self.source.licence

    def fetched(self, folder: str | Path) -> bool:
        """Say whether the package is in a folder (scikit-learn is always there)."""
        return not self.source.file or (Path(folder) / self.source.folder).is_dir()

    def read(self, folder: str | Path) -> Table:
        """Return the cleaned table.

        Parameters
        ----------
        folder : path
            Where ``python -m attenua_evidence collection`` puts the packages.

        Returns
        -------
        Table
        """
        if not self.fetched(folder):
            command = f"python -m attenua_evidence collection {folder}"
            raise FileNotFoundError(f"{self.package} is not in {folder}; fetch it with: {command}")
        table = self.reader(Path(folder) / self.source.folder)
        return clean(table, self.order is not None, self.holes)
