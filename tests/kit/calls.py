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
    """The same, of the second time: by then kernels are compiled, there is memory, and nothing is under way."""
    operation()
    cuda.synchronize()
    return traced(operation)
