"""Fetching: what is there is whole and has the right hash."""

import hashlib
import io
import tarfile
import zipfile
from dataclasses import replace

import pytest
from tests.helpers import each

from attenua_evidence.collection import command as fetching
from attenua_evidence.collection.fetch import download, fetch
from attenua_evidence.collection.packages import PACKAGES, Package


def tar(mode):
    """Return a small tar file that has one file and one link."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as file:
        member = tarfile.TarInfo("./usr/data.txt")
        member.size = 5
        file.addfile(member, io.BytesIO(b"hello"))
        link = tarfile.TarInfo("./usr/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        file.addfile(link)
    return out.getvalue()


def npm():
    return tar("w:gz")


def deb():
    out = b"!<arch>\n"
    for name, content in ((b"debian-binary", b"2.0"), (b"data.tar.xz", tar("w:xz"))):
        out += name.ljust(16) + b"0".ljust(32) + str(len(content)).encode().ljust(10) + b"`\n"
        out += content + b"\n" * (len(content) % 2)
    return out


def wheel():
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        file.writestr("usr/data.txt", "hello")
    return out.getvalue()


def package_of(content, registry="pypi", name="a"):
    return Package(name, "1", registry, "MIT", f"{name}-1.archive", hashlib.sha256(content).hexdigest())


def writer(content, calls):
    """Return a download that writes this content and remembers that it was called."""

    def write(package, folder):
        calls.append(package.name)
        (folder / "any name").write_bytes(content)

    return write


@each("registry, build", [("debian", deb), ("pypi", wheel), ("npm", npm)])
def test_a_package_is_fetched_once_and_unpacked_without_links(tmp_path, registry, build):
    content, calls, folder = build(), [], tmp_path / registry
    folder.mkdir()
    package = package_of(content, registry)
    for _ in range(2):
        place = fetch(package, folder, writer(content, calls))
    assert calls == ["a"]
    assert [path.name for path in place.rglob("*") if not path.is_dir()] == ["data.txt"]
    assert sorted(path.name for path in folder.iterdir()) == ["a-1", "archives"]


def test_what_fails_leaves_no_folder(tmp_path):
    # A wrong hash leaves nothing.
    package = replace(package_of(wheel()), sha256="0" * 64)
    with pytest.raises(ValueError, match="SHA-256"):
        fetch(package, tmp_path, writer(wheel(), []))
    assert [path.name for path in tmp_path.rglob("*")] == ["archives"]
    # An archive that cannot be unpacked leaves no folder.
    package = package_of(b"not a package", "debian")
    with pytest.raises(ValueError, match="not a Debian package"):
        fetch(package, tmp_path, writer(b"not a package", []))
    assert [path.name for path in tmp_path.iterdir()] == ["archives"]


def test_an_interrupted_download_is_not_used(tmp_path):
    content, package = wheel(), package_of(wheel())

    def interrupted(package, folder):
        (folder / "any name").write_bytes(content[:20])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(package, tmp_path, interrupted)
    assert [path.name for path in tmp_path.rglob("*")] == ["archives"]
    assert (fetch(package, tmp_path, writer(content, [])) / "usr/data.txt").read_text() == "hello"


def test_an_archive_put_there_by_hand_is_used_and_a_damaged_one_is_not(tmp_path):
    content, calls = deb(), []
    package = package_of(content, "debian")
    place = tmp_path / "archives" / package.file
    place.parent.mkdir()
    place.write_bytes(content)
    fetch(package, tmp_path, writer(content, calls))
    assert calls == []
    other = package_of(content, "debian", "b")
    (tmp_path / "archives" / other.file).write_bytes(content[:50])
    fetch(other, tmp_path, writer(content, calls))
    assert calls == ["b"]


def test_fetching_all_goes_on_after_a_failure_and_can_be_repeated(tmp_path, monkeypatch, capsys):
    good, bad = package_of(wheel()), replace(package_of(wheel(), name="b"), sha256="0" * 64)
    calls = []
    monkeypatch.setattr(fetching, "wanted", lambda parts: [bad, good])
    assert fetching.fetch_all(tmp_path, download=writer(wheel(), calls)) == 1
    captured = capsys.readouterr()
    assert "b failed" in captured.err
    assert "1 of 2 packages" in captured.out
    monkeypatch.setattr(fetching, "wanted", lambda parts: [good])
    assert fetching.fetch_all(tmp_path, download=writer(wheel(), calls)) == 0
    assert calls == ["b", "a"]
    # Without the client the error names the file.
    monkeypatch.setenv("PATH", str(tmp_path))
    package = PACKAGES["r-cran-caret"]
    with pytest.raises(
        RuntimeError, match=f"apt-get is not installed; download {package.file.split('+')[0]}"
    ):
        download(package, tmp_path)
