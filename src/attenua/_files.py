"""Files on disk, written together: all of them or none, whoever else writes and whatever ends the process.

New files are written to a *stage* first, a hidden folder next to their targets with a name of its own. Then
they are moved. A folder that is new, or holds nothing but the files that are replaced, is moved as a whole.
In any other folder all old files move to the stage before the first new one leaves it: old and new ones are
never there together. The stage keeps a journal of the moves. If a move fails, they are undone at once. If the
process is killed, the next one that writes there undoes them. So does the check that a command makes before
it starts.

Nothing is ever moved over something that is there, but for a single file that is replaced.
"""

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from attenua._locks import NotLockable, locked, try_lock, unlock

_STAGE = re.compile(r"\.attenua-[0-9a-f]{16}")
_JOURNAL = "journal.json"
# Folders in use, mount points, and folders in a folder that is not ours to change.
_NOT_MOVABLE = (errno.EBUSY, errno.EXDEV, errno.EACCES, errno.EPERM, errno.EROFS)


class _Move(NamedTuple):
    """A file, or a folder with its files, that goes from its stage to its place."""

    target: Path
    stage: Path

    @property
    def new(self) -> Path:
        return self.stage / "new" / self.target.name

    @property
    def old(self) -> Path:
        return self.stage / "old" / self.target.name

    @property
    def is_made(self) -> bool:
        """Whether the new one is in its place. A file keeps its name in the stage until all are."""
        if not os.path.lexists(self.target):
            return False
        if not os.path.lexists(self.new):
            return self.stage.is_dir()
        return os.path.samestat(os.lstat(self.new), os.lstat(self.target))


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file so that an interruption leaves either the old one or the new one, never a part."""
    write_all_whole({Path(path): content}, force=True)


def write_all_whole(
    contents: Mapping[Path, bytes], *, force: bool = False, make_folders: bool = False
) -> None:
    """Write several files, all of them or none; an existing file is an error unless `force`."""
    sweep(contents)
    refuse_existing(contents, force=force)
    folder = _own_folder(contents, new=make_folders)
    if folder is not None:
        if make_folders:
            folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            if _write_staged(contents, force=force, folder=folder):
                return
        except OSError as error:
            if error.errno not in _NOT_MOVABLE:
                raise
    for parent in {path.parent for path in contents} if make_folders else ():
        parent.mkdir(parents=True, exist_ok=True)
    _write_staged(contents, force=force)


def refuse_existing(paths: Iterable[Path], *, force: bool = False) -> None:
    """Raise FileExistsError for the first file that exists, unless `force`."""
    for path in paths:
        if path.is_dir():
            raise FileExistsError(f"{path} is a folder; give the name of a file.")
        if os.path.lexists(path) and not force:
            raise FileExistsError(
                f"{path} exists already and nothing was written; force=True (--force) replaces it."
            )


def sweep(paths: Iterable[Path]) -> None:
    """Undo what processes that were killed left half done where these files are to be written."""
    folders = {Path(os.path.realpath(path.parent)) for path in paths}
    for folder in folders | {folder.parent for folder in folders}:
        if _stages_in(folder):
            with locked(folder) as alone:
                for stage in _stages_in(folder) if alone else ():
                    _sweep_stage(stage)


def _own_folder(contents: Mapping[Path, bytes], *, new: bool) -> Path | None:
    """Return the folder of several files if it can be moved with them, as far as can be seen from here."""
    parents = {path.parent for path in contents}
    if len(contents) == 1 or len(parents) > 1:
        return None
    folder = Path(os.path.realpath(parents.pop()))
    if not os.path.lexists(folder):
        return folder if new else None
    here = Path(os.path.realpath(os.curdir))
    in_use = os.path.ismount(folder) or folder == here or folder in here.parents
    return folder if not in_use and _holds_only(folder, contents) else None


def _holds_only(folder: Path, files: Iterable[Path]) -> bool:
    """Whether a folder holds nothing but some of these files."""
    names = {path.name for path in files}
    try:
        with os.scandir(folder) as entries:
            return all(entry.name in names and entry.is_file(follow_symlinks=False) for entry in entries)
    except OSError:
        return False


# --- a stage, and the moves from it -----------------------------------------------------------------------


def _write_staged(contents: Mapping[Path, bytes], *, force: bool, folder: Path | None = None) -> bool:
    """Write files to stages, then move them into place, or `folder` with all of them as one.

    Returns False, with nothing changed, if that folder turns out to be more than the folder of these files.
    """
    places = {path: Path(os.path.realpath(path.parent)) / path.name for path in contents}
    targets = [*places.values()] if folder is None else [folder]
    with ExitStack() as stages, ExitStack() as locks:
        with _naming(next(iter(contents))):
            name = f".attenua-{secrets.token_hex(8)}"
            stage_in = {parent: stages.enter_context(_stage(parent / name)) for parent in _parents(targets)}
        moves = [_Move(target, stage_in[target.parent]) for target in targets]
        if folder is not None:
            moves[0].new.mkdir()
        for path, place in places.items():
            new = stage_in[place.parent] / "new" if folder is None else moves[0].new
            _write_synced(new / path.name, contents[path], path)
            with suppress(OSError):  # there is none to replace, or the file system has no modes
                shutil.copymode(place, new / path.name)
        for place in sorted({*stage_in, *(target for target in targets if target.is_dir())}):
            locks.enter_context(locked(place))
        refuse_existing(contents, force=force)
        if folder is not None and folder.exists():
            if not (_holds_only(folder, contents) and _is_owned_like(folder, moves[0].new)):
                return False
            shutil.copymode(folder, moves[0].new)
        _make(moves)
    return True


def _parents(targets: Iterable[Path]) -> list[Path]:
    return sorted({target.parent for target in targets})


def _is_owned_like(folder: Path, other: Path) -> bool:
    one, two = folder.stat(), other.stat()
    return (one.st_uid, one.st_gid) == (two.st_uid, two.st_gid)


@contextmanager
def _stage(stage: Path) -> Iterator[Path]:
    """Make a stage; it is locked for as long as this process uses it."""
    lock = None
    with locked(stage.parent) as alone:
        for path in (stage, stage / "new", stage / "old"):
            path.mkdir()
        with suppress(NotLockable):
            lock = try_lock(stage) if alone else None
    try:
        yield stage
    finally:
        if lock is not None:
            unlock(lock)
        # A journal that is still there is for the next process to read.
        if not (stage / _JOURNAL).exists():
            shutil.rmtree(stage, ignore_errors=True)


def _make(moves: Sequence[_Move]) -> None:
    """Make all moves or none."""
    if len(moves) == 1 and moves[0].new.is_file():
        (move,) = moves
        if os.path.lexists(move.target):
            os.replace(move.new, move.target)
        else:
            _place(move)
        return
    journal = json.dumps([[str(move.target.parent), move.target.name] for move in moves]).encode()
    try:
        for stage in {move.stage for move in moves}:
            _write_synced(stage / _JOURNAL, journal, moves[0].target)
        for move in moves:
            if os.path.lexists(move.target):
                os.rename(move.target, move.old)
        for move in moves:
            _place(move)
    finally:
        _finish_or_undo(moves)


def _place(move: _Move) -> None:
    """Put one file or folder in its place, never over something that is there."""
    if move.new.is_dir():
        os.rename(move.new, move.target)  # an error if the target is a folder with files
        return
    try:
        os.link(move.new, move.target)
    except FileExistsError:
        refuse_existing([move.target])
        raise
    except OSError:  # this file system has no links
        refuse_existing([move.target])
        os.rename(move.new, move.target)


def _finish_or_undo(moves: Sequence[_Move]) -> None:
    """Drop what was replaced if all moves are made, else undo all; an interruption here can be repeated."""
    if not all(move.is_made for move in moves):
        for move in moves:
            if move.is_made:
                move.target.unlink() if move.new.exists() else os.rename(move.target, move.new)
            if os.path.lexists(move.old) and not os.path.lexists(move.target):
                os.rename(move.old, move.target)
    stages = {move.stage for move in moves}
    for stage in stages:  # all journals first: the files of a stage say which moves were made
        (stage / _JOURNAL).unlink(missing_ok=True)
    for stage in stages:
        shutil.rmtree(stage, ignore_errors=True)


def _write_synced(part: Path, content: bytes, path: Path) -> None:
    """Write a new file to the disk; an error names the file that it will be."""
    with _naming(path), open(part, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.filename is not None or error.errno is not None:
            error.filename = os.fspath(path)
        raise


# --- what killed processes left ---------------------------------------------------------------------------


def _stages_in(folder: Path) -> list[Path]:
    """Return the stages in a folder that belong to this user."""
    user, found = os.getuid() if hasattr(os, "getuid") else 0, []
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            # One that ends its work may be gone by now.
            with suppress(FileNotFoundError):
                is_folder = _STAGE.fullmatch(entry.name) and entry.is_dir(follow_symlinks=False)
                if is_folder and entry.stat(follow_symlinks=False).st_uid == user:
                    found.append(Path(entry.path))
    return found


def _sweep_stage(stage: Path) -> None:
    """Undo the moves of a stage and remove it, unless a process still uses it; its folder is locked."""
    moves = _journalled(stage)
    if moves is None:
        return
    places = {stage, *(move.stage for move in moves), *_parents(move.target for move in moves)}
    with ExitStack() as locks:
        if all(_lock_taken(place, locks) for place in sorted(places - {stage.parent})):
            _finish_or_undo(moves)
            shutil.rmtree(stage, ignore_errors=True)


def _lock_taken(folder: Path, locks: ExitStack) -> bool:
    """Whether a folder could be locked until the stack is closed, or is not there."""
    if not folder.is_dir():
        return True
    with suppress(NotLockable):
        lock = try_lock(folder)
        if lock is not None:
            locks.callback(unlock, lock)
            return True
    return False


def _journalled(stage: Path) -> list[_Move] | None:
    """Return the moves of a stage, none if they had not begun or all were settled.

    A journal may come from elsewhere, in a folder that someone sent. It is believed, else None is returned,
    if files have plain names, next to a stage of this name and user.
    """
    try:
        units: Any = json.loads((stage / _JOURNAL).read_bytes())
        moves = [_Move(Path(folder) / name, Path(folder) / stage.name) for folder, name in units]
        names = [name for _, name in units]
        # All stages are there until the last move is settled: if one is gone, this one is too late.
        owners = {move.stage.stat().st_uid for move in moves}
    except (OSError, ValueError, TypeError):
        return []
    plain = all(name == Path(name).name and name not in ("", "..") for name in names)
    return moves if plain and owners == {stage.stat().st_uid} else None
