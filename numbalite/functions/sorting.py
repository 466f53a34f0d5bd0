"""Implements sort, argsort, lexsort and partitions. All values of `kind` select the same stable sort."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from numbalite.algorithms import sorting
from numbalite.functions import arguments
from numbalite.ndarray import assign
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

_KINDS = "qhsmQHSM"  # NumPy reads only the first letter of a kind


def check_arguments(a: Any, kind: Any, order: Any, stable: Any) -> tuple:
    """Returns the record fields in the argument `order`. Checks `kind` and the other arguments of a sort,
    with NumPy's exceptions."""
    if kind is not None:
        if stable is not None:
            raise ValueError(
                "`kind` and keyword parameters can't be provided at the same time. Use only one of them."
            )
        if not isinstance(kind, str):
            raise TypeError(f"sort kind must be str, not {type(kind).__name__}")
        if not kind or kind[0] not in _KINDS:
            raise ValueError(
                f"sort kind must be one of 'quick', 'heap', or 'stable' (got {kind!r})"
            )
    if order is None:
        return ()
    if a.dtype.names is None:
        raise ValueError("Cannot specify order when the array has no fields.")
    names = (
        (order,)
        if isinstance(order, str)
        else tuple(itertools.islice(order, len(a.dtype.names) + 1))
    )
    for name in names:
        if name not in a.dtype.names:
            raise ValueError(f"unknown field name: {name}")
    if len(set(names)) < len(names):
        raise ValueError(f"duplicate field name in order={order!r}")
    return names


@implements("sort")
def sort(a, axis=-1, kind=None, order=None, *, stable=None) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    fields = check_arguments(a, kind, order, stable)
    with assign.on_device_of(a):
        return sorting.sort(*sorting.array_and_axis(a, axis), False, fields)


@implements("argsort")
def argsort(a, axis=-1, kind=None, order=None, *, stable=None) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    fields = check_arguments(a, kind, order, stable)
    return _sorting_indices(a, axis, fields)


def _sorting_indices(a, axis, fields, descending=False, stream=0):
    """Returns the sorting indices along an axis; for a 0-dimensional array, returns one index."""
    if a.ndim == 0:
        a = a._reshaped_view((1,), "C", False)
    with assign.on_device_of(a):
        return sorting.argsort(*sorting.array_and_axis(a, axis), descending, fields, stream)


# ---------------------------------------------------------------------------------------- methods


@implements("ndarray.sort")
def sort_in_place(
    a: DeviceNDArray,
    axis=-1,
    kind=None,
    order=None,
    *,
    stable=None,
    descending: bool = False,
    stream=0,
) -> None:
    fields = check_arguments(a, kind, order, stable)
    if a.readonly:
        raise ValueError("sort array is read-only")
    axis = shapes.axis_number(axis, a.ndim)
    with assign.on_device_of(a):
        sorting.sort(a, axis, descending, fields, a, stream)


@implements("ndarray.argsort")
def sorted_indices(
    a: DeviceNDArray,
    axis=-1,
    kind=None,
    order=None,
    *,
    stable=None,
    descending: bool = False,
    stream=0,
) -> DeviceNDArray:
    return _sorting_indices(a, axis, check_arguments(a, kind, order, stable), descending, stream)


@implements("ndarray.partition")
def partition_in_place(a: DeviceNDArray, kth, axis=-1, kind="introselect", order=None) -> None:
    check_select(a, kth, axis, kind)
    sort_in_place(a, axis, None, order)


# ------------------------------------------------------------------------------------ several keys


@implements("lexsort")
def lexsort(keys, axis=-1) -> DeviceNDArray:
    if not hasattr(keys, "shape"):
        keys = list(keys)
    elif keys.ndim == 0:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    else:
        keys = [keys[number, ...] for number in range(keys.shape[0])]
    if not keys:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    keys = arguments.arrays_of(keys)
    if len({key.shape for key in keys}) > 1:
        raise ValueError("all keys need to be the same shape")
    with assign.on_device_of(keys[0]):
        if keys[0].ndim == 0:
            return sorting.argsort(keys[0]._reshaped_view((1,), "C", False), 0)._reshaped_view(
                (), "C", False
            )
        return sorting.lexsort(keys, sorting.array_and_axis(keys[0], shapes.axis_index(axis))[1])


@implements("sort_complex")
def sort_complex(a) -> DeviceNDArray:
    made = sort(a)
    if made.dtype.kind == "c":
        return made
    return made.astype(np.complex64 if made.dtype.char in "bhBH" else np.complex128)


# ------------------------------------------------------------------------------------- partitions


def check_select(a: DeviceNDArray, kth: Any, axis: Any, kind: Any) -> None:
    """Checks `kth` and `kind` of a partition, and raises ValueError or TypeError as in NumPy."""
    if kind != "introselect":
        raise ValueError(f"select kind must be 'introselect' (got {kind!r})")
    given = np.asarray(kth)
    if given.dtype == bool:
        raise ValueError("Booleans unacceptable as partition index")
    if given.dtype.kind not in "iu":
        raise TypeError("Partition index must be integer")
    if given.ndim > 1:
        raise ValueError("object too deep for desired array")
    n = a.size if axis is None else a.shape[shapes.axis_number(axis, a.ndim)]
    for one in given.ravel().tolist() if a.size else ():
        if not -n <= one < n:
            raise ValueError(f"kth(={one + n if one < 0 else one}) out of bounds ({n})")


@implements("partition")
def partition(a, kth, axis=-1, kind="introselect", order=None) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    check_select(a, kth, axis, kind)
    return sort(a, axis, None, order)


@implements("argpartition")
def argpartition(a, kth, axis=-1, kind="introselect", order=None) -> DeviceNDArray:
    a = arguments.as_device_array(a)
    if a.ndim == 0:
        a = a._reshaped_view((1,), "C", False)
    check_select(a, kth, axis, kind)
    return argsort(a, axis, None, order)
