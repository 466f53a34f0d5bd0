"""Files that users name: read whole, and only if they are files.

A pipe would be waited for, a device might never end.
"""

from __future__ import annotations

import io
import os
import stat

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
}


def kind(mode: int) -> str:
    """What a status (st_mode) is of, where it is of no plain file."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def read(path) -> bytes:
    """The contents of a file. ValueError for what is no file, OSError, with its name, for what cannot be read."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise ValueError(f"{os.fspath(path)} is {kind(mode)}, not a file")
    # Whatever it has become since: not waiting.
    with open(path, "rb", opener=_not_blocking) as file:
        try:
            return file.read()
        except OSError as problem:
            raise OSError(problem.errno, problem.strerror, os.fspath(path)) from None


def text(path, errors: str = "strict") -> str:
    """A file in UTF-8, its lines ended by newlines, without the mark that editors on Windows begin it with."""
    return io.TextIOWrapper(io.BytesIO(read(path)), encoding="utf-8-sig", errors=errors).read()


def encoded(text: str) -> str | bytes:
    """A text for a compiler: with the bytes that its file has, where these are not UTF-8 (surrogateescape)."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape")


def _not_blocking(path, flags):
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)
