"""Manages folders of the disk cache. Each folder has a marker file (CACHEDIR.TAG): folders without a marker
are neither removed nor trusted.

A permanent folder (`create_folder`) has a list of its files with their hashes. If the files do not match the list (after a full
disk or a power failure), `find_folder` treats the folder as missing, and it is created again.

A process locks the marker file of its `WorkingFolder` folder during its lifetime. A folder without a lock belongs
to a killed process; the next process that creates a folder in the same parent removes it.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

try:
    from _blake2 import blake2b  # importing hashlib loads OpenSSL, which takes milliseconds
except ImportError:
    from hashlib import blake2b

if TYPE_CHECKING:
    from collections.abc import Callable

_TAG = "CACHEDIR.TAG"
_MARK = b"""Signature: 8a477f597d28d172789f06886806bc55
# This folder was made by numbalite, which may remove it with all that is in it.
# For information about cache directory tags see https://bford.info/cachedir/
"""
_PREFIX = "numbalite-"
_LIST = "files"  # list of a permanent folder: its own hash, then a line `hash path` for each file
_DIGEST = 16
_MAX_NAMES = 4  # maximum number of alternative names, if a foreign file has the first name
_ROOM = 1 << 20  # bytes of free disk space that any build needs
_swept: set[str] = set()  # parent folders already searched for abandoned folders


def is_writable_by_others(status) -> bool:
    """Returns whether a file with this status belongs to another user, or other users may write to the
    file."""
    if not hasattr(os, "geteuid"):
        return False
    return status.st_uid not in (os.geteuid(), 0) or bool(status.st_mode & 0o022)


def mark_folder(folder: str) -> None:
    """Marks a folder as numbalite's, unless it is marked."""
    try:
        with open(os.path.join(folder, _TAG), "xb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(_MARK)
    except FileExistsError:
        pass


def has_marker(folder: str) -> bool:
    """Returns whether the path is a folder (not a link) that contains the marker file."""
    path = os.path.join(folder, _TAG)
    try:
        if stat.S_ISDIR(os.lstat(folder).st_mode) and stat.S_ISREG(os.lstat(path).st_mode):
            with open(path, "rb") as file:
                return file.read(len(_MARK) + 1) == _MARK
    except OSError:
        pass
    return False


def is_trusted(folder: str, *names: str) -> bool:
    """Returns whether the folder has the tag of a cache directory and regular files with these names, which no
    other user may write to."""
    try:
        files = [os.lstat(os.path.join(folder, name)) for name in (_TAG, *names)]
        if is_writable_by_others(os.lstat(folder)) or any(map(is_writable_by_others, files)):
            return False
    except OSError:
        return False
    return has_marker(folder) and all(stat.S_ISREG(status.st_mode) for status in files)


def full_disk_reason(folder: str) -> str:
    """Returns why a build cannot write files to the folder (full disk, file size limit), or "" if it can."""
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


def remove_folder(folder: str) -> None:
    """Removes a marked folder with its contents; ignores files that cannot be removed."""
    import shutil

    if has_marker(folder):
        shutil.rmtree(folder, ignore_errors=True)


def find_folder(folder: str, *names: str) -> str | None:
    """Returns the path of an undamaged folder that `create_folder` created, with files of these names; None
    if there is none.

    The returned path may end with a number.
    """
    return next((path for path in _candidate_paths(folder) if is_undamaged(path, *names)), None)


def is_undamaged(folder: str, *names: str) -> bool:
    """Returns whether `create_folder` created this folder, with files of these names, and all files match their
    hashes."""
    if not is_trusted(folder, _LIST, *names):
        return False
    try:
        with open(os.path.join(folder, _LIST), "rb") as file:
            return file.read() == _list_of_digests(_file_hashes(folder))
    except OSError:
        return False


def create_folder(folder: str, fill: Callable) -> None:
    """Creates a permanent folder in place of a damaged one. fill(path) writes into a new folder and returns
    whether it is complete. Creates nothing if the disk is full or another process was faster."""
    for path in _candidate_paths(folder):
        remove_folder(path)  # a damaged folder
        if not os.path.lexists(path):
            break
    else:
        return
    try:
        with WorkingFolder(os.path.dirname(path)) as working:
            if fill(working):
                with open(os.path.join(working, _LIST), "wb") as file:
                    file.write(_list_of_digests(_file_hashes(working)))
                for name in os.listdir(working):
                    inside = os.path.join(working, name)
                    os.chmod(inside, 0o700 if os.path.isdir(inside) else 0o600)
                os.rename(working, path)
    except OSError:
        pass


def _candidate_paths(folder):
    """Returns the possible paths of a permanent folder: the next one is used if a foreign file has the first name."""
    return [folder, *(f"{folder}-{number}" for number in range(1, _MAX_NAMES))]


def _hex_digest(data):
    return blake2b(data, digest_size=_DIGEST).hexdigest().encode()


def _file_hashes(folder):
    """Returns {path in the folder: hash} of all files except the list of files itself."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(where, name)
            inside = os.path.relpath(path, folder)
            if inside != _LIST:
                with open(path, "rb") as file:
                    found[os.fsencode(inside)] = _hex_digest(file.read())
    return found


def _list_of_digests(digests):
    lines = b"".join(b"%s %s\n" % (digests[path], path) for path in sorted(digests))
    return _hex_digest(lines) + b"\n" + lines


def remove_abandoned(parent: str) -> None:
    """Removes the working folders whose processes are gone."""
    try:
        names = [name for name in os.listdir(parent) if name.startswith(_PREFIX)]
    except OSError:
        return
    for name in names:
        folder = os.path.join(parent, name)
        if has_marker(folder) and _is_unlocked_folder(folder):
            remove_folder(folder)


def _is_unlocked_folder(folder):
    import fcntl

    try:
        with open(os.path.join(folder, _TAG), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False  # in use, or just removed
    return True


class WorkingFolder:
    """A temporary folder for a `with` block, in `parent` or the system's folder for temporary files.

    `name` is its path. Entering the `with` block raises OSError if the folder cannot be created.
    """

    def __init__(self, parent: str | None = None):
        import fcntl
        import tempfile

        parent = parent or tempfile.gettempdir()
        if parent not in _swept:
            _swept.add(parent)
            remove_abandoned(parent)
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
