"""Reads files that the user names. Accepts only regular files: reading a pipe may block, reading a device may
never end."""

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


def kind_of_file(mode: int) -> str:
    """Returns the kind of a file that is not regular, from its status (st_mode)."""
    return _KINDS.get(stat.S_IFMT(mode), "something else")


def read_bytes(path) -> bytes:
    """Returns the contents of a file. Raises ValueError if the path is not a regular file. Raises OSError
    with the file name if the file cannot be read."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise ValueError(f"{os.fspath(path)} is {kind_of_file(mode)}, not a file")
    # O_NONBLOCK, because a pipe may have replaced the file since the check.
    with open(path, "rb", opener=_open_without_blocking) as file:
        try:
            return file.read()
        except OSError as problem:
            raise OSError(problem.errno, problem.strerror, os.fspath(path)) from None


def read_text(path, errors: str = "strict") -> str:
    """Returns a UTF-8 file with newlines as line ends and without a byte order mark."""
    return io.TextIOWrapper(
        io.BytesIO(read_bytes(path)), encoding="utf-8-sig", errors=errors
    ).read()


def encode_text(text: str) -> str | bytes:
    """Converts a text for a compiler; bytes that are not UTF-8 are kept (surrogateescape)."""
    return text if text.isascii() else text.encode("utf-8", "surrogateescape")


def _open_without_blocking(path, flags):
    return os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK)
