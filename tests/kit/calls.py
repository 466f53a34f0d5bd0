"""Records the driver calls of an operation."""

from numbalite import _core, cuda


def traced_calls(operation):
    """Returns the names of the traced calls, the oldest first."""
    _core.trace(True)
    try:
        operation()
        return _core.traced()
    finally:
        _core.trace(False)


def driver_calls_when_warm(operation):
    """Returns the driver calls of the second call, when kernels are compiled, memory is pooled, and
    no work is queued."""
    operation()
    cuda.synchronize()
    return traced_calls(operation)
