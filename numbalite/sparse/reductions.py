"""Implements reductions of sparse arrays: sum, mean, max, min, argmax and argmin, of all elements, or of each
column (axis 0) or row (axis 1)."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.sparse import construct, kernels

if TYPE_CHECKING:
    from typing import Any


def _reduced_axis(a, axis):
    """Returns the reduced axis: 0, 1 or None for all. Raises ValueError for an invalid axis."""
    if axis is None:
        return None
    try:
        axes = sorted(operator.index(one) for one in (axis if isinstance(axis, tuple) else (axis,)))
    except TypeError:
        raise TypeError(
            f"axis is {axis!r}: axis must be an integer or a tuple of integers"
        ) from None
    if not axes:
        raise ValueError("axis is (): it must contain an axis")
    if any(not -a.ndim <= one < a.ndim for one in axes):
        raise ValueError(f"axis is {axis!r}: the array has {a.ndim} dimensions")
    found = {one % a.ndim for one in axes}
    if len(found) < len(axes):
        raise ValueError(f"axis is {axis!r}: an axis is there twice")
    return None if len(found) == a.ndim else found.pop()


def _convert_result(made, out, name):
    if out is None:
        return made
    if not hasattr(out, "shape"):
        raise TypeError(f"{name}: out must be an array, not {type(out).__name__}")
    if out.shape != made.shape:
        raise ValueError(f"{name}: out has shape {out.shape}: it must have shape {made.shape}")
    out[...] = made
    return out


# ------------------------------------------------------------------------------------- sums and means


def sum_axis(a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """Implements a.sum(axis, dtype, out)."""
    a, axis = a._with_explicit_indices(), _reduced_axis(a, axis)
    dtype = np.asarray(np.sum(np.empty(0, a.dtype), dtype=dtype)).dtype
    with arguments.on_device_of(a.data):
        if axis is None:
            made = np.sum(a.data, dtype=dtype)
        else:
            made = _axis_sums(a.astype(dtype, copy=False), axis)
        return _convert_result(made, out, "sum")


def _axis_sums(a, axis):
    """Returns the sums along an axis; for dtypes of cuSPARSE, as a product with a vector of ones."""
    if a.dtype.char not in construct.VALUES:
        return _sums_of_lines(a, axis)
    ones = arguments.empty((a.shape[axis],), a.dtype, a.data)
    ones.fill(1)
    return a @ ones if axis else ones @ a


def _sums_of_lines(a, axis):
    made = arguments.empty((a.shape[1 - axis],), a.dtype, a.data)
    made.fill(0)
    if a.nnz:
        np.add.at(made, a.tocoo().coords[1 - axis], a.data)
    return made


def mean(a: Any, axis: Any, dtype: Any, out: Any) -> Any:
    """Implements a.mean(axis, dtype, out). Raises ZeroDivisionError for an empty sum."""
    over = _reduced_axis(a, axis)
    whole = a.dtype.kind in "biu"
    dtype = np.dtype(dtype if dtype is not None else np.float64 if whole else a.dtype)
    inner = np.dtype(np.float64) if whole else dtype
    count = math.prod(a.shape) if over is None else a.shape[over]
    if not count:
        raise ZeroDivisionError("mean: there are no elements")
    made = np.true_divide(sum_axis(a, axis, inner, None), count)
    return _convert_result(made.astype(dtype, copy=False), out, "mean")


# ------------------------------------------------------------------------------ largest and smallest


def _refuse_out(out, name):
    if out is not None:
        raise ValueError(f"{name}: sparse arrays do not support out here")


def reduce_extreme(a: Any, ufunc: Any, axis: Any, out: Any, explicit: bool) -> Any:
    """Implements a.max(axis), a.min(axis), a.nanmax(axis) and a.nanmin(axis), by `ufunc`."""
    name = {"maximum": "max", "minimum": "min", "fmax": "nanmax", "fmin": "nanmin"}[ufunc.__name__]
    a, axis = a._with_explicit_indices(), _reduced_axis(a, axis)
    _refuse_out(out, name)
    count = math.prod(a.shape) if axis is None else a.shape[axis]
    if not count:
        raise ValueError(f"{name}: zero-size array to reduction operation")
    with arguments.on_device_of(a.data):
        a.sum_duplicates()
        if axis is None:
            return _extreme_of_all(a, ufunc, count, explicit)
        made = _extremes_of_rows(a, ufunc, axis, explicit)
    return a.formats["coo"](made)


def _extreme_of_all(a, ufunc, count, explicit):
    if not a.nnz:
        return np.zeros((), a.dtype, like=a.data)
    made = ufunc.reduce(a.data)
    return made if explicit or a.nnz == count else ufunc(made, a.dtype.type(0))


def _rows_along(a, axis):
    """Returns a csr array whose rows are the 1-D slices along an axis, without duplicates."""
    rows = a.tocsr() if axis else a.tocsc().T
    rows.sum_duplicates()
    return rows


def _extremes_of_rows(a, ufunc, axis, explicit):
    rows = _rows_along(a, axis)
    count, length = rows.shape
    made = arguments.empty((count,), a.dtype, a.data)
    if count:
        kernels.extremes.forall(count)(
            rows.data, rows.indptr, length, ufunc in (np.maximum, np.fmax),
            ufunc in (np.fmax, np.fmin), explicit, a.dtype.type(0), made,
        )  # fmt: skip
    return made


def find_extreme(a: Any, name: str, axis: Any, out: Any, explicit: bool) -> Any:
    """Implements a.argmax(axis) and a.argmin(axis)."""
    a, axis = a._with_explicit_indices(), _reduced_axis(a, axis)
    _refuse_out(out, name)
    if not (math.prod(a.shape) if axis is None else a.shape[axis]):
        raise ValueError(f"{name}: there are no elements")
    with arguments.on_device_of(a.data):
        if explicit and axis is None:
            return _index_of_stored(a, name)
        if a.ndim == 1:
            a = a.reshape((1, -1))
            return _find_extremes(a, name, 1)[0].reshape(())
        if axis is not None and explicit:
            return np.maximum(_find_extremes(a, name, axis, True)[0], 0)
        if axis is not None:
            return _find_extremes(a, name, axis)[0]
        places, values = _find_extremes(a, name, 1)
        row = getattr(np, name)(values)
        return row * a.shape[1] + np.take(places, row)


def _index_of_stored(a, name):
    """Returns the flat index of the largest or smallest stored element."""
    rows = _rows_along(a if a.ndim == 2 else a.reshape((1, -1)), 1).tocoo()
    if not rows.nnz:
        raise ValueError(f"{name}: no elements are stored")
    first = getattr(np, name)(rows.data)
    row, column = (np.take(one, first).astype(np.int64) for one in rows.coords)
    return row * rows.shape[1] + column


def _find_extremes(a, name, axis, explicit=False):
    """Returns (indices, values) of the largest or smallest element of each row of `_rows_along`; the index is
    -1 for an empty row."""
    rows = _rows_along(a, axis)
    lines, length = rows.shape
    length = 0 if explicit else length  # elements that are not stored do not count
    places = arguments.empty((lines,), np.int64, a.data)
    values = arguments.empty((lines,), a.dtype, a.data)
    if lines:
        zero = a.dtype.type(0)
        args = *rows._component_arrays(), length, name == "argmax", zero, places, values
        kernels.find_extreme_of_rows.forall(lines)(*args)
    return places, values
