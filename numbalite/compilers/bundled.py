"""Extracts the headers that NVRTC 13.3 and newer contain: cuda_fp16.h, cooperative groups, CCCL and others.

The headers are written once into a folder of the disk cache, if a source needs headers that no package next
to NVRTC contains. NVRTC contains neither the CUDA runtime's headers (cuda_runtime.h) nor cuRAND's.
"""

from __future__ import annotations

import os
import re

from numbalite.compilers import cache, folders
from numbalite.errors import NumbaliteError

SINCE = (13, 3)
_BUILTINS = re.compile(r"libnvrtc-builtins\.so\.(\d+)\.(\d+)")
_PROBE = "cuda_fp16.h"

_failed: set[str] = set()  # folders that could not be written in this process
_found: set[str] = set()  # undamaged folders that header_directory returned


def nvrtc_version(path: str) -> tuple | None:
    """Returns the version of the NVRTC at `path`, by the name of the library next to it that
    contains its headers; the library is not loaded. Returns None if the file does not exist."""
    home = os.path.dirname(os.path.realpath(path))
    try:
        found = [match for name in os.listdir(home) if (match := _BUILTINS.match(name))]
    except OSError:
        return None
    return max(((int(match[1]), int(match[2])) for match in found), default=None)


def header_directory(path: str) -> str | None:
    """Returns the include folder of the headers in the NVRTC at `path`, or None if this NVRTC contains no
    headers, or without a disk cache."""
    if (nvrtc_version(path) or (0, 0)) < SINCE or not (parent := cache.usable_directory()):
        return None
    real = os.path.realpath(path)
    status = os.stat(real)
    key = cache.hash_values("bundled headers", real, status.st_size, status.st_mtime_ns)
    folder = os.path.join(parent, f"{cache.PRELUDE}{key.hex()}")
    found = folders.find_folder(folder, _PROBE)
    if found is None and folder not in _failed:
        folders.create_folder(folder, lambda working: _write_headers(working, path))
        found = folders.find_folder(folder, _PROBE)
        if found is None:
            _failed.add(folder)
    if found is not None:
        _found.add(found)
    return found


def forget_damaged_folders() -> bool:
    """Returns whether a folder that header_directory returned is damaged now, and forgets these folders."""
    damaged = {folder for folder in _found if not folders.is_undamaged(folder, _PROBE)}
    _found.difference_update(damaged)
    return bool(damaged)


def _write_headers(working, path):
    from numbalite import _core

    try:
        if _core.nvrtc_open(path) != nvrtc_version(path):
            return False  # the process has opened an NVRTC of another version
        _core.nvrtc_install_headers(working)
    except (NumbaliteError, OSError):
        return False
    return True
