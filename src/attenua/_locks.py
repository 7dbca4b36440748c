"""Locks on folders that end with the process that holds them, however it ends."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_LONGEST_WAIT, _PAUSE = 60.0, 0.01


class NotLockable(Exception):
    """The file system does not lock folders, or there is no permission to."""


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Wait for a folder and keep other writers out of it; yields False where folders cannot be locked.

    Threads exclude each other as processes do. Raises TimeoutError after a minute of waiting.
    """
    deadline = time.monotonic() + _LONGEST_WAIT
    try:
        while (lock := try_lock(folder)) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"another program has kept the folder {folder} locked for a minute")
            time.sleep(_PAUSE)
    except NotLockable:
        yield False
        return
    try:
        yield True
    finally:
        unlock(lock)


if sys.platform == "win32":  # pragma: no cover
    _NAME = ".attenua.lock"

    def try_lock(folder: Path) -> int | None:
        """Return a lock on a folder, or None while another holds it."""
        # Windows deletes the file when its only handle is closed, at the latest with the process.
        try:
            return os.open(folder / _NAME, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_TEMPORARY)
        except (FileExistsError, PermissionError):  # the latter while it is being deleted
            return None
        except OSError:
            raise NotLockable from None

    def unlock(lock: int) -> None:
        """Give a lock back."""
        os.close(lock)

else:
    import fcntl

    def try_lock(folder: Path) -> int | None:
        """Return a lock on a folder, or None while another holds it."""
        try:
            lock = os.open(folder, os.O_RDONLY)
        except OSError:
            raise NotLockable from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The folder may have been replaced while another held its lock.
            if os.path.samestat(os.fstat(lock), os.stat(folder)):
                return lock
        except (BlockingIOError, FileNotFoundError):
            pass
        except OSError:
            os.close(lock)
            raise NotLockable from None
        os.close(lock)
        return None

    def unlock(lock: int) -> None:
        """Give a lock back."""
        # A child that was forked meanwhile has the descriptor too: closing it would not be enough.
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_UN)
        os.close(lock)
