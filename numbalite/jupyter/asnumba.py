"""Implements %numba, which makes later imports of numba in a notebook import numbalite."""

from __future__ import annotations

from IPython.core.error import UsageError

from numbalite import numba


def as_numba(line: str) -> None:
    """Write ``%numba`` before the first import of numba; the following cells run unmodified."""
    if line.strip():
        raise UsageError(f"%numba takes nothing, not {line.strip()!r}")
    try:
        numba.install()
    except ImportError as problem:
        raise UsageError(
            f"{problem}, here %numba; restart the kernel and begin with %numba"
        ) from None
