"""What is there once, of sorted arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbalite.cuda import shapes
from numbalite.cuda.algorithms import sorting
from numbalite.cuda.arrayfunctions import arguments
from numbalite.cuda.arrayfunctions.dispatch import implements
from numbalite.kernels.decorators import jit

if TYPE_CHECKING:
    from typing import Any

    from numbalite.cuda.arrays import DeviceNDArray

_THREADS, _MOST_BLOCKS = 256, 1 << 13


@jit
def _starts(groups, starts):
    """
    for (long long i = grid<1>(); i < groups.size(); i += gridsize<1>())
        if (i == 0 || groups[i] != groups[i - 1])
            starts[groups[i] - 1] = i;
    """


@jit
def _inverse(order, groups, inverse):
    """
    for (long long i = grid<1>(); i < order.size(); i += gridsize<1>())
        inverse[order[i]] = groups[i] - 1;
    """


def _run(kernel, count, *given):
    kernel[min(-(-count // _THREADS), _MOST_BLOCKS), _THREADS](*given)


def _is_first(line, equal_nan):
    """Where a sorted line (or rows, of a table) has something else than before."""
    parts = [line] if line.dtype.names is None else sorting.fields_of(line)
    differs = None
    for part in parts:
        found = _differs(part[1:], part[:-1], equal_nan)
        differs = found if differs is None else np.logical_or(differs, found)
    if line.ndim > 1:
        differs = np.any(differs, axis=1)
    made = arguments.empty((line.shape[0],), bool, line)
    made[:1] = True
    made[1:] = differs
    return made


def _differs(after, before, equal_nan):
    kind = after.dtype.kind
    if kind in "mM":
        after, before = after.view(np.int64), before.view(np.int64)  # NaT is one number, and alike
        if not equal_nan:
            nat = np.equal(after, np.iinfo(np.int64).min)
            return np.logical_or(np.not_equal(after, before), nat)
    differs = np.not_equal(after, before)
    if equal_nan and kind in "fc":
        both = np.logical_and(np.isnan(after), np.isnan(before))
        differs = np.logical_and(differs, np.logical_not(both))
    return differs


class _Found(NamedTuple):
    values: Any
    index: Any
    inverse: Any
    counts: Any


def _unique(a, needs_index, needs_inverse, needs_counts, equal_nan):
    """Of a line, or of the rows of a table."""
    n = a.shape[0]
    rows = a.ndim > 1
    order = None
    if rows:
        keys = [a[:, k] for k in range(a.shape[1])][::-1]
        order = sorting.lexsort(keys, 0) if keys else sorting.argsort(a[:, :0].sum(1), 0)
    elif needs_index or needs_inverse:
        order = sorting.argsort(a, 0)
    line = sorting.sort(a, 0) if order is None else _taken(a, order)
    if n == 0:
        none = arguments.empty((0,), np.intp, a)
        return _Found(line, none, none, none)
    groups = np.cumsum(_is_first(line, equal_nan), dtype=np.int64)
    count = groups[-1].item()
    starts = arguments.empty((count,), np.int64, a)
    _run(_starts, n, groups, starts)
    index = inverse = counts = None
    if needs_index:
        index = _taken(order, starts)
    if needs_inverse:
        inverse = arguments.empty((n,), np.int64, a)
        _run(_inverse, n, order, groups, inverse)
    if needs_counts:
        counts = arguments.empty((count,), np.int64, a)
        counts[:-1] = np.diff(starts)
        counts[-1:] = n - starts[-1:]
    return _Found(_taken(line, starts), index, inverse, counts)


def _taken(a, places):
    """Elements, or rows."""
    if a.ndim == 1:
        return sorting.take_along(a, places, 0, 0)
    spread = places.reshape((-1, 1))
    spread = np.broadcast_to(spread, (places.size, a.shape[1]))
    return sorting.take_along(a, spread, 0, 0)


@implements("unique")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: Any = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    ar = arguments.array(ar)
    with arguments.on_device_of(ar):
        needs = return_index, return_inverse, return_counts
        if axis is None:
            found = _unique(arguments.flat(ar), *needs, equal_nan)
            values, inverse_shape = found.values, ar.shape
        else:
            axis = shapes.axis_number(axis, ar.ndim)
            moved = np.moveaxis(ar, axis, 0)
            table = arguments.reshaped(moved, (moved.shape[0], _rest(moved.shape)))
            found = _unique(table, *needs, False)  # NumPy takes rows with NaN for different ones
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


def _rest(shape):
    size = 1
    for n in shape[1:]:
        size *= n
    return size


def _named(name, *made):
    """NumPy's named tuple."""
    kind = (
        getattr(np.lib._arraysetops_impl, name, None)
        if hasattr(np.lib, "_arraysetops_impl")
        else None
    )
    return kind(*made) if kind is not None else made


@implements("unique_all")
def unique_all(x: Any) -> Any:
    return _named("UniqueAllResult", *unique(x, True, True, True, equal_nan=False))


@implements("unique_counts")
def unique_counts(x: Any) -> Any:
    return _named("UniqueCountsResult", *unique(x, return_counts=True, equal_nan=False))


@implements("unique_inverse")
def unique_inverse(x: Any) -> Any:
    return _named("UniqueInverseResult", *unique(x, return_inverse=True, equal_nan=False))


@implements("unique_values")
def unique_values(x: Any) -> DeviceNDArray:
    return unique(x, equal_nan=False)
