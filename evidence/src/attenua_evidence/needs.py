"""What must be installed before the rivals can be fitted, and in which version it is."""

import hashlib
import subprocess
import warnings
from collections.abc import Iterable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import attenua

INSTALL = {
    "scikit-fda": 'pip install scikit-fda "multimethod<2"',  # it does not import with multimethod 2
    "robustcov": "pip install --ignore-requires-python robustcov",  # builds from source before Python 3.12
    "rrcov": "apt-get install --no-install-recommends r-cran-rrcov",
    "statsmodels": "pip install statsmodels",
    "pcaMethods": "apt-get install --no-install-recommends r-bioc-pcamethods",
}
# What rivals of subspaces need, and those that fill cells.
OF_SUBSPACES, OF_FILLING = ("scikit-fda", "robustcov", "rrcov"), ("statsmodels", "pcaMethods")


class MissingPackages(RuntimeError):
    """A package that the rivals need is not installed."""


def own_versions() -> dict[str, str]:
    """Return the versions of what every method is computed with; attenua's has a hash of its code."""
    versions = {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
    folder = Path(attenua.__file__).parent
    code = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(folder.rglob("*.py"))))
    return versions | {"attenua": f"{attenua.__version__} {code.hexdigest()[:12]}"}


def installed_versions(packages: Iterable[str]) -> dict[str, str]:
    """Return the versions of packages of the rivals; nothing where one is not installed."""
    modules = {"scikit-fda": "skfda", "robustcov": "robustcov", "statsmodels": "statsmodels"}
    return {
        name: _version_of(name, modules[name]) if name in modules else version_in_r(name) for name in packages
    }


def rival_versions() -> dict[str, str]:
    """Return the versions of the rivals' packages, or raise an error that says how to install them."""
    found = installed_versions(OF_SUBSPACES)
    missing = [name for name, known in found.items() if not known]
    if missing:
        commands = " && ".join(INSTALL[name] for name in missing)
        raise MissingPackages(f"The rivals need {', '.join(missing)}: {commands}")
    return found


def _version_of(package: str, module: str) -> str:
    """Return the version of a package that can be imported, or nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import_module(module)
        except Exception:  # a package with the wrong companions fails in its own way
            return ""
    return version(package)


def version_in_r(package: str) -> str:
    """Return the version of a package of R, or nothing."""
    command = ["Rscript", "--vanilla", "-e", f'cat(as.character(packageVersion("{package}")))']
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
