"""The driver calls that an operation makes."""

from numbalite import _core, cuda


def traced(operation):
    """Their names, the oldest first."""
    _core.trace(True)
    try:
        operation()
        return _core.traced()
    finally:
        _core.trace(False)


def traced_again(operation):
    """Returns the same for the second call: by then kernels are compiled, memory is pooled, and no
    work is queued."""
    operation()
    cuda.synchronize()
    return traced(operation)
