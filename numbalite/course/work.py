"""Counts the driver's work for a solution, launches and copied bytes, and detects computation by NumPy.

The driver's calls are traced during one call of the solution. During this call, arrays that the solution
receives from the host or copies to the host are `HostArray`s. NumPy functions on a HostArray are rejected.
Counting and HostArrays are for exercises about the location of the work; they are not used for timing.
"""

from __future__ import annotations

import linecache
import re
import sys
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np

from .mistakes import ComputedOnHost, is_library_file, label_of


class DriverWork(NamedTuple):
    """The number of kernel launches, and the bytes copied to the device and to the host."""

    launches: int
    bytes_in: int
    bytes_out: int

    def __str__(self):
        launches = f"{self.launches or 'no'} launch{'' if self.launches == 1 else 'es'}"
        if not self.bytes_in and not self.bytes_out:
            return f"{launches} and no copies"
        return f"{launches}, copies {bytes_text(self.bytes_in)} to the device and {bytes_text(self.bytes_out)} back"


def bytes_text(size) -> str:
    """Bytes in words: "1.6 MB"."""
    if size < 1000:
        return f"{size or 'no'} byte{'' if size == 1 else 's'}"
    value, unit = (size / 1e3, "kB") if size < 1e6 else (size / 1e6, "MB")
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"


class HostArray(np.ndarray):
    """A NumPy array that only the GPU may compute with: NumPy's ufuncs on such an array raise ComputedOnHost."""

    def __array_ufunc__(self, ufunc, method, *inputs, **options):
        if isinstance(ufunc, np.ufunc):
            raise ComputedOnHost(ufunc.__name__)
        plain = [np.asarray(x) if isinstance(x, HostArray) else x for x in inputs]
        out = options.get("out")
        if out is not None:
            given = out if isinstance(out, tuple) else (out,)
            options["out"] = tuple(np.asarray(x) if isinstance(x, HostArray) else x for x in given)
        return guard_array(getattr(ufunc, method)(*plain, **options))


def guard_array(value):
    """Returns a view of a NumPy array that raises an error for NumPy's ufuncs; returns other values
    unchanged."""
    if isinstance(value, tuple):
        return tuple(map(guard_array, value))
    return value.view(HostArray) if isinstance(value, np.ndarray) else value


def plain_array(value):
    """Returns the same array as an ordinary numpy.ndarray."""
    return value.view(np.ndarray) if isinstance(value, HostArray) else value


class CopyingLine(NamedTuple):
    """A line of the solution that copies: its position, bytes to the device and to the host, {name: host
    array}."""

    place: str
    sizes: tuple
    arrays: dict


class DriverCallCounter:
    """Counts the driver's calls during a `with` block. ``work`` contains the counts afterwards, ``copying``
    the lines that copy, ``unset`` the bytes of the arrays that numpy.empty has created."""

    def __init__(self):
        self.work = DriverWork(0, 0, 0)
        self.unset = 0
        self._lines = {}  # (file, line) -> [bytes to the device, bytes to the host, {name: array}]
        self._at = self._line = None
        self._seen = (0, 0)

    @property
    def copying_lines(self):
        found = []
        for (file, line), (*sizes, arrays) in self._lines.items():
            text = linecache.getline(file, line).strip()
            found.append(
                CopyingLine(f"{label_of(file)}, line {line}: {text}", tuple(sizes), arrays)
            )
        return found

    def _trace_line(self, frame, event, argument):
        """Called for each line outside of numbalite and NumPy: copies since the last call belong to the
        previous line."""
        from numbalite import _core

        if event == "call" and is_library_file(frame.f_code.co_filename):
            return None
        copied = _core.copied()
        if self._at is not None:
            self._record_copy([now - before for now, before in zip(copied, self._seen)])
        self._seen = copied
        if event == "return":
            frame = frame.f_back
        if frame is None or is_library_file(frame.f_code.co_filename):
            self._at = None
        else:
            self._at, self._line = frame, frame.f_lineno
        return self._trace_line

    def _record_copy(self, sizes):
        if not any(sizes):
            return
        frame = self._at
        entry = self._lines.setdefault((frame.f_code.co_filename, self._line), [0, 0, {}])
        entry[0] += sizes[0]
        entry[1] += sizes[1]
        text = linecache.getline(frame.f_code.co_filename, self._line)
        for name in re.findall(r"[A-Za-z_]\w*", text):
            value = frame.f_locals.get(name, frame.f_globals.get(name))
            if isinstance(value, np.ndarray):
                entry[2][name] = plain_array(value)

    @contextmanager
    def _count_empty_arrays(self):
        """During the `with` block, counts the bytes of the arrays that the solution creates by numpy.empty
        and numpy.empty_like."""
        originals = {name: getattr(np, name) for name in ("empty", "empty_like")}

        def count_calls(original):
            def make_counted(*args, **options):
                made = original(*args, **options)
                if not is_library_file(sys._getframe(1).f_code.co_filename):
                    self.unset += made.nbytes
                    made = plain_array(made)
                return made

            return make_counted

        for name, original in originals.items():
            setattr(np, name, count_calls(original))
        try:
            yield
        finally:
            for name, original in originals.items():
                setattr(np, name, original)

    @contextmanager
    def count_work(self):
        """Counts the work of a call, and converts arrays that are copied to the host to HostArrays."""
        from numbalite import _core, cuda

        original = cuda.DeviceNDArray.copy_to_host

        def copy_to_host(array, *args, **options):
            return guard_array(original(array, *args, **options))

        inherited = "copy_to_host" not in vars(cuda.DeviceNDArray)
        cuda.DeviceNDArray.copy_to_host = copy_to_host
        _core.trace(True)
        tracer = sys.gettrace()
        try:
            with self._count_empty_arrays():
                sys.settrace(self._trace_line)
                try:
                    yield self
                finally:
                    sys.settrace(tracer)
        finally:
            _core.trace(False)
            if inherited:
                del cuda.DeviceNDArray.copy_to_host
            else:
                cuda.DeviceNDArray.copy_to_host = original
            launched = ("cuLaunchKernel", "cuLaunchCoop", "cuGraphLaunch")
            launches = sum(call.startswith(launched) for call in _core.traced())
            self.work = DriverWork(launches, *_core.copied())
