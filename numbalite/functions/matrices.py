"""Implements matrices with given diagonals or triangles, meshgrid, sliding windows and cross products."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.functions.creation import number_sequence
from numbalite.functions.geometry import axes_of, moveaxis
from numbalite.ndarray import assign, indexing
from numbalite.ndarray.dispatch import implements
from numbalite.runtime import shapes
from numbalite.ufuncs import elementwise
from numbalite.ufuncs.fuse import fuse

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray


# ------------------------------------------------------------------------------------------ diagonals


@implements("diag")
def diag(v, k: int = 0) -> DeviceNDArray:
    """Returns the diagonal of a matrix, as a view; for a 1-dimensional array, returns a matrix with this
    diagonal."""
    v = arguments.as_device_array(v)
    if v.ndim == 2:
        return v.diagonal(k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return diagflat(v, k)


@implements("diagflat")
def diagflat(v, k: int = 0) -> DeviceNDArray:
    v = arguments.as_device_array(v)
    line, k = arguments.as_1d(v), operator.index(k)
    n = line.size + abs(k)
    made = arguments.empty((n, n), v.dtype, v)
    made.fill(0)
    first = k if k > 0 else -k * n
    made.reshape(n * n)[first :: n + 1][: line.size] = line
    return made


@implements("fill_diagonal")
def fill_diagonal(a, val, wrap: bool = False) -> None:
    if a.ndim < 2:
        raise ValueError("array must be at least 2-d")
    if a.ndim > 2 and len(set(a.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    a = arguments.as_device_array(a)
    val = indexing.convert_like(val, a)
    rows, columns = a.shape[0], a.shape[-1]
    begins = range(0, rows, columns + 1) if wrap and a.ndim == 2 else (0,)
    done = 0
    for begin in begins:
        part = a[begin:]
        length = min(part.shape)
        line = part._view_with_layout((length,), (sum(part.strides),))
        line[...] = val if val.ndim == 0 else _repeat_cyclically(val, done, length)
        done += length


def _repeat_cyclically(values, first, count):
    """Returns ``count`` values, repeated cyclically, from index ``first``."""
    line = arguments.as_1d(values)
    return line.take(number_sequence(first, 1, count, np.int64, line), mode="wrap")


# ------------------------------------------------------------------------------------------ triangles


def _row_and_column_numbers(rows, columns, k, like):
    """Returns (row numbers plus k, as a column; column numbers). Both results are views of one array, which
    a single launch creates."""
    k = min(max(operator.index(k), -rows - 1), columns + 1)
    first, last = min(k, 0), max(rows + k, columns)
    # 32-bit indices need half the memory and instructions
    dtype = np.int32 if max(-first, last) < 2**31 else np.int64
    line = number_sequence(first, 1, last - first, dtype, like)
    return line[k - first :][:rows].reshape((rows, 1)), line[-first:][:columns]


def lower_triangle_mask(rows: int, columns: int, k: Any, like: Any) -> Any:
    """Returns a boolean matrix that is true on the k-th diagonal and below."""
    return np.greater_equal(*_row_and_column_numbers(rows, columns, k, like))


@fuse
def _lower_triangle(m, row, column):
    return np.where(row >= column, m, np.False_)


@fuse
def _mask_upper_triangle(m, row, column):
    return np.where(row < column, m, np.False_)


def _copy_triangle(m, k, is_lower):
    m = arguments.as_device_array(m)
    if m.ndim == 1:  # as in NumPy, each row is a copy of m
        m = assign.broadcast_view(m, (m.size, m.size))
    elif m.ndim == 0:
        raise TypeError("tri() missing 1 required positional argument: 'N'")
    k = k if is_lower else operator.index(k) - 1
    if assign.is_number(m.dtype):
        kept = _lower_triangle if is_lower else _mask_upper_triangle
        made = kept(m, *_row_and_column_numbers(*m.shape[-2:], k, m))
        of_mask = (*[0] * (m.ndim - 2), m.shape[-1], 1)  # NumPy's mask is in C order
        return arguments.with_axis_order(made, m.strides, of_mask)
    below, zero = lower_triangle_mask(*m.shape[-2:], k, m), m.dtype.type(0)
    return np.where(below, m, zero) if is_lower else np.where(below, zero, m)


@implements("tril")
def tril(m, k: int = 0) -> DeviceNDArray:
    return _copy_triangle(m, k, True)


@implements("triu")
def triu(m, k: int = 0) -> DeviceNDArray:
    return _copy_triangle(m, k, False)


@implements("tri")
def tri(N, M=None, k: int = 0, dtype=float) -> DeviceNDArray:
    rows = operator.index(N)
    return lower_triangle_mask(rows, rows if M is None else operator.index(M), k, None).astype(
        dtype
    )


# ---------------------------------------------------------------------------------- grids and windows


@implements("meshgrid")
def meshgrid(
    *xi, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[DeviceNDArray, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    count = len(xi)
    lines = []
    for axis, one in enumerate(arguments.arrays_of(xi)):
        if indexing == "xy" and axis < 2 and count > 1:
            axis = 1 - axis
        lines.append(one.reshape([-1 if i == axis else 1 for i in range(count)]))
    if not sparse:
        shape = np.broadcast_shapes(*(one.shape for one in lines))
        lines = [assign.broadcast_view(one, shape) for one in lines]
    return tuple(one.copy() if copy else one for one in lines)


@implements("lib.stride_tricks.sliding_window_view")
def sliding_window_view(
    x, window_shape, axis=None, *, subok: bool = False, writeable: bool = False
) -> DeviceNDArray:
    """Returns a view with all windows of a shape; neighbouring windows share elements of the array."""
    x = arguments.as_device_array(x)
    lengths = shapes.tuple_of_integers(window_shape)
    if any(length < 0 for length in lengths):
        raise ValueError("`window_shape` cannot contain negative values")
    axes = tuple(range(x.ndim)) if axis is None else _normalized_axes(axis, x.ndim)
    if len(axes) != len(lengths):
        raise ValueError(
            f"window_shape has {len(lengths)} lengths for {len(axes)} axes: one for each is needed"
        )
    shape = list(x.shape)
    for one, length in zip(axes, lengths, strict=True):
        if shape[one] < length:
            raise ValueError("window shape cannot be larger than input array shape")
        shape[one] -= length - 1
    strides = (*x.strides, *(x.strides[one] for one in axes))
    return x._view_with_layout((*shape, *lengths), strides)


def _normalized_axes(axis, ndim):
    """Returns axes as axes_of does, but allows repeated axes."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    return tuple(shapes.axis_number(one, ndim) for one in given)


# ----------------------------------------------------------------------------------------- cross product


@implements("cross")
def cross(a, b, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis=None) -> DeviceNDArray:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = arguments.arrays_of((a, b))
    if a.ndim < 1 or b.ndim < 1:
        raise ValueError("At least one array has zero dimension")
    a = moveaxis(a, axes_of(axisa, a.ndim, "axisa")[0], -1)
    b = moveaxis(b, axes_of(axisb, b.ndim, "axisb")[0], -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        raise ValueError(
            f"cross() accepts vectors of three elements, not of {a.shape[-1]} and {b.shape[-1]}"
        )
    shape = np.broadcast_shapes(a.shape, b.shape)
    dtype = np.result_type(a.dtype, b.dtype)
    if dtype.kind == "b":
        raise TypeError(
            "cross() subtracts, which booleans do not support: convert them to integers"
        )
    made = arguments.empty(shape, dtype, a)
    axisc = axes_of(axisc, len(shape), "axisc")[0]
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    if all(one.strides[-1] == dtype.itemsize for one in (a, b, made)):
        elementwise.template_gufunc("cross_of_rows", "(n),(n)->(n)")(a, b, out=made)
    else:
        columns = [one[..., i] for one in (a, b) for i in range(3)]
        elementwise.template_ufunc("cross")(*columns, out=tuple(made[..., i] for i in range(3)))
    return moveaxis(made, -1, axisc)


@implements("linalg.cross")
def linalg_cross(x1, x2, /, *, axis: int = -1) -> DeviceNDArray:
    return cross(x1, x2, axis=axis)
