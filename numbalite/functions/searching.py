"""Implements binary search in sorted arrays: searchsorted and digitize."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from numbalite.algorithms import order
from numbalite.functions import arguments
from numbalite.ndarray.dispatch import implements
from numbalite.runtime.traced import traced
from numbalite.ufuncs import operands
from numbalite.ufuncs.fuse import fuse

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_THREADS, _MAX_BLOCKS = 256, 1 << 13
# Each block copies a sorted array of at most this number of elements to shared memory (search.cuh).
_TABLE, _BLOCKS_WITH_TABLE = 1024, 1 << 10
# Maximum number of bins: for fewer bins, a check on the host is faster than two waits for the device
_MAX_COPIED = 1 << 14


def _as_contiguous(a, dtype=None):
    """Returns the array, or a contiguous and aligned copy with this dtype."""
    a = a if dtype is None else a.astype(dtype, copy=False)
    return a if a.is_c_contiguous() and operands.is_aligned(a) else a.copy()


def insertion_indices(a: Any, v: Any, side: str, sorter: Any = None) -> DeviceNDArray:
    """Implements `searchsorted` of device arrays."""
    return _run_search("nl_search", np.int64, a, v, int(side == "right"), (sorter,))


def contains_values(a: Any, v: Any, inverts: bool) -> DeviceNDArray:
    """Returns whether each value of `v` is in the sorted array `a`; with `inverts`, whether it is not. NaN
    equals NaN."""
    return _run_search("nl_contains", np.bool_, a, v, int(inverts))


def _run_search(name, dtype, a, v, option, sorters=()):
    """Returns the results of a kernel of search.cuh for the values `v` in the sorted array `a`."""
    common = np.promote_types(a.dtype, v.dtype)
    how = order.order_of(common)
    a, v = _as_contiguous(a, common), _as_contiguous(v, common)
    found = arguments.empty(v.shape, dtype, v)
    if v.size:
        most = _BLOCKS_WITH_TABLE if a.size <= _TABLE else _MAX_BLOCKS
        blocks = min(-(-v.size // _THREADS), most)
        search = order.header_kernel("search", f"{name}<{how.kind}>")[blocks, _THREADS]
        search(a, *sorters, v, found, a.size, v.size, option, how.flip)
    return found


def _is_left_side(side):
    if not isinstance(side, str):
        raise TypeError(f"search side must be str, not {type(side).__name__}")
    if side[:1] not in ("l", "r", "L", "R"):
        raise ValueError(f"search side must be 'left' or 'right' (got {side!r})")
    return "left" if side[0] in "lL" else "right"


@implements("searchsorted")
def searchsorted(a, v, side="left", sorter=None) -> DeviceNDArray:
    side = _is_left_side(side)
    a, v = arguments.arrays_of((a, v))
    if a.ndim != 1:
        raise ValueError(
            "object of too small depth for desired array"
            if a.ndim == 0
            else "object too deep for desired array"
        )
    if sorter is not None:
        sorter = arguments.as_device_array(sorter)
        if sorter.dtype.kind not in "iu":
            raise TypeError("sorter must only contain integers")
        if sorter.ndim != 1:
            raise TypeError("could not parse sorter argument")
        if sorter.size != a.size:
            raise ValueError("sorter.size must equal a.size")
        sorter = _as_contiguous(sorter, np.int64)
        if sorter.size and not (0 <= np.min(sorter).item() and np.max(sorter).item() < a.size):
            raise ValueError("Sorter index out of range.")
    with arguments.on_device_of(a):
        return insertion_indices(a, v, side, sorter)


def _check_monotonic(bins):
    """Returns whether the bins increase; raises ValueError if they are not monotonic.

    As in NumPy, NaN is neither larger nor smaller than its neighbours, and bins whose second bin is NaN count
    as decreasing.
    """
    differ = np.flatnonzero(bins[1:] != bins[:-1])
    rises = not differ.size or bool(bins[differ[0]] < bins[differ[0] + 1])
    if np.any(bins[1:] < bins[:-1] if rises else bins[1:] > bins[:-1]):
        raise ValueError("bins must be monotonically increasing or decreasing")
    return rises


@fuse
def _is_never_greater(a, b):
    return np.all(a <= b)


@traced
def _is_nondecreasing(bins):
    return _is_never_greater(bins[:-1], bins[1:])


def _is_ascending(bins, given):
    """Returns whether the bins increase. ``given`` is the caller's argument. Waits at most once, and not for
    bins in host memory."""
    if isinstance(given, np.ndarray | list | tuple):
        return _check_monotonic(np.asarray(given))
    if bins.size > _MAX_COPIED and bool(_is_nondecreasing(bins)):
        return True
    if bins.size > _MAX_COPIED and bool(_is_nondecreasing(bins[::-1])):
        return False
    return _check_monotonic(
        bins.copy_to_host()
    )  # few bins, or not monotonic, or the bins contain NaN


@implements("digitize")
def digitize(x, bins, right: bool = False) -> DeviceNDArray:
    given = bins
    x, bins = arguments.arrays_of((x, bins))
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    if bins.ndim != 1:
        raise ValueError(
            "object too deep for desired array"
            if bins.ndim
            else "object of too small depth for desired array"
        )
    if bins.dtype.kind == "c":
        raise TypeError("bins may not be complex")
    with arguments.on_device_of(x):
        side = "left" if right else "right"
        # Assumes that the bins increase, which the host checks meanwhile
        found = insertion_indices(bins, x, side)
        if _is_ascending(bins, given):
            return found
        return bins.size - insertion_indices(bins[::-1], x, side)
