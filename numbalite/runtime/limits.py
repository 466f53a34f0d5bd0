"""Implements the time limits of kernels: ``cuda.limit`` and NUMBALITE_LIMIT, on a
GPU and on the simulator."""

from __future__ import annotations

from _thread import _local
from numbers import Real
from typing import TYPE_CHECKING

from numbalite import _core
from numbalite.runtime import checks

if TYPE_CHECKING:
    from typing import Any

_here = _local()


class limit:
    """Stops kernels after a number of seconds: ``with cuda.limit(10): ...``

    The limit applies to kernels of the calling thread. The call that waits for
    a stopped kernel raises KernelTimeout. The end of the block, which waits for
    all kernels, raises KernelTimeout, too. The simulator stops all kernels. A
    GPU stops kernels that were compiled with ``stoppable=True``; the time is
    measured from the start of the wait. A kernel without ``stoppable=True``
    continues to run, as the exception's message explains. The limit replaces
    the limit of an outer block and NUMBALITE_LIMIT.

    Parameters
    ----------
    seconds : float
        The limit in seconds; 0 disables the limit.

    Raises
    ------
    TypeError
        ``seconds`` is not a number.
    ValueError
        ``seconds`` is negative, or 1e9 or more.

    Examples
    --------
    >>> k = cuda.jit("__global__ void k(float *x) { x[threadIdx.x] = 2; }")
    >>> with cuda.limit(10):
    ...     k[1, 32](np.zeros(32, np.float32))
    """

    _seconds: float

    def __init__(self, seconds: float) -> None:
        if isinstance(seconds, bool) or not isinstance(seconds, Real):
            raise TypeError(f"cuda.limit: a limit must be a number of seconds, not {seconds!r}")
        if not 0 <= seconds < 1e9:
            raise ValueError(
                f"cuda.limit: a limit must be a number of seconds, 0 for no limit, not {seconds!r}"
            )
        self._seconds = float(seconds)

    @property
    def seconds(self) -> float:
        return self._seconds

    def __enter__(self) -> limit:
        _core.open()
        _limit_stack().append(self._seconds)
        self._is_simulated = _core.driver_has("checks")
        if self._is_simulated:
            checks.push_limit(self._seconds)
        _core.set_wait_limit(self._seconds)
        return self

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        try:
            if error is None and not _core.capture_here():
                _core.synchronize_all()
        finally:
            stack = _limit_stack()
            if stack:
                stack.pop()
            if self._is_simulated:
                checks.pop("cuda.limit")
            _core.set_wait_limit(stack[-1] if stack else -1.0)

    def __repr__(self) -> str:
        return f"cuda.limit({self._seconds:g})"


def _limit_stack():
    return _here.__dict__.setdefault("stack", [])
