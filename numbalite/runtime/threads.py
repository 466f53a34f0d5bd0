"""Controls the number of threads of the parallel target.

The size of the thread pool is $NUMBALITE_NUM_THREADS, by default the number of CPUs that this process may
use. The variable is read at the first use of the pool. Each Python thread can select a smaller number of
threads for its own calls.
"""

from __future__ import annotations

import operator

from numbalite import config

_most = None


def pool_size() -> int:
    """Returns the size of the thread pool, which is the maximum for `set_num_threads`."""
    global _most
    if _most is None:
        from numbalite import _core

        count = config.NUM_THREADS or config.processors()
        _core.host_threads_limit(count)
        _most = count
    return _most


def set_num_threads(n: int) -> None:
    """Sets the number of threads for parallel loops of the calling thread.

    Parameters
    ----------
    n : int
        From 1 to the size of the pool (``NUMBALITE_NUM_THREADS``, or all
        CPUs).

    Raises
    ------
    ValueError
        ``n`` is not from 1 to the size of the pool.
    TypeError
        ``n`` is not an integer.

    Examples
    --------
    >>> before = numbalite.get_num_threads()
    >>> numbalite.set_num_threads(1)
    >>> numbalite.get_num_threads()
    1
    >>> numbalite.set_num_threads(before)
    """
    from numbalite import _core

    try:
        count = operator.index(n)
    except TypeError:
        raise TypeError("The number of threads specified must be an integer") from None
    if isinstance(n, bool) or not 1 <= count <= pool_size():
        raise ValueError(f"The number of threads must be between 1 and {pool_size()}, not {n!r}")
    _core.host_threads_set(count)


def get_num_threads() -> int:
    """Returns the number of threads for parallel loops of the calling thread.

    Returns
    -------
    int
        The number of threads, at least 1.
    """
    from numbalite import _core

    pool_size()
    return _core.host_threads_get()
