"""What a solution makes the driver do: launches, bytes copied in and out; and whether NumPy did the work.

The driver's calls are traced during one call of the solution. Arrays that it gets from the host, and
those that it copies back, are `HostArray`s then: NumPy functions on them are refused. Both are for
exercises whose point is where the work happens; timing is done without.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import NamedTuple

import numpy as np


class Work(NamedTuple):
    """Kernel launches, and bytes copied from the host and back to it."""

    launches: int
    bytes_in: int
    bytes_out: int

    def __str__(self):
        launches = f"{self.launches or 'no'} launch{'' if self.launches == 1 else 'es'}"
        if not self.bytes_in and not self.bytes_out:
            return f"{launches} and no copies"
        return f"{launches}, copies {volume(self.bytes_in)} to the device and {volume(self.bytes_out)} back"


def volume(size) -> str:
    """Bytes in words: "1.6 MB"."""
    if size < 1000:
        return f"{size or 'no'} byte{'' if size == 1 else 's'}"
    value, unit = (size / 1e3, "kB") if size < 1e6 else (size / 1e6, "MB")
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


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
            launched = ("cuLaunchKernel", "cuLaunchCoop", "cuGraphLaunch")
            launches = sum(call.startswith(launched) for call in _core.traced())
            self.work = Work(launches, *_core.copied())
