"""What a solution makes the driver do: launches, copies in, copies out; and whether NumPy did the work.

The driver's calls are traced during one call of the solution. Arrays that it gets from the host, and
those that it copies back, are `HostArray`s then: NumPy functions on them are refused. Both are for
exercises whose point is where the work happens; timing is done without.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np


class Work(NamedTuple):
    """Calls of the driver: kernel launches, copies from the host and back to it."""

    launches: int
    copies_in: int
    copies_out: int

    def __str__(self):
        launches = _count(self.launches, "launch")
        if not self.copies_in and not self.copies_out:
            return f"{launches} and no copies"
        ins, outs = _count(self.copies_in, "copy"), _count(self.copies_out, "copy")
        return f"{launches}, {ins} to the device and {outs} back"


_PLURAL = {"copy": "copies", "launch": "launches"}


def _count(number, noun):
    return f"{number or 'no'} {noun if number == 1 else _PLURAL.get(noun, noun + 's')}"


class OnTheHost(Exception):
    """The solution computes with NumPy where the GPU should."""


class HostArray(np.ndarray):
    """A NumPy array that only the GPU may compute with: NumPy's ufuncs on it raise OnTheHost."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if isinstance(ufunc, np.ufunc):
            raise OnTheHost(ufunc.__name__)
        plain = [np.asarray(x) if isinstance(x, HostArray) else x for x in inputs]
        out = options.get("out")
        if out is not None:
            given = out if isinstance(out, tuple) else (out,)
            options["out"] = tuple(np.asarray(x) if isinstance(x, HostArray) else x for x in given)
        return guarded(getattr(ufunc, method)(*plain, **options))


def guarded(value):
    """A view of a NumPy array that refuses NumPy's ufuncs; other values as they are."""
    if isinstance(value, tuple):
        return tuple(map(guarded, value))
    return value.view(HostArray) if isinstance(value, np.ndarray) else value


def plain(value):
    """The same, as NumPy knows it."""
    return value.view(np.ndarray) if isinstance(value, HostArray) else value


class Counter:
    """Counts the driver's calls while a block runs; ``work`` has them afterwards."""

    def __init__(self):
        self.work = Work(0, 0, 0)

    @contextmanager
    def counting(self):
        """Counts, and lends what is copied back only to the GPU."""
        from numbalite import _core, cuda

        original = cuda.DeviceNDArray.copy_to_host

        def copy_to_host(array, *args, **options):
            return guarded(original(array, *args, **options))

        inherited = "copy_to_host" not in vars(cuda.DeviceNDArray)
        cuda.DeviceNDArray.copy_to_host = copy_to_host
        _core.trace(True)
        try:
            yield self
        finally:
            _core.trace(False)
            if inherited:
                del cuda.DeviceNDArray.copy_to_host
            else:
                cuda.DeviceNDArray.copy_to_host = original
            calls = _core.traced()
            self.work = Work(
                sum(
                    call.startswith(("cuLaunchKernel", "cuLaunchCoop", "cuGraphLaunch"))
                    for call in calls
                ),
                sum(call.startswith("cuMemcpyHtoD") for call in calls),
                sum(call.startswith("cuMemcpyDtoH") for call in calls),
            )
