"""Folders of numbalite's own, each with a mark (CACHEDIR.TAG): nothing without it is ever removed or trusted.

A process locks the mark of its `Working` folder for as long as it lives. So a folder without such a lock is one
that a killed process has left, and the next process that makes a folder there removes it.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TAG = "CACHEDIR.TAG"
_MARK = b"""Signature: 8a477f597d28d172789f06886806bc55
# This folder was made by numbalite, which may remove it with all that is in it.
# For information about cache directory tags see https://bford.info/cachedir/
"""
_PREFIX = "numbalite-"
_ROOM = 1 << 20  # bytes that the files of any build fit into
_swept: set[str] = set()  # folders in which abandoned ones were looked for


def is_others(status) -> bool:
    """Has somebody else made what this status is of, or may they change it?"""
    if not hasattr(os, "geteuid"):
        return False
    return status.st_uid not in (os.geteuid(), 0) or bool(status.st_mode & 0o022)


def mark(folder: str) -> None:
    """Marks a folder as numbalite's, unless it is marked."""
    try:
        with open(os.path.join(folder, _TAG), "xb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(_MARK)
    except FileExistsError:
        pass


def is_marked(folder: str) -> bool:
    """Is this a folder, no link to one, with the mark in it?"""
    path = os.path.join(folder, _TAG)
    try:
        if stat.S_ISDIR(os.lstat(folder).st_mode) and stat.S_ISREG(os.lstat(path).st_mode):
            with open(path, "rb") as file:
                return file.read(len(_MARK) + 1) == _MARK
    except OSError:
        pass
    return False


def is_ours(folder: str, *names: str) -> bool:
    """Is it marked, with plain files of these names, and may nobody else write to any of them?"""
    try:
        files = [os.lstat(os.path.join(folder, name)) for name in (_TAG, *names)]
        if is_others(os.lstat(folder)) or any(map(is_others, files)):
            return False
    except OSError:
        return False
    return is_marked(folder) and all(stat.S_ISREG(status.st_mode) for status in files)


def without_room(folder: str) -> str:
    """Why a program may have failed to write files of usual size there, as a sentence; or nothing."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    if most != resource.RLIM_INFINITY and most < _ROOM:
        return f"a file may have {most} bytes in this process: raise the limit, ulimit -f"
    try:
        system = os.statvfs(folder)
    except OSError:
        return ""
    free = system.f_bavail * system.f_frsize
    if free >= _ROOM:
        return ""
    return f"{folder} has room for {free} bytes: remove what is not needed, or set TMPDIR to a folder with room"


def remove(folder: str) -> None:
    """Removes a marked folder with all that is in it; what cannot be removed stays."""
    import shutil

    if is_marked(folder):
        shutil.rmtree(folder, ignore_errors=True)


def make(folder: str, fill: Callable) -> None:
    """Makes a folder to keep: fill(path) writes into one beside it and says whether that is to stay. Nothing
    comes of it where the disk is full, or somebody else was faster."""
    remove(folder)  # one that lacks something
    if os.path.lexists(folder):
        return
    try:
        with Working(os.path.dirname(folder)) as working:
            if fill(working):
                for name in os.listdir(working):
                    path = os.path.join(working, name)
                    os.chmod(path, 0o700 if os.path.isdir(path) else 0o600)
                os.rename(working, folder)
    except OSError:
        pass


def sweep(parent: str) -> None:
    """Removes the working folders whose processes are gone."""
    try:
        names = [name for name in os.listdir(parent) if name.startswith(_PREFIX)]
    except OSError:
        return
    for name in names:
        folder = os.path.join(parent, name)
        if is_marked(folder) and _is_abandoned(folder):
            remove(folder)


def _is_abandoned(folder):
    import fcntl

    try:
        with open(os.path.join(folder, _TAG), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # in use, or just removed
    return True


class Working:
    """A folder for the time of a `with`, in `parent` or where the system keeps such; OSError if none can be
    made. `name` is its path."""

    def __init__(self, parent: str | None = None):
        import fcntl
        import tempfile

        parent = parent or tempfile.gettempdir()
        if parent not in _swept:
            _swept.add(parent)
            sweep(parent)
        self._folder = tempfile.TemporaryDirectory(
            prefix=_PREFIX, dir=parent, ignore_cleanup_errors=True
        )
        self.name = self._folder.name
        self._lock = open(os.path.join(self.name, _TAG), "xb", buffering=0)
        os.fchmod(self._lock.fileno(), 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        else:
            self._lock.write(_MARK)

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_):
        self.cleanup()

    def cleanup(self):
        self._lock.close()
        self._folder.cleanup()
