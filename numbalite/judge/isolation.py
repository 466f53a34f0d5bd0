"""Restricts the process of a submission: no network, and no changes outside its own folders. `process` runs this
file first in the new process, before NumPy starts threads, so it uses only the standard library.

Linux restricts files with Landlock (since 5.13). A process that is restricted by Landlock cannot trace a process
that is not, nor write to its memory; from version 6 of the interface on, it cannot send signals to it either.
"""

from __future__ import annotations

import contextlib
import ctypes
import os

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # system calls, on all architectures
_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000
_NO_NEW_PRIVILEGES = 38  # of prctl
# Bits: write to a file, remove a folder or file, create files of the seven kinds.
_CHANGES = 1 << 1 | sum(1 << bit for bit in range(4, 13))
_REFER, _TRUNCATE = 1 << 13, 1 << 14
_SCOPES = 3  # abstract sockets and signals


class _RulesetAttributes(ctypes.Structure):
    _fields_ = (
        ("files", ctypes.c_uint64),
        ("network", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # of a packed structure
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def leave_network() -> bool:
    """Gives this process a network of its own, which reaches nothing; users other than root need a user namespace,
    too. Returns whether this succeeded."""
    libc = ctypes.CDLL(None)
    return libc.unshare(_NEW_NETWORK) == 0 or libc.unshare(_NEW_NETWORK | _NEW_USER) == 0


def landlock_version() -> int:
    """Returns the version of Landlock's interface, or a number below 1 if the system does not support it."""
    return ctypes.CDLL(None).syscall(_CREATE_RULESET, None, 0, 1)


def protect_files(*folders: str) -> bool:
    """Forbids changes of files outside folders. Returns whether the system supports this."""
    libc, version = ctypes.CDLL(None), landlock_version()
    if version < 1:
        return False
    changes = _CHANGES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    rules = _RulesetAttributes(changes, 0, _SCOPES if version >= 6 else 0)
    size = 8 if version < 4 else 16 if version < 6 else 24
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    try:
        for folder in folders:
            with contextlib.suppress(OSError):
                opened = os.open(folder, os.O_PATH | os.O_CLOEXEC)
                rule = _PathBeneath(changes, opened)
                libc.syscall(_ADD_RULE, ruleset, 1, ctypes.byref(rule), 0)
                os.close(opened)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        return libc.syscall(_RESTRICT_SELF, ruleset, 0) == 0
    finally:
        os.close(ruleset)


def restrict_process(*folders: str) -> str:
    """Restricts this process, which may change files of folders, of /dev, and its own files in /proc, which the CUDA
    driver writes. Returns what the system does not support: "network", "files", both or nothing."""
    done = {"network": leave_network(), "files": protect_files(*folders, "/dev", "/proc/self")}
    return " ".join(name for name, is_done in done.items() if not is_done)
