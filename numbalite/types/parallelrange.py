"""prange: the range of a loop whose iterations may run side by side."""

from __future__ import annotations


class prange:
    """``for i in prange(n)``: as `range`, in a function of ``jit(parallel=True)`` spread over all threads.

    In functions that are compiled without ``parallel=True``, and in Python itself, it is `range`.

    >>> from numbalite import prange
    >>> list(prange(2, 5))
    [2, 3, 4]
    """

    def __new__(cls, *args: int) -> range:  # type: ignore[misc]
        return range(*args)
