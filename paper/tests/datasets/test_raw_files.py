import hashlib
import io
import zipfile

import pytest
from tests.helpers import each

from attenua_paper.datasets.raw import Member, TextFile, WrongContent, ZipArchive

FILES = {"train/x.txt": b"1 2\r\n3 4\r\n", "test/x.txt": b"5 6\r\n"}
ARCHIVE = ZipArchive(
    name="Inner.zip",
    addresses=("http://example.org/Inner.zip",),
    root="Root/",
    members=tuple(
        Member(name, len(content), hashlib.sha256(content).hexdigest()) for name, content in FILES.items()
    ),
)
ROOTED = {f"Root/{name}": content for name, content in FILES.items()}


def zipped(files):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def text_file():
    content = b"a,b\n1,2\n"
    return TextFile("small.csv", ("http://example.org/small.csv",), hashlib.sha256(content).hexdigest())


def test_text_is_accepted_with_either_line_end(text_file):
    assert text_file.verified(b"a,b\n1,2\n") == {"small.csv": b"a,b\n1,2\n"}
    assert text_file.verified(b"a,b\r\n1,2\r\n") == {"small.csv": b"a,b\n1,2\n"}


@each("content", [b"", b"a,b\n1,2", b"a,b\n1,3\n", b"a,b\r1,2\r"])
def test_other_text_is_refused(text_file, content):
    with pytest.raises(
        WrongContent, match=f"{hashlib.sha256(content).hexdigest()}, expected {text_file.sha256}"
    ):
        text_file.verified(content)


@each(
    "content",
    [
        zipped(ROOTED),
        zipped(FILES),
        zipped({"notes.txt": b"see inside", "Inner.zip": zipped(ROOTED)}),
    ],
)
def test_members_are_read(content):
    assert ARCHIVE.verified(content) == FILES


def test_names_that_leave_the_folder_or_only_resolve_to_a_member(tmp_path, monkeypatch):
    # Names that leave the folder are harmless.
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    evil = {"../evil.txt": b"evil", str(tmp_path / "evil.txt"): b"evil", "Root/../../evil.txt": b"evil"}
    assert ARCHIVE.verified(zipped(evil | ROOTED)) == FILES
    assert sorted(tmp_path.rglob("*")) == [tmp_path / "a", inside]
    # Member under a name that only resolves to it is not read.
    renamed = {f"Root/../Root/{name}": content for name, content in FILES.items()}
    with pytest.raises(WrongContent, match=r"no member 'Root/train/x\.txt'"):
        ARCHIVE.verified(zipped(renamed))


@each(
    "content, message",
    [
        (zipped(ROOTED | {"Root/test/x.txt": b"5 7\r\n"}), r"member 'Root/test/x\.txt' has sha256"),
        (zipped(ROOTED | {"Root/test/x.txt": b"0" * 10**6}), "more than 5 bytes"),
        (zipped({"Root/train/x.txt": FILES["train/x.txt"]}), r"no member 'Root/test/x\.txt'"),
        (zipped(ROOTED)[:-30], "not a readable zip"),
        (b"<html>Sign in</html>", "not a readable zip"),
        (zipped({"Inner.zip": b"not a zip"}), "not a readable zip"),
        (zipped({"Inner.zip": zipped({"Inner.zip": zipped(ROOTED)})}), "no member"),
    ],
)
def test_other_archives_are_refused(content, message):
    with pytest.raises(WrongContent, match=message):
        ARCHIVE.verified(content)


def test_archive_within_an_archive_is_read_up_to_a_limit(monkeypatch):
    content = zipped({"Inner.zip": zipped(ROOTED)})
    monkeypatch.setattr("attenua_paper.datasets.raw._NESTED_LIMIT", 100)
    with pytest.raises(WrongContent, match="more than 100 bytes"):
        ARCHIVE.verified(content)
