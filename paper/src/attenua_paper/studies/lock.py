"""A lock that one process holds on a file of results, and that ends with the process, however it ends."""

import os
import sys
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _take(descriptor: int) -> None:
        # Nobody can read the bytes that are locked, so it is one far behind the number of the process.
        os.lseek(descriptor, 1 << 20, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        os.lseek(descriptor, 0, os.SEEK_SET)
else:
    import fcntl

    def _take(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


class LockHeld(Exception):
    """Another process holds the lock; the text says which."""


class FileLock:
    """The operating system's lock on a file that names the process which holds it.

    The system frees it when the process ends, killed or not. The file stays: if it were removed, two
    processes could hold locks on two files of one name.

    Parameters
    ----------
    path : path
        The file; made if it is not there.

    Raises
    ------
    LockHeld
        If another process has the lock.
    OSError
        If the file cannot be made, written or locked.
    """

    def __init__(self, path: Path):
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._take(path)
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, str(os.getpid()).encode())
        except BaseException:
            self.release()
            raise

    def _take(self, path: Path) -> None:
        try:
            _take(self._descriptor)
        except (BlockingIOError, PermissionError):
            number = path.read_text(encoding="ascii", errors="replace")
            raise LockHeld(f"process {number}" if number.isdigit() else "another process") from None

    def release(self) -> None:
        """Let others have the lock."""
        os.close(self._descriptor)
