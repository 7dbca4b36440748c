"""The packages that hold the data sets: pinned versions, with the hash of the one file that is fetched.

They are listed in ``packages.csv``. Debian's versions are those of Debian 12 (bookworm), for amd64 where the
package is compiled. Wheels that are compiled are those for Python 3.11 on Linux; only their data are read, so
any machine will do. Licences are what the packages state, in SPDX's words where those fit.
"""

import csv
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Package:
    """One package of a registry.

    Parameters
    ----------
    name, version : str
        As the registry has them.
    registry : {"pypi", "debian", "npm", "scikit-learn"}
        Where it comes from. "scikit-learn" means the installed scikit-learn; nothing is fetched.
    licence : str
        As the package says, or "not stated".
    file, sha256 : str
        Name and hash of the archive; empty for scikit-learn.
    """

    name: str
    version: str
    registry: str
    licence: str
    file: str
    sha256: str

    @property
    def folder(self) -> str:
        """Name of the folder that it is unpacked to."""
        return f"{self.name}-{self.version}"


def _listed() -> dict[str, Package]:
    with open(Path(__file__).with_name("packages.csv"), newline="", encoding="utf-8") as file:
        return {row["name"]: Package(**row) for row in csv.DictReader(file)}


PACKAGES = _listed()
