"""Files are written all or none, whoever else writes and whatever ends the process."""

import errno
import json
import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest

import attenua._files as files
import attenua._locks as locks
from attenua._files import sweep, write_all_whole, write_whole


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "x.bin"
    write_whole(path, b"one")
    write_whole(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["x.bin"]


@pytest.mark.skipif(os.name == "nt", reason="modes are of Unix")
@pytest.mark.parametrize("others", [False, True])
def test_a_file_that_is_replaced_keeps_its_mode(tmp_path, others):
    one, two = tmp_path / "new" / "one", tmp_path / "new" / "two"
    write_all_whole({one: b"1"}, make_folders=True)
    one.chmod(0o600)
    if others:  # the folder is not moved as a whole
        (one.parent / "three").touch()
    write_all_whole({one: b"2", two: b"2"}, force=True)
    assert (one.stat().st_mode & 0o777, one.read_bytes()) == (0o600, b"2")
    write_whole(one, b"3")
    assert (one.stat().st_mode & 0o777, one.read_bytes()) == (0o600, b"3")
    assert two.stat().st_mode & 0o400


def test_an_interruption_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "x.bin"
    write_whole(path, b"one")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(path, b"two")
    assert path.read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["x.bin"]


def test_several_files_are_written_all_or_none(tmp_path):
    one, two = tmp_path / "new" / "one", tmp_path / "new" / "two"
    write_all_whole({one: b"1", two: b"2"}, make_folders=True)
    assert (one.read_bytes(), two.read_bytes()) == (b"1", b"2")
    three = tmp_path / "new" / "three"
    with pytest.raises(FileExistsError, match="two exists already and nothing was written"):
        write_all_whole({three: b"3", two: b"4"})
    assert not three.exists()
    write_all_whole({three: b"3", two: b"4"}, force=True)
    assert (two.read_bytes(), three.read_bytes()) == (b"4", b"3")
    with pytest.raises(FileExistsError, match="is a folder"):
        write_all_whole({tmp_path / "new": b""}, force=True)
    assert sorted(os.listdir(tmp_path / "new")) == ["one", "three", "two"]


@pytest.mark.parametrize("write", [write_whole, lambda path, content: write_all_whole({path: content})])
def test_a_full_disk_names_the_file(tmp_path, monkeypatch, write):
    def full(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as refused:
        write(tmp_path / "x.bin", b"one")
    assert refused.value.filename == str(tmp_path / "x.bin")
    assert os.listdir(tmp_path) == []


NAMES = ("a.csv", "b.csv", "c.npz")
SETS = [dict.fromkeys(NAMES, content) for content in (b"old", b"new")]


def placed(folder, contents):
    return {folder / name: content for name, content in contents.items()}


def found(folder):
    """The contents of the files of a set in a folder."""
    return {name: (folder / name).read_bytes() for name in NAMES if (folder / name).exists()}


def hidden(*folders):
    return [name for folder in folders for name in os.listdir(folder) if name.startswith(".")]


@pytest.fixture(params=["own", "shared", "two"])
def places(request, tmp_path):
    """Where a set goes: a folder of its own, one with another file, or two folders."""
    folder, other = tmp_path / "folder", tmp_path / "folder" / "other"
    write_all_whole(placed(folder, SETS[0]), make_folders=True)
    if request.param == "own":
        return folder, [folder / name for name in NAMES]
    (folder / "mine.txt").write_bytes(b"mine")
    if request.param == "shared":
        return folder, [folder / name for name in NAMES]
    other.mkdir()
    os.rename(folder / "c.npz", other / "c.npz")
    return folder, [folder / "a.csv", folder / "b.csv", other / "c.npz"]


class Killed(BaseException):
    pass


def kill_at(monkeypatch, step):
    """Let the process do nothing more to files from one of its calls on; return the calls that were made."""
    calls = []

    def until_then(module, name):
        real = getattr(module, name)

        def call(*args, **options):
            calls.append(name)
            if len(calls) > step:
                raise Killed
            return real(*args, **options)

        monkeypatch.setattr(module, name, call)

    for name in ("link", "rename", "replace", "unlink", "mkdir", "fsync"):
        until_then(files.os, name)
    until_then(files.shutil, "rmtree")
    return calls


def test_a_killed_process_leaves_no_mixture_and_the_next_one_sweeps(places, monkeypatch):
    """Ends the process before each of its calls in turn, so that nothing cleans up."""
    folder, paths = places
    new, step, ended = dict.fromkeys(paths, b"new"), 0, True
    outcomes = set()
    while ended:
        with monkeypatch.context() as patch:
            kill_at(patch, step)
            try:
                write_all_whole(new, force=True)
                ended = False
            except Killed:
                pass
        seen = {path.read_bytes() for path in paths if path.exists()}
        assert len(seen) <= 1, f"a mixture when killed before call {step}"
        sweep(paths)
        contents = [path.read_bytes() for path in paths]
        assert contents in ([b"old"] * 3, [b"new"] * 3), f"not whole when killed before call {step}"
        outcomes.add(contents[0])
        assert not hidden(*{path.parent for path in paths}, folder.parent)
        for path in paths:
            path.write_bytes(b"old")
        step += 1
    assert step > 8
    assert outcomes == {b"old", b"new"}
    if (folder / "mine.txt").exists():
        assert (folder / "mine.txt").read_bytes() == b"mine"


def test_a_sweep_that_is_killed_can_be_repeated(places, monkeypatch):
    folder, paths = places
    for first in range(8, 24):
        with monkeypatch.context() as patch:
            kill_at(patch, first)
            with suppress(Killed):
                write_all_whole(dict.fromkeys(paths, b"new"), force=True)
        for second in range(6):
            with monkeypatch.context() as patch:
                kill_at(patch, second)
                with suppress(Killed):
                    sweep(paths)
        sweep(paths)
        assert [path.read_bytes() for path in paths] in ([b"old"] * 3, [b"new"] * 3)
        assert not hidden(*{path.parent for path in paths}, folder.parent)
        for path in paths:
            path.write_bytes(b"old")


def test_moves_that_were_finished_stay_so(tmp_path, monkeypatch):
    """Killed between the removal of two journals; then one of the two folders is swept before the other."""
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    paths = [folder / "x" for folder in folders]
    for path in paths:
        path.write_bytes(b"old")
    with monkeypatch.context() as patch, suppress(Killed):
        seen = kill_at(patch, 99)
        write_all_whole(dict.fromkeys(paths, b"new"), force=True)
    first = seen.index("unlink")
    for path in paths:
        path.write_bytes(b"old")
    with monkeypatch.context() as patch, suppress(Killed):
        kill_at(patch, first + 1)
        write_all_whole(dict.fromkeys(paths, b"new"), force=True)
    journals = [next(folder.glob(".attenua-*/journal.json"), None) for folder in folders]
    without = journals.index(None)
    assert journals[1 - without] is not None
    for order in (without, 1 - without):
        monkeypatch.setattr(files, "_stages_in", within(folders[order], files._stages_in))
        sweep([paths[order]])
        monkeypatch.undo()
    assert [path.read_bytes() for path in paths] == [b"new", b"new"]


def within(folder, real):
    return lambda place: real(place) if place == folder else []


def test_a_move_that_fails_is_undone_with_the_others(places, monkeypatch):
    folder, paths = places
    real, calls = os.rename, []

    def fails(*args):
        calls.append(args)
        if len(calls) == 2:
            raise OSError(errno.EIO, "Input/output error")
        return real(*args)

    monkeypatch.setattr(files.os, "rename", fails)
    with pytest.raises(OSError, match="Input/output error"):
        write_all_whole(dict.fromkeys(paths, b"new"), force=True)
    assert [path.read_bytes() for path in paths] == [b"old"] * 3
    assert not hidden(*{path.parent for path in paths}, folder.parent)


def test_a_disk_that_is_full_at_any_moment_leaves_the_old_files(places, monkeypatch):
    folder, paths = places
    for number in range(1, 6):
        calls = []

        def full(_, calls=calls, number=number):
            calls.append(1)
            if len(calls) >= number:
                raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(files.os, "fsync", full)
        with suppress(OSError):
            write_all_whole(dict.fromkeys(paths, b"new"), force=True)
        assert [path.read_bytes() for path in paths] == [b"old" if len(calls) >= number else b"new"] * 3
        assert not hidden(*{path.parent for path in paths}, folder.parent)
        for path in paths:
            path.write_bytes(b"old")


def test_a_file_that_appears_meanwhile_is_kept(tmp_path, monkeypatch):
    (tmp_path / "mine.txt").touch()
    real = os.link

    def appears(new, target):
        if Path(target).name == "c.npz":
            Path(target).write_bytes(b"mine")
        real(new, target)

    monkeypatch.setattr(files.os, "link", appears)
    with pytest.raises(FileExistsError, match=r"c.npz exists already and nothing was written"):
        write_all_whole(placed(tmp_path, SETS[1]))
    assert found(tmp_path) == {"c.npz": b"mine"}
    assert sorted(os.listdir(tmp_path)) == ["c.npz", "mine.txt"]


def test_a_folder_that_holds_more_by_then_is_not_replaced(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    write_all_whole(placed(folder, SETS[0]), make_folders=True)
    real = files._own_folder

    def too_early(*args, **options):
        own = real(*args, **options)
        (folder / "mine.txt").write_bytes(b"mine")
        return own

    monkeypatch.setattr(files, "_own_folder", too_early)
    write_all_whole(placed(folder, SETS[1]), force=True)
    assert found(folder) == SETS[1]
    assert (folder / "mine.txt").read_bytes() == b"mine"


def test_a_folder_in_use_or_not_movable_keeps_its_place(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    write_all_whole(placed(folder, SETS[0]), make_folders=True)
    before = folder.stat().st_ino
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        write_all_whole(placed(Path(), SETS[1]), force=True)
    assert found(folder) == SETS[1]
    real = os.rename

    def busy(source, target):
        if Path(source) == folder:
            raise OSError(errno.EBUSY, "Device or resource busy")
        real(source, target)

    monkeypatch.setattr(files.os, "rename", busy)
    write_all_whole(placed(folder, SETS[0]), force=True)
    assert found(folder) == SETS[0]
    assert folder.stat().st_ino == before
    assert not hidden(folder, tmp_path)


def test_links_are_kept_and_followed_to_folders(tmp_path):
    folder, link = tmp_path / "folder", tmp_path / "link"
    folder.mkdir(mode=0o750)
    link.symlink_to(folder)
    write_all_whole(placed(link, SETS[0]))
    assert link.is_symlink()
    assert found(folder) == SETS[0]
    assert folder.stat().st_mode & 0o777 == 0o750
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError, match="dangling exists already"):
        write_all_whole({tmp_path / "dangling": b""})


def race(*writers):
    """Call functions in threads at the same time; return what each raised, or None."""
    gate, raised = threading.Barrier(len(writers)), [None] * len(writers)

    def run(number):
        gate.wait()
        try:
            writers[number]()
        except Exception as error:
            raised[number] = error

    threads = [threading.Thread(target=run, args=(number,)) for number in range(len(writers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return raised


@pytest.mark.parametrize("force", [True, False])
@pytest.mark.parametrize("shared", [True, False])
def test_of_several_writers_one_wins_whole(tmp_path, force, shared):
    """Threads lock folders against each other just as processes do."""
    for number in range(10):
        folder = tmp_path / str(number)
        if shared:
            folder.mkdir()
            (folder / "mine.txt").touch()
        sets = [dict.fromkeys(NAMES, str(writer).encode()) for writer in range(4)]
        raised = race(
            *(
                lambda one=one, folder=folder: write_all_whole(
                    placed(folder, one), force=force, make_folders=True
                )
                for one in sets
            )
        )
        assert found(folder) in sets
        assert raised.count(None) == (4 if force else 1)
        assert {type(error) for error in raised} <= {type(None), FileExistsError}
        assert not hidden(folder, tmp_path)


def test_threads_may_write_to_one_path(tmp_path):
    path = tmp_path / "model.npz"
    raised = race(*(lambda n=n: write_whole(path, bytes([n])) for n in range(8)))
    assert raised == [None] * 8
    assert len(path.read_bytes()) == 1
    assert os.listdir(tmp_path) == ["model.npz"]


def test_a_stage_in_use_is_not_swept(tmp_path):
    with files._stage(tmp_path / f".attenua-{'0' * 16}") as stage:
        sweep([tmp_path / "a"])
        assert stage.exists()
    assert not stage.exists()


def test_a_journal_from_elsewhere_reaches_no_other_file(tmp_path):
    """A folder that someone sent may hold a stage; only names next to it are believed."""
    home, sent = tmp_path / "home", tmp_path / "sent"
    stage = sent / f".attenua-{'0' * 16}"
    for folder in (home, sent, stage, stage / "new", stage / "old"):
        folder.mkdir()
    (home / "mine").write_bytes(b"mine")
    (stage / "old" / "mine").write_bytes(b"theirs")
    missing = [str(sent), "not made, so that the other would be undone"]
    for units in ([[str(home), "mine"], missing], [[str(sent), "../home/mine"], missing], [[1, 2]], 7):
        for folder in (stage, stage / "new", stage / "old"):
            folder.mkdir(exist_ok=True)
        (stage / "journal.json").write_text(json.dumps(units))
        sweep([sent / "a"])
        assert (home / "mine").read_bytes() == b"mine"
        assert os.listdir(home) == ["mine"]
        assert set(os.listdir(sent)) <= {stage.name}


def test_where_folders_cannot_be_locked_files_are_written_and_nothing_is_swept(tmp_path, monkeypatch):
    def refuses(_):
        raise locks.NotLockable

    left = tmp_path / f".attenua-{'0' * 16}"
    left.mkdir()
    monkeypatch.setattr(locks, "try_lock", refuses)
    monkeypatch.setattr(files, "try_lock", refuses)
    write_all_whole(placed(tmp_path / "folder", SETS[0]), make_folders=True)
    write_all_whole(placed(tmp_path, SETS[0]))
    assert found(tmp_path / "folder") == found(tmp_path) == SETS[0]
    assert hidden(tmp_path) == [left.name]


def test_a_folder_that_stays_locked_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(locks, "_LONGEST_WAIT", 0.05)
    with locks.locked(tmp_path) as alone:
        assert alone
        with pytest.raises(TimeoutError, match=r"another program has kept the folder .* locked"):
            write_whole(tmp_path / "x", b"one")
    write_whole(tmp_path / "x", b"one")


def test_a_file_system_without_links(places, monkeypatch):
    def refuses(*_):
        raise OSError(errno.ENOTSUP, "Operation not supported")

    monkeypatch.setattr(files.os, "link", refuses)
    _, paths = places
    write_all_whole(dict.fromkeys(paths, b"new"), force=True)
    assert [path.read_bytes() for path in paths] == [b"new"] * 3
    with pytest.raises(FileExistsError, match="exists already"):
        write_all_whole(dict.fromkeys(paths, b"newer"))
