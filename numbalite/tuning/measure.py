"""Launches variants on copies of the arguments; measures their times, and checks whether their results are
equal."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from numbalite import _core
from numbalite.errors import NumbaliteError
from numbalite.ndarray.arrays import DeviceNDArray, device_array, to_device
from numbalite.ndarray.foreign import as_cuda_array
from numbalite.runtime.devices import synchronize
from numbalite.runtime.rawmemory import is_cuda_array
from numbalite.runtime.streams import event, event_elapsed_time
from numbalite.types.tolerance import Tolerance, tolerance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numbalite.tuning.variants import Variant

_L2_BYTES = 38  # CUdevice_attribute
_ENOUGH = 0.03  # seconds of launches of one variant, which are enough for a measurement
_LAUNCHES = 3, 15
_PART = 1 << 24  # number of elements that are compared at once
_HOPELESS = 2.0  # a variant that takes this many times the best time is launched only once


class VariantError(NumbaliteError):
    """Raised if two variants of a tuned kernel compute different results."""


class Arguments:
    """The arguments of a call; arrays that kernels may write are replaced by copies."""

    def __init__(self, names: Sequence[str], args: tuple, terms_tolerance: float | None) -> None:
        self._names, self._rtol = names, terms_tolerance
        self._pairs: list = []  # (name, original, copy)
        self._copies: dict = {}
        self.passed = tuple(
            self._copy_argument(name, arg) for name, arg in zip(names, args, strict=True)
        )
        self._expected: list | None = None
        self._first: Any = None

    def _copy_argument(self, name, arg):
        if type(arg) is _core.Transfer:
            arg = arg.array
        if isinstance(arg, tuple) and not isinstance(arg, np.generic):
            parts = [self._copy_argument(f"{name}[{i}]", part) for i, part in enumerate(arg)]
            return type(arg)(*parts) if hasattr(arg, "_fields") else tuple(parts)
        if isinstance(arg, np.ndarray):
            arg = to_device(arg)
        elif is_cuda_array(arg):
            arg = as_cuda_array(arg)
        elif isinstance(arg, (bool, int, float, complex, np.generic, np.dtype)) or arg is None:
            return arg
        else:
            raise TypeError(
                f"cuda.autotune measures on copies of the arguments, and cannot copy {name}, a "
                f"{type(arg).__name__}: pass arrays and numbers"
            )
        key = arg._address, arg.shape, arg.strides, arg.dtype
        if key not in self._copies:
            self._copies[key] = made = _copy_with_strides(arg)
            self._pairs.append((name, arg, made))
        return self._copies[key]

    def restore_copies(self) -> None:
        """Copies the original data to the copies of the arguments."""
        for _, original, copied in self._pairs:
            copied.copy_to_device(original)

    def compare(self, variant: Variant) -> None:
        """Compares the results of a variant with those of the first variant. Raises VariantError if they
        differ."""
        if self._expected is None:
            self._first = variant.trial()
            self._expected = [
                original if _difference_text(copied, original) is None else copied.copy()
                for _, original, copied in self._pairs
            ]
            return
        for (name, original, copied), expected in zip(self._pairs, self._expected, strict=True):
            terms = max([original.size, *(pair[1].size for pair in self._pairs)])
            found = _difference_text(copied, expected, self._rtol, terms)
            if found:
                raise VariantError(
                    f"cuda.autotune: variants of a kernel compute different results: {name} differs by "
                    f"{found} between {self._first} and {variant.trial()}"
                )


def _copy_with_strides(array):
    """Returns a copy with the same strides, so that the copy has the same type for a kernel."""
    if array.size and 0 not in array.strides:
        low = sum(min(0, s) * (n - 1) for s, n in zip(array.strides, array.shape))
        high = sum(max(0, s) * (n - 1) for s, n in zip(array.strides, array.shape))
        memory = device_array(high - low + array.itemsize, np.uint8)
        made = memory._view(array.shape, array.strides, array.dtype, -low)
    else:
        made = device_array(array.shape, array.dtype)
    made.copy_to_device(array)
    return made


def _difference_text(got: DeviceNDArray, want: DeviceNDArray, rtol=0.0, terms=1) -> str | None:
    """Returns a description of the difference between two arrays, or None if they are equal within the
    tolerance. ``rtol=None`` selects the tolerance for sums of ``terms`` terms."""
    if got.dtype.kind not in "biufc" or got.size == 0:
        a, b = got.copy_to_host(), want.copy_to_host()
        return None if a.tobytes() == b.tobytes() else "some elements"
    allowed = None
    if got.dtype.kind in "fc" and rtol != 0.0:
        allowed = tolerance(got.dtype, terms) if rtol is None else Tolerance(rtol, rtol)
        allowed = allowed._replace(atol=allowed.atol * max(map(_max_magnitude, _split_rows(want))))
    count = sum(
        map(_count_different, _split_rows(got), _split_rows(want), itertools.repeat(allowed))
    )
    return f"{count} of {got.size} elements" if count else None


def _split_rows(array):
    """Returns parts of the array along the first axis, so that temporary arrays are small."""
    if array.ndim == 0:
        return [array]
    rows = max(1, _PART * array.shape[0] // array.size)
    return [array[i : i + rows] for i in range(0, array.shape[0], rows)]


def _max_magnitude(b):
    with np.errstate(all="ignore"):
        size = np.abs(b)
        return float(np.max(np.where(np.isfinite(size), size, 0)))


def _count_different(a, b, allowed):
    with np.errstate(all="ignore"):
        unequal: Any = (a != b) & ~((a != a) & (b != b))
        if allowed is not None:
            size = np.abs(b)
            near = (np.abs(a - b) <= allowed.rtol * size + allowed.atol) & np.isfinite(size)
            unequal = unequal & ~near
    return int(np.count_nonzero(unequal))


class Timer:
    """Measures launches by events, each after the caches of the device were flushed."""

    def __init__(self, arguments: Arguments) -> None:
        self._arguments = arguments
        device = _core.current_device()
        size = 2 * max(1 << 20, _core.device_attribute(device, _L2_BYTES))
        self._flushed = device_array(size // 4, np.float32)
        self.best = float("inf")

    def measure_first(self, variant: Variant) -> float:
        """Launches a variant, compares its results, and measures it. Returns the median in milliseconds."""
        self._arguments.restore_copies()
        self._launch(variant)
        synchronize()
        self._arguments.compare(variant)
        first = self._last_launch_time(variant, 1)
        if first < _HOPELESS * self.best:
            low, high = _LAUNCHES
            self._last_launch_time(
                variant, min(high, max(low, int(_ENOUGH * 1e3 / max(first, 1e-6))))
            )
        time = variant.trial().time
        assert time is not None
        self.best = min(self.best, time)
        return time

    def measure_again(self, variant: Variant) -> None:
        """Measures a variant a few times more."""
        self._last_launch_time(variant, _LAUNCHES[0])

    def _launch(self, variant):
        grid, block, *_ = variant.configuration
        variant.kernel[grid, block, 0, variant.shared](*self._arguments.passed)

    def _last_launch_time(self, variant, count):
        """Returns the time of the last launch."""
        events = []
        for _ in range(count):
            self._arguments.restore_copies()
            self._flushed.fill(0)
            begin, end = event(), event()
            begin.record()
            self._launch(variant)
            end.record()
            events.append((begin, end))
        synchronize()
        variant.times += [event_elapsed_time(begin, end) for begin, end in events]
        return variant.times[-1]
