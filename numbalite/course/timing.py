"""Measures the time of a call: by events if a GPU does the work, by the clock if a CPU does.

A call is timed several times, and the median is returned. Calls that are shorter than the clock's resolution
are measured in groups. Long calls are repeated less often, to limit the time of a lesson.
"""

from __future__ import annotations

import operator
import statistics
import time

_BATCH = 2e-4
"""Minimum seconds of one measurement: shorter calls are repeated within it, up to 1000 times."""
_ENOUGH = 2.0
"""Seconds after which no further measurement begins."""


def timed(f, *args, repeat=7, **kw) -> float:
    """Returns the seconds that ``f(*args, **kw)`` takes.

    The time is measured after one warm-up call. If f returns nothing or device
    arrays on a GPU (it launches kernels), the time is measured between two
    events in the default stream. The result is the device's time for the work
    that f enqueues. If f returns other values, the result is the host's time
    until the device is done. On the simulator, the result is always the host's
    time. Events do not measure work in streams that do not wait for the default
    stream.

    Parameters
    ----------
    f : function
        The function.
    *args : object
        The positional arguments of f.
    repeat : int
        The number of measurements. No further measurement begins after two
        seconds.
    **kw : object
        The keyword arguments of f.

    Returns
    -------
    float
        The median of the measurements, in seconds.

    Raises
    ------
    TypeError
        ``f`` is not callable.
    ValueError
        ``repeat`` is less than 1.

    Examples
    --------
    >>> from numbalite.course import timed
    >>> timed(np.sort, np.arange(1000)) > 0
    True
    """
    if not callable(f):
        raise TypeError(f"timed(f, *args): f must be callable, not {type(f).__name__}")
    repeat = operator.index(repeat)
    if repeat < 1:
        raise ValueError(f"repeat must be a number of measurements, at least 1, not {repeat}")
    from numbalite import cuda
    from numbalite.course.device import simulated
    from numbalite.judge.fresh import is_on_device

    left_there = is_on_device(f(*args, **kw))
    measure = _time_by_events if left_there and not simulated() else _time_by_clock
    cuda.synchronize()
    begin = time.perf_counter()
    first = measure(f, args, kw, 1)
    calls = min(1000, max(1, round(_BATCH / max(first, 1e-9))))
    times = [] if calls > 1 else [first]
    while len(times) < repeat and (not times or time.perf_counter() - begin < _ENOUGH):
        times.append(measure(f, args, kw, calls))
    return statistics.median(times)


def _time_by_clock(f, args, kw, calls):
    from numbalite import cuda

    start = time.perf_counter()
    for _ in range(calls):
        f(*args, **kw)
    cuda.synchronize()
    return (time.perf_counter() - start) / calls


def _time_by_events(f, args, kw, calls):
    from numbalite import cuda

    start, end = cuda.event(), cuda.event()
    start.record()
    for _ in range(calls):
        f(*args, **kw)
    end.record()
    end.synchronize()
    return cuda.event_elapsed_time(start, end) / 1e3 / calls
