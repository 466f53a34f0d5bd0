"""Implements prange: the range of a loop whose iterations may run in parallel."""

from __future__ import annotations


class prange:
    """``for i in prange(n)``: like `range`, but in a function of ``jit(parallel=True)`` the iterations run on
    all threads.

    In functions that are compiled without ``parallel=True``, and in Python itself, prange is the same as
    `range`.

    >>> from numbalite import prange
    >>> list(prange(2, 5))
    [2, 3, 4]
    """

    def __new__(cls, *args: int) -> range:  # type: ignore[misc]
        return range(*args)
