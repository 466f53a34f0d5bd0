"""Computes indices of elements: grids, diagonals and triangles, and converts between flat and
multi-dimensional indices."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.functions.creation import number_sequence
from numbalite.functions.matrices import lower_triangle_mask
from numbalite.functions.selection import flatnonzero, nonzero
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


# --------------------------------------------------------------------------------------------- grids


def _view_along_axis(line, axis, count):
    """Returns a view of a 1-dimensional array with ``count`` dimensions, all of length 1 except `axis`."""
    return line.reshape([-1 if i == axis else 1 for i in range(count)])


@implements("ix_")
def ix_(*args) -> tuple[DeviceNDArray, ...]:
    """Masks are converted to the indices of their true elements, and the call waits for their number."""
    made = []
    for axis, line in enumerate(arguments.arrays_of(args)):
        if line.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if line.dtype == bool:
            line = flatnonzero(line)
        elif line.size == 0 and not hasattr(args[axis], "dtype"):
            line = line.astype(np.intp)  # an empty list has no integer dtype
        made.append(_view_along_axis(line, axis, len(args)))
    return tuple(made)


@implements("indices")
def indices(dimensions, dtype=int, sparse: bool = False) -> Any:
    """The result is on the current device, because NumPy's function has no parameter ``like=``."""
    shape = tuple(map(operator.index, shapes.tuple_of_items(dimensions, "dimensions")))
    dtype = np.dtype(dtype)
    lines = [
        _view_along_axis(
            number_sequence(0, 1, n, np.int64).astype(dtype, copy=False), axis, len(shape)
        )
        for axis, n in enumerate(shape)
    ]
    if sparse:
        return tuple(lines)
    made = arguments.empty((len(shape), *shape), dtype)
    for axis, line in enumerate(lines):
        made[axis, ...] = line
    return made


class Grid:
    """`cuda.mgrid[:3, 0:1:5j]` and `cuda.ogrid[...]`: NumPy computes the coordinates, and this function
    copies them to the device."""

    def __init__(self, is_sparse: bool) -> None:
        self._is_sparse = is_sparse

    def __getitem__(self, key: Any) -> Any:
        found = np.ogrid[key]
        if not isinstance(key, tuple):
            return arguments.as_device_array(found)
        lines = [arguments.as_device_array(line) for line in found]
        if self._is_sparse:
            return tuple(lines)
        shape = np.broadcast_shapes(*(line.shape for line in lines))
        made = arguments.empty((len(lines), *shape), np.result_type(*(x.dtype for x in lines)))
        for axis, line in enumerate(lines):
            made[axis, ...] = line
        return made


# --------------------------------------------------------------------------- diagonals and triangles


@implements("diag_indices")
def diag_indices(n, ndim: int = 2) -> tuple[DeviceNDArray, ...]:
    return (number_sequence(0, 1, max(operator.index(n), 0), np.int64),) * ndim


@implements("diag_indices_from")
def diag_indices_from(arr) -> tuple[DeviceNDArray, ...]:
    if not arr.ndim >= 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    with arguments.on_device_of(arr):
        return diag_indices(arr.shape[0], arr.ndim)


@implements("tril_indices")
def tril_indices(n, k: int = 0, m=None) -> tuple[DeviceNDArray, ...]:
    return nonzero(_lower_triangle_mask(n, m, k))


@implements("triu_indices")
def triu_indices(n, k: int = 0, m=None) -> tuple[DeviceNDArray, ...]:
    return nonzero(np.logical_not(_lower_triangle_mask(n, m, operator.index(k) - 1)))


def _lower_triangle_mask(rows, columns, k):
    rows = operator.index(rows)
    return lower_triangle_mask(rows, rows if columns is None else operator.index(columns), k, None)


def _shape_of_matrix(arr):
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return arr.shape


@implements("tril_indices_from")
def tril_indices_from(arr, k: int = 0) -> tuple[DeviceNDArray, ...]:
    rows, columns = _shape_of_matrix(arr)
    with arguments.on_device_of(arr):
        return tril_indices(rows, k, columns)


@implements("triu_indices_from")
def triu_indices_from(arr, k: int = 0) -> tuple[DeviceNDArray, ...]:
    rows, columns = _shape_of_matrix(arr)
    with arguments.on_device_of(arr):
        return triu_indices(rows, k, columns)


# ------------------------------------------------------------------------------------ flat indices


def _dimension_lengths(shape):
    lengths = shapes.tuple_of_integers(shape)
    if math.prod(lengths) > np.iinfo(np.intp).max:
        raise ValueError(
            "invalid dims: array size defined by dims is larger than the maximum possible size."
        )
    return lengths


@implements("unravel_index")
def unravel_index(indices, shape, order: str = "C") -> tuple[DeviceNDArray, ...]:
    """Waits for the check of the indices, and raises ValueError for an index outside the shape."""
    order = shapes.order_of(order, "C", "CF")
    lengths = _dimension_lengths(shape)
    left = arguments.as_device_array(indices)
    if left.dtype.kind not in "biu":
        raise TypeError("only int indices permitted")
    count = math.prod(lengths)
    left = left.astype(np.intp, copy=False)
    if left.size and not (0 <= np.min(left).item() and np.max(left).item() < count):
        raise ValueError(f"an index is out of bounds for array with size {count}")
    made = []
    for n in lengths if order == "F" else reversed(lengths):
        made.append(left % max(n, 1))
        left = left // max(n, 1)
    return tuple(made if order == "F" else reversed(made))


@implements("ravel_multi_index")
def ravel_multi_index(multi_index, dims, mode="raise", order: str = "C") -> DeviceNDArray:
    """With mode "raise", waits for the check of the indices, and raises ValueError for an index outside its
    axis."""
    order = shapes.order_of(order, "C", "CF")
    lengths = _dimension_lengths(dims)
    modes = (mode,) * len(lengths) if isinstance(mode, str) else tuple(mode)
    for one in modes:
        if one not in ("raise", "wrap", "clip"):
            raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {one!r})")
    places = arguments.arrays_of(multi_index)
    if not len(places) == len(lengths) == len(modes):
        raise ValueError(
            f"parameter multi_index must be a sequence of length {len(lengths)}, one for each of dims, and "
            f"mode one or as many: not {len(places)} and {len(modes)}"
        )
    step = 1
    made: Any = 0
    each = list(zip(places, lengths, modes, strict=True))
    for place, n, one in each if order == "F" else reversed(each):
        made = _check_bounds(place, n, one) * step + made
        step *= n
    return made


def _check_bounds(place, n, mode):
    if place.dtype.kind not in "biu":
        raise TypeError("only int indices permitted")
    if place.size and not n:
        raise ValueError("ravel_multi_index: an axis of length 0 has no valid index")
    place = place.astype(np.intp, copy=False)
    if mode == "wrap":
        return np.mod(place, n)
    if mode == "clip":
        return np.clip(place, 0, n - 1)
    if place.size and not (0 <= np.min(place).item() and np.max(place).item() < n):
        raise ValueError("invalid entry in coordinates array")
    return place
