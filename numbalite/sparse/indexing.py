"""Implements indexing of sparse arrays, A[key]: rows and columns by numbers, slices and lists; single
elements; masks.

Rows of a csr_array are gathered. A slice of columns filters elements; for a list of columns, the array is first
converted to csc. A csc_array is handled as the transposed csr_array; a coo_array is converted to csr.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from numbalite.functions import arguments
from numbalite.functions.creation import number_sequence
from numbalite.ndarray.arrays import DeviceNDArray
from numbalite.sparse import construct, kernels, products

if TYPE_CHECKING:
    from typing import Any


class SliceRange(NamedTuple):
    """The range of a slice along an axis."""

    start: int
    step: int
    length: int


def get_items(a: Any, key: Any) -> Any:
    """Implements A[key]."""
    with arguments.on_device_of(a.data):
        if _is_mask(a, key):
            return _masked_elements(a, key)
        keys = _keys_of_axes(a, key)
        if a.ndim == 1:
            return _select_from_vector(a, keys[0])
        if all(isinstance(one, DeviceNDArray) for one in keys) and not _is_outer_index(*keys):
            return _elements_at(a, *keys)
        keys = tuple(
            arguments.as_1d(one) if isinstance(one, DeviceNDArray) else one for one in keys
        )
        if a.format == "csc":
            return _transpose_sparse(_select_block(a.T, *keys[::-1]))
        made = _select_block(a.tocsr(), *keys)
        return made.tocoo() if construct.issparse(made) and a.format == "coo" else made


def _transpose_sparse(made):
    return made.T if construct.issparse(made) else made


# ----------------------------------------------------------------------------------------------- keys


def _keys_of_axes(a, key):
    """Returns a list with a key for each axis: an integer, a SliceRange, or a device array of non-negative integers."""
    keys = key if isinstance(key, tuple) else (key,)
    if any(one is None for one in keys):
        raise IndexError("sparse arrays do not support None as an index: use reshape")
    ellipses = [i for i, one in enumerate(keys) if one is Ellipsis]
    if len(ellipses) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    place = ellipses[0] if ellipses else len(keys)
    rest = keys[:place] + keys[place + 1 :]
    if len(rest) > a.ndim:
        raise IndexError(f"{len(rest)} indices for a sparse array of {a.ndim} dimensions")
    missing = (slice(None),) * (a.ndim - len(rest))
    keys = keys[:place] + missing + keys[place + 1 :]
    made = tuple(_axis_key(one, length) for one, length in zip(keys, a.shape))
    arrays = [one for one in made if isinstance(one, DeviceNDArray)]
    if any(one.ndim != 1 for one in arrays) and len(arrays) < 2:
        raise IndexError("a list of rows or columns must have one dimension")
    return made


def _axis_key(key, length):
    if isinstance(key, slice):
        start, stop, step = key.indices(length)
        return SliceRange(start, step, len(range(start, stop, step)))
    if isinstance(key, (bool, np.bool_)):
        raise IndexError("a boolean is not an index of a sparse array")
    if isinstance(key, DeviceNDArray):
        return _device_indices(key, length) if key.ndim else _normalized_index(key.item(), length)
    try:
        return _normalized_index(operator.index(key), length)
    except TypeError:
        return arguments.as_device_array(_host_indices(np.asarray(key), length))


def _normalized_index(number, length):
    if not -length <= number < length:
        raise IndexError(f"index {number} is out of bounds for an axis of length {length}")
    return number % length


def _check_mask(mask, length):
    if mask.shape != (length,):
        raise IndexError(f"a mask of shape {mask.shape} for an axis of length {length}")


def _check_numbers(array):
    if array.dtype.kind not in "iu":
        raise IndexError(f"an index of dtype {array.dtype}: use integers, slices, lists and masks")


def _host_indices(array, length):
    if array.dtype.kind == "b":
        _check_mask(array, length)
        return np.flatnonzero(array)
    if not array.size and array.dtype.kind == "f":  # an empty list
        return array.astype(np.int64)
    _check_numbers(array)
    for end in (array.min(), array.max()) if array.size else ():
        _normalized_index(int(end), length)
    return np.where(array < 0, array + length, array).astype(np.int64)


def _device_indices(array, length):
    if array.dtype.kind == "b":
        _check_mask(array, length)
        return np.flatnonzero(array)
    _check_numbers(array)
    array = array.astype(np.int64, copy=False)
    ends = (np.min(array).item(), np.max(array).item()) if array.size else ()
    for end in ends:
        _normalized_index(end, length)
    return np.where(array < 0, array + length, array) if ends and ends[0] < 0 else array


def _is_outer_index(rows, columns):
    """Returns whether these index arrays have the shapes of np.ix_: rows as a column, columns as a row."""
    return rows.ndim == columns.ndim == 2 and rows.shape[1] == columns.shape[0] == 1


def _is_mask(a, key):
    if construct.issparse(key):
        return True
    if isinstance(key, list) and a.ndim == 2:
        key = np.asarray(key)
    is_array = isinstance(key, (np.ndarray, DeviceNDArray))
    return is_array and key.dtype.kind == "b" and key.ndim == 2


# -------------------------------------------------------------------------------------------- results


def _select_block(rows, row_key, column_key):
    """Selects rows and columns of a csr_array."""
    if isinstance(row_key, int) and isinstance(column_key, int):
        return _sample_elements(rows, *(np.array([one]) for one in (row_key, column_key)))[0]
    is_line = isinstance(row_key, int) or isinstance(column_key, int)
    row_key, column_key = (
        SliceRange(one, 1, 1) if isinstance(one, int) else one for one in (row_key, column_key)
    )
    made = _select_columns(_select_rows(rows, row_key), column_key)
    if is_line:
        return made.tocoo().reshape((-1,))
    return made if made is not rows else rows.copy()


def _select_rows(rows, key):
    length, columns = rows.shape
    if not isinstance(key, SliceRange):
        return products.rows_by_number(rows, key)
    if key == SliceRange(0, 1, length):
        return rows
    if key.step != 1 or not key.length:
        return products.rows_by_number(
            rows, number_sequence(key.start, key.step, key.length, np.int64, rows.data)
        )
    ends = rows.indptr[key.start : key.start + key.length + 1]
    first, last = map(int, ends[:: key.length].copy_to_host())
    parts = (one[first:last].copy() for one in (rows.data, rows.indices))
    return rows._from_parts(
        (*parts, np.subtract(ends, first)), (key.length, columns), rows._is_sorted
    )


def _select_columns(rows, key):
    lines, length = rows.shape
    if not isinstance(key, SliceRange):
        return products.rows_by_number(rows.tocsc().T, key).T.tocsr()
    if key == SliceRange(0, 1, length):
        return rows
    indices = arguments.empty((rows.nnz,), rows.indices.dtype, rows.data)
    mask = arguments.empty((rows.nnz,), np.bool_, rows.data)
    if rows.nnz:
        kernels.renumber_slice.forall(rows.nnz)(rows.indices, *key, indices, mask)
    parts = rows.data, indices, rows.indptr
    is_sorted = rows._is_sorted and key.step > 0
    return rows._from_parts(parts, (lines, key.length), is_sorted)._filter_elements(mask)


def _sample_elements(rows, row, column):
    """Returns single elements of a csr_array, as a dense array."""
    row, column = (arguments.as_device_array(one) for one in (row, column))
    values = arguments.empty(row.shape, rows.dtype, rows.data)
    values.fill(0)
    if values.size:
        args = rows._is_sorted, row, column, values
        kernels.sample_elements.forall(values.size)(*rows._component_arrays(), *args)
    return values


def _elements_at(a, rows, columns):
    """Returns A[rows, columns] for two index arrays: a dense vector, or a sparse array for 2-dimensional
    index arrays."""
    try:
        shape = np.broadcast_shapes(rows.shape, columns.shape)
    except ValueError:
        raise IndexError(
            f"arrays of indices of shapes {rows.shape} and {columns.shape} do not fit together"
        ) from None
    if len(shape) > 2:
        raise IndexError("arrays of indices of a sparse array have at most two dimensions")
    rows, columns = (np.broadcast_to(one, shape).reshape(-1) for one in (rows, columns))
    if a.format == "csc":
        values = _sample_elements(a.T, columns, rows)
    else:
        values = _sample_elements(a.tocsr(), rows, columns)
    return values if len(shape) == 1 else a.formats[a.format](values.reshape(shape))


def _masked_elements(a, mask):
    """Returns the elements for which a mask of the array's shape is true, row by row, as a dense vector."""
    is_sparse = construct.issparse(mask)
    mask = mask if is_sparse else arguments.as_device_array(mask)
    if mask.dtype.kind != "b" or mask.shape != a.shape:
        raise IndexError(
            f"a mask of dtype {mask.dtype} and shape {mask.shape} for a sparse array of shape {a.shape}"
        )
    places = mask.nonzero() if is_sparse else np.nonzero(mask)
    if a.ndim == 2:
        return _elements_at(a, *places)
    return _sample_elements(_as_row_array(a), np.zeros_like(places[0]), places[0])


def _as_row_array(line):
    """Returns a 1-dimensional array as a csr_array with one row."""
    return line.reshape((1, -1)).tocsr()


def _select_from_vector(a, key):
    """A[key] for a 1-dimensional array."""
    row = _as_row_array(a)
    return _select_block(row, 0, key)
