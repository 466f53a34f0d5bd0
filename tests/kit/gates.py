"""Blocks streams until the test opens a gate."""

import threading

from numbalite import cuda


def gate_in(stream):
    """Returns (threading event that the stream waits for, threading event that is set after the
    wait). The
    stream waits in a host function, so the host functions of all streams wait too: the driver runs
    them on one thread."""
    gate, passed = threading.Event(), threading.Event()
    stream.add_callback(lambda *unused: (gate.wait(60), passed.set()))
    return gate, passed


class KernelGate:
    """Blocks a stream with a kernel until open() is called, or the `with` block ends. No other stream
    waits."""

    def __init__(self, stream):
        self._is_open = cuda.mapped_array(1, "i4")
        self._is_open[:] = 0
        self._passed = cuda.event(timing=False)
        _wait[1, 1, stream](self._is_open)
        self._passed.record(stream)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.open()

    def open(self):
        self._is_open[:] = 1

    def was_passed(self):
        return self._passed.query()


_wait = cuda.jit(
    """
extern "C" __global__ void wait(const volatile int *is_open) {
    for (unsigned i = 0; i < 1u << 31 && !*is_open; ++i) __nanosleep(1000); // at least minutes
}
"""
)
