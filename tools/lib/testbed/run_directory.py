"""One directory for all files of a run, and what becomes of it if the run cannot remove it.

The run holds a lock on its directory; the kernel drops that lock when the process is gone. So a
directory that can be locked has no owner, and sweep() removes it.
"""

import fcntl
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "tributary-run-"


class RunDirectory:
    def __init__(self):
        self._fd = None
        while self._fd is None:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
            self._fd = _lock(self.path, wait=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._fd)

    def __truediv__(self, name):
        return self.path / name


def _lock(path, wait):
    """A descriptor that locks the directory; None if it is gone or another process has it."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        # Between its creation and the lock, a sweep may have removed it.
        if os.path.samestat(os.fstat(fd), os.stat(path)):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(fd)
    return None


def sweep():
    """Removes this user's run directories that have no living owner; returns their paths."""
    removed = []
    for path in Path(tempfile.gettempdir()).glob(PREFIX + "*"):
        try:
            if path.lstat().st_uid != os.geteuid():
                continue
        except FileNotFoundError:
            continue
        fd = _lock(path, wait=False)
        if fd is None:
            continue
        shutil.rmtree(path, ignore_errors=True)
        os.close(fd)
        removed.append(path)
    return removed
