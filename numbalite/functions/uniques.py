"""Implements unique and its array API versions: by sorting, or by counting the values of 1-byte elements."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbalite.algorithms import masks, radix, selection, sorting
from numbalite.algorithms.order import order_of
from numbalite.functions import arguments
from numbalite.kernels.decorators import jit
from numbalite.ndarray import assign
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes
from numbalite.runtime.traced import traced
from numbalite.ufuncs.fuse import fuse

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_THREADS, _MAX_BLOCKS = 256, 1 << 13


@jit
def _scatter_inverse(order, groups, inverse):
    """
    for (long long i = grid<1>(); i < order.size(); i += gridsize<1>())
        inverse[order[i]] = groups[i] - 1;
    """


@jit
def _compact_values(counts, flip, values, counts_of_values, found):
    """
    __shared__ unsigned present[8];
    int key = threadIdx.x;
    bool is_present = counts[key] > 0;
    unsigned votes = __ballot_sync(0xffffffffu, is_present);
    if (key % 32 == 0) present[key / 32] = votes;
    __syncthreads();
    int place = __popc(votes & ((1u << key % 32) - 1));
    for (int warp = 0; warp < key / 32; ++warp) place += __popc(present[warp]);
    if (is_present) {
        values[place] = key ^ flip;
        counts_of_values[place] = counts[key];
    }
    if (key == 255) found[0] = place + is_present;
    """


def _run_kernel(kernel, count, *given):
    kernel[min(-(-count // _THREADS), _MAX_BLOCKS), _THREADS](*given)


def _group_starts(line, equal_nan):
    """Returns booleans that are true where a sorted array (or the rows of a table) changes, at the start, and
    past the end."""
    n = line.shape[0]
    made = arguments.empty((n + 1,), np.dtype(bool), line)
    assign.assign(made, True)
    parts = [line] if line.dtype.names is None else list(sorting.comparison_fields(line))
    differs = made[1:n] if len(parts) == line.ndim == 1 else None
    found = [_differs_from_previous(part[1:], part[:-1], equal_nan, differs) for part in parts]
    if differs is None:
        differs = functools.reduce(np.logical_or, found)
        made[1:n] = np.any(differs, axis=1) if line.ndim > 1 else differs
    return made


@fuse
def _differ_beyond_nan(after, before):
    both = np.logical_and(np.isnan(after), np.isnan(before))
    return np.logical_and(np.not_equal(after, before), np.logical_not(both))


@fuse
def _differ_or_nan(nothing, after, before):
    return np.logical_or(np.not_equal(after, before), np.equal(after, nothing))


def _differs_from_previous(after, before, equal_nan, out):
    kind = after.dtype.kind
    if kind in "mM":
        # As integers, all NaT would be equal
        after, before = after.view(np.int64), before.view(np.int64)
        if not equal_nan:
            return _differ_or_nan(np.iinfo(np.int64).min, after, before, out=out)
    if equal_nan and kind in "fc":
        return _differ_beyond_nan(after, before, out=out)
    return np.not_equal(after, before, out=out)


class _UniqueResult(NamedTuple):
    values: Any
    index: Any
    inverse: Any
    counts: Any


@traced
def _sorted_with_starts(a, needs_order, equal_nan):
    """Returns (the sorted array or table rows, the sorting indices or None, the result of
    `_group_starts`)"""
    order = None
    if a.ndim > 1:
        keys = [a[:, k] for k in range(a.shape[1])][::-1]
        order = sorting.lexsort(keys, 0) if keys else sorting.argsort(a[:, :0].sum(1), 0)
    elif needs_order:
        order = sorting.argsort(a, 0)
    line = sorting.sort(a, 0) if order is None else _take_elements(a, order)
    return line, order, _group_starts(line, equal_nan) if line.shape[0] else None


@traced
def _group_results(line, order, begins, ends, needs_index, needs_inverse, needs_counts):
    """Returns (values, first indices, inverse, counts) of groups of equal elements, with None for unrequested
    results."""
    starts, n = ends[:-1], line.shape[0]
    index = inverse = counts = None
    if needs_index:
        index = _take_elements(order, starts)
    if needs_inverse:
        groups = np.cumsum(begins[:n], dtype=np.int32 if n < 1 << 31 else np.int64)
        inverse = arguments.empty((n,), np.int64, line)
        _run_kernel(_scatter_inverse, n, order, groups, inverse)
    if needs_counts:
        counts = ends[1:] - starts
    return _take_elements(line, starts), index, inverse, counts


def _unique(a, needs_index, needs_inverse, needs_counts, equal_nan):
    """Returns a _UniqueResult with the unique elements of a 1-dimensional array, or the unique rows of a table."""
    is_of_bytes = a.ndim == a.itemsize == 1 and a.dtype.kind in "biu" and a.size
    if is_of_bytes and not (needs_index or needs_inverse):
        return _unique_bytes(a)
    line, order, begins = _sorted_with_starts(a, needs_index or needs_inverse, equal_nan)
    if begins is None:
        none = arguments.empty((0,), np.intp, a)
        return _UniqueResult(line, none, none, none)
    if line.ndim == 1 and not (needs_index or needs_inverse or needs_counts):
        return _UniqueResult(masks.select_by_mask(line, begins[:-1]), None, None, None)
    ends = selection.indices_of(begins, False)[0]
    return _UniqueResult(
        *_group_results(line, order, begins, ends, needs_index, needs_inverse, needs_counts)
    )


def _unique_bytes(a):
    """Returns a _UniqueResult with the values and counts of a 1-dimensional array of 1-byte elements; waits for the
    number of unique values."""
    order = order_of(a.dtype)
    counts = radix.count_values(order, sorting.rows_along_axis(a, 0, 0), 1, a.size)
    values, counts_of_values, found = (
        arguments.empty((n,), np.dtype(t), a) for n, t in ((256, "u1"), (256, np.intp), (1, "i4"))
    )
    _compact_values[1, 256](counts, order.flip & 255, values, counts_of_values, found)
    n = found.item()
    return _UniqueResult(values[:n].view(a.dtype), None, None, counts_of_values[:n])


def _take_elements(a, indices):
    """Returns the elements, or the rows of a table, at these indices."""
    if a.ndim == 1:
        return sorting.take_along_rows(a, indices, 0, 0)
    spread = indices.reshape((-1, 1))
    spread = np.broadcast_to(spread, (indices.size, a.shape[1]))
    return sorting.take_along_rows(a, spread, 0, 0)


@implements("unique")
def unique(
    ar,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis=None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    ar = arguments.as_device_array(ar)
    with arguments.on_device_of(ar):
        needs = return_index, return_inverse, return_counts
        if axis is not None:
            axis = shapes.axis_number(axis, ar.ndim)
        if axis is None or ar.ndim == 1:
            found = _unique(arguments.as_1d(ar), *needs, equal_nan)
            values, inverse_shape = found.values, ar.shape
        else:
            moved = np.moveaxis(ar, axis, 0)
            table = arguments.reshape(moved, (moved.shape[0], _row_size(moved.shape)))
            # As in NumPy, rows that contain NaN are never equal
            found = _unique(table, *needs, False)
            values = found.values.reshape((found.values.shape[0], *moved.shape[1:]))
            values, inverse_shape = np.moveaxis(values, 0, axis), (ar.shape[axis],)
        inverse = found.inverse
        if return_inverse:
            inverse = inverse.reshape(inverse_shape)
        given = (
            (found.index, return_index),
            (inverse, return_inverse),
            (found.counts, return_counts),
        )
        made = (values, *(one for one, wanted in given if wanted))
        return made if len(made) > 1 else values


def _row_size(shape):
    size = 1
    for n in shape[1:]:
        size *= n
    return size


def _as_named_tuple(name, *made):
    """Returns the results as NumPy's named tuple of this name; a plain tuple if NumPy does not have this
    named tuple."""
    kind = (
        getattr(np.lib._arraysetops_impl, name, None)
        if hasattr(np.lib, "_arraysetops_impl")
        else None
    )
    return kind(*made) if kind is not None else made


@implements("unique_all")
def unique_all(x) -> Any:
    return _as_named_tuple("UniqueAllResult", *unique(x, True, True, True, equal_nan=False))


@implements("unique_counts")
def unique_counts(x) -> Any:
    return _as_named_tuple("UniqueCountsResult", *unique(x, return_counts=True, equal_nan=False))


@implements("unique_inverse")
def unique_inverse(x) -> Any:
    return _as_named_tuple("UniqueInverseResult", *unique(x, return_inverse=True, equal_nan=False))


@implements("unique_values")
def unique_values(x) -> DeviceNDArray:
    return unique(x, equal_nan=False)
