"""Implements the disk cache of compiled images and translated Python bodies, shared by all processes of a
user.

There is one file per image, named by its key: a hash of everything that determines the image. Translated Python bodies
(kernels/translations.py), the choices of cuda.autotune (tuning/tuned.py) and disassembled machine code
(compilers/disassembler.py) are stored likewise. A file is written under a temporary name and renamed, so readers never see
a partial file. A cache file begins with its key and the hash of its contents; a file that does not match is
deleted and compiled again. All other problems with cache files are cache misses, never errors.

Loading an image executes code, so the directory must belong to the user or to root, and no other user may have write
permission. If other users can write to the directory, a warning is issued and caching is disabled.

No other files in the directory are modified: the cache recognizes its files by name and first bytes, its folders by
their mark (folders.py).

A hit updates the date of its file, at most once an hour. If the directory exceeds NUMBALITE_CACHE_SIZE, the least
recently used files are removed.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import time
from typing import TYPE_CHECKING, Any

from numbalite import config
from numbalite.compilers import folders
from numbalite.compilers.image import Image
from numbalite.errors import CacheWarning, warn

if TYPE_CHECKING:
    from collections.abc import Callable

try:
    from _blake2 import blake2b  # importing hashlib loads OpenSSL, which takes milliseconds
except ImportError:
    from hashlib import blake2b

SCHEMA = 2  # version of the formats of keys and files

_MAGIC = b"numbalite image\1"
IMAGE, TRANSLATION, TUNING, DISASSEMBLY = ".image", ".body", ".tuning", ".sass"  # suffixes of files
_DIGEST = 16
_TOUCH_AFTER = 3600.0  # seconds: resolution of the dates of use
_ABANDONED = 3600.0  # seconds: age at which a temporary file is abandoned
_NAME = re.compile(r"[0-9a-f]{32}\.(image|body|tuning|sass)(\.\d+-[0-9a-f]{12}\.tmp)?")
PRELUDE = "prelude-"  # prefix of folders with precompiled headers of the host compiler
TEXTS = "texts-"  # prefix of folders with generated source texts for debuggers (debugger.py)
_PRELUDE_AGE = 30 * 24 * 3600.0  # seconds after which a precompiled header is compiled again


def hash_values(*parts) -> bytes:
    """Returns a hash of plain values (text, bytes, numbers, tuples, None)."""
    return blake2b(repr(parts).encode("utf-8", "surrogatepass"), digest_size=_DIGEST).digest()


def _default_directory():
    root = config.read_external("XDG_CACHE_HOME")
    if not root or not os.path.isabs(root):
        folder = "Library/Caches" if sys.platform == "darwin" else ".cache"
        root = os.path.join(os.path.expanduser("~"), folder)
    return os.path.join(root, "numbalite")


def wanted_directory() -> str:
    """Returns the path of the cache directory, which may not exist."""
    return config.CACHE_DIR or _default_directory()


_checked: dict[str, bool] = {}  # directory -> is it usable?


def usable_directory() -> str | None:
    """Returns the cache's directory, created if necessary, or None if there is no cache."""
    if config.DISABLE_CACHE:
        return None
    path = wanted_directory()
    usable = _checked.get(path)
    if usable is None:
        problem = _prepare_directory(path)
        usable = _checked[path] = problem is None
        if problem:
            warn(
                f"no disk cache: {problem}; kernels are compiled anew in each process", CacheWarning
            )
    return path if usable else None


def _prepare_directory(path):
    """Creates the directory and checks its owner and permissions. Returns the problem, or None."""
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:
            pass
        status = os.stat(path)
    except OSError as problem:
        return f"{path}: {problem.strerror}"
    if not stat.S_ISDIR(status.st_mode):
        return f"{path} is not a directory"
    if folders.is_writable_by_others(status):
        if status.st_uid not in (os.geteuid(), 0):
            return f"{path} belongs to another user"
        return f"others may write to {path} (chmod 700 would do)"
    return None


def _entry_path(key: bytes | None, suffix: str = IMAGE) -> str | None:
    folder = usable_directory() if key is not None else None
    return os.path.join(folder, key.hex() + suffix) if key is not None and folder else None


def image_path(key: bytes | None) -> str | None:
    """Returns the file that stores the image of this key, or None."""
    path = _entry_path(key)
    return path if path and os.path.exists(path) else None


def load_image(key: bytes | None) -> Image | None:
    """Returns the image stored under a key, or None."""
    return load_entry(Image.from_bytes, key)


def load_entry(made_from: Callable, key: bytes | None, suffix: str = IMAGE) -> Any:
    """Returns ``made_from(bytes)`` for the bytes stored under a key, or None.

    A ValueError of ``made_from`` means that the stored bytes are invalid, and counts as a miss.
    """
    path = _entry_path(key, suffix)
    if key is None or path is None:
        return None
    try:
        raw = _read_file(path)
    except OSError:
        return None
    start = len(_MAGIC)
    check = start + len(key)
    body = check + _DIGEST
    if raw[:start] == _MAGIC and raw[start:check] == key:
        contents = raw[body:]
        if blake2b(contents, digest_size=_DIGEST).digest() == raw[check:body]:
            try:
                return made_from(contents)
            except ValueError:
                pass
    _unlink_if_possible(path)
    return None


def _read_file(path):
    # Non-blocking: opening a pipe instead of a file would wait.
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or folders.is_writable_by_others(status):
            return b""
        with open(handle, "rb", buffering=0, closefd=False) as file:
            raw = file.readall()
    finally:
        os.close(handle)
    if time.time() - status.st_mtime > _TOUCH_AFTER:
        try:
            os.utime(path)
        except OSError:
            pass  # a read-only cache
    return raw


def store_image(key: bytes | None, image: Image) -> bool:
    """Stores an image. Returns whether the image was stored."""
    return key is not None and store_bytes(key, image.to_bytes())


def store_bytes(key: bytes, contents: bytes, suffix: str = IMAGE) -> bool:
    """Stores bytes under a key. Returns whether the bytes were stored."""
    path = _entry_path(key, suffix)
    if path is None:
        return False
    check = blake2b(contents, digest_size=_DIGEST).digest()
    limit = config.CACHE_SIZE
    if len(contents) > limit:
        return False
    temporary = f"{path}.{os.getpid()}-{os.urandom(6).hex()}.tmp"
    try:
        with open(temporary, "xb", opener=_open_owner_only) as file:
            file.write(b"".join((_MAGIC, key, check, contents)))
        os.replace(temporary, path)
    except OSError:
        _unlink_if_possible(temporary)
        return False
    # Listing the directory is slow: trim only for one file in sixteen, or for a large file.
    if key[0] < 16 or len(contents) > limit // 16:
        trim_cache(limit)
    return True


def _open_owner_only(path, flags):
    return os.open(path, flags | os.O_CLOEXEC, 0o600)


def _unlink_if_possible(path):
    try:
        os.unlink(path)
    except OSError:
        return False
    return True


def _cache_entries(folder):
    """Returns (date of last use, size, path) of each file whose name has the form of a cache file."""
    return [(status.st_mtime, status.st_size, entry.path) for entry, status in _scan_folder(folder)
            if _NAME.fullmatch(entry.name) and stat.S_ISREG(status.st_mode)]  # fmt: skip


def _prelude_folders(folder):
    """Returns (date, path) of the cached folders with precompiled headers and with source texts."""
    return [(status.st_mtime, entry.path) for entry, status in _scan_folder(folder)
            if entry.name.startswith((PRELUDE, TEXTS)) and folders.has_marker(entry.path)]  # fmt: skip


def _scan_folder(folder):
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    yield entry, entry.stat(follow_symlinks=False)
                except OSError:
                    pass  # another process removed it
    except OSError:
        pass


def _remove_cache_file(path):
    """Removes a file that begins with the cache's magic number, or a temporary file that begins with part of it."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            start = os.read(handle, len(_MAGIC))
        finally:
            os.close(handle)
    except OSError:
        return False
    is_ours = _MAGIC.startswith(start) if path.endswith(".tmp") else start == _MAGIC
    return is_ours and _unlink_if_possible(path)


def trim_cache(limit: int) -> int:
    """Removes the least recently used files until at most `limit` bytes are left.

    Trimming leaves free space for later files, so that new files rarely start another trim. Returns the
    number of removed cache files.
    """
    folder = usable_directory()
    if not folder:
        return 0
    removed = 0
    for made, path in _prelude_folders(folder):
        if time.time() - made > _PRELUDE_AGE:
            folders.remove_folder(path)
    entries = []
    for entry in _cache_entries(folder):
        if entry[2].endswith(".tmp") and time.time() - entry[0] > _ABANDONED:
            removed += _remove_cache_file(entry[2])
        else:
            entries.append(entry)
    total = sum(size for _, size, _ in entries)
    if total <= limit:
        return removed
    for _, size, path in sorted(entries):
        if total <= limit * 0.8:
            break
        if _remove_cache_file(path):
            removed += 1
            total -= size
    return removed


def cache_usage() -> tuple:
    """Returns (number of images, total bytes) of the cache."""
    folder = usable_directory()
    if not folder:
        return 0, 0
    entries = _cache_entries(folder)
    images = sum(path.endswith(IMAGE) for _, _, path in entries)
    others = (
        status.st_size for _, path in _prelude_folders(folder) for _, status in _scan_folder(path)
    )
    return images, sum(size for _, size, _ in entries) + sum(others)


def clear_cache() -> int:
    """Empties the cache; returns the number of images removed."""
    folder = usable_directory()
    if not folder:
        return 0
    for _, path in _prelude_folders(folder):
        folders.remove_folder(path)
    folders.remove_abandoned(folder)
    removed = [path for _, _, path in _cache_entries(folder) if _remove_cache_file(path)]
    return sum(path.endswith(IMAGE) for path in removed)
