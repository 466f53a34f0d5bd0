"""%numba: imports of numba in a notebook mean numbalite from here on."""

from __future__ import annotations

from IPython.core.error import UsageError

from numbalite import numba


def as_numba(line: str) -> None:
    """``%numba``, before the first import of numba; the cells that follow run unmodified."""
    if line.strip():
        raise UsageError(f"%numba takes nothing, not {line.strip()!r}")
    try:
        numba.install()
    except ImportError as problem:
        raise UsageError(f"{problem}, here %numba; restart the kernel and begin with it") from None
