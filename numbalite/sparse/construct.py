"""Converts constructor arguments of sparse arrays: dense and SciPy arrays, and tuples such as (data, (row, col))."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from numbalite import _core
from numbalite.functions import arguments
from numbalite.ndarray import assign
from numbalite.runtime import shapes
from numbalite.sparse import kernels
from numbalite.ufuncs import operands
from numbalite.ufuncs.protocols import cuda_ufunc_for

if TYPE_CHECKING:
    from typing import Any

    from numbalite.ndarray.arrays import DeviceNDArray

VALUES = "efdFD"
"""The dtypes that cuSPARSE supports, as NumPy's characters."""


class Sparse:
    """The base class by which sparse arrays of all formats are recognized."""

    __slots__ = ()
    formats: ClassVar[dict[str, type]] = {}
    """The classes by the names of their formats."""
    format: ClassVar[str] = ""

    def __init_subclass__(cls) -> None:
        if cls.format:
            Sparse.formats[cls.format] = cls


def issparse(value: Any) -> bool:
    """Returns whether a value is a sparse array in device memory.

    Parameters
    ----------
    value : object
        The value.

    Returns
    -------
    bool
        True if the value is a sparse device array.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> sparse.issparse(sparse.eye_array(2)), sparse.issparse(np.eye(2))
    (True, False)
    """
    return isinstance(value, Sparse)


def as_operand(value: Any) -> Any:
    """Converts a SciPy sparse operand to a sparse device array; other values are unchanged."""
    return value if issparse(value) or not is_scipy(value) else Sparse.formats["csr"](value)


def is_scipy(value: Any) -> bool:
    """Returns whether the value is a SciPy sparse array or matrix."""
    return hasattr(value, "tocsr") and hasattr(value, "nnz")


def value_dtype(name: str, dtype: Any) -> np.dtype:
    """Returns the dtype if cuSPARSE supports it; otherwise raises TypeError."""
    dtype = np.dtype(dtype)
    if dtype.char not in VALUES:
        raise TypeError(
            f"{name}: values of dtype {dtype} are not supported: use float16, float32, float64, complex64 "
            "or complex128; convert with dtype= or astype()"
        )
    return dtype


def stored_dtype(name: str, dtype: Any) -> np.dtype:
    """Returns the dtype if sparse arrays can store it: dtypes of cuSPARSE, integers and booleans; otherwise
    raises TypeError."""
    dtype = np.dtype(dtype)
    if not assign.is_number(dtype):
        raise TypeError(
            f"{name}: values of dtype {dtype} are not supported: use booleans, integers, floats up to "
            "float64 or complex numbers up to complex128; convert with dtype= or astype()"
        )
    return dtype


def on_device_of(given: Any) -> Any:
    """Returns a context manager that makes the device of a constructor's argument current."""
    if issparse(given):
        return arguments.on_device_of(given.data)
    parts = given if isinstance(given, tuple) else (given,)
    return arguments.on_device_of(*parts)


def is_pair_of_integers(value: Any) -> bool:
    """Returns whether the value is a tuple of two integers."""
    return (
        isinstance(value, tuple) and len(value) == 2 and all(hasattr(one, "__index__") for one in value)
        and not any(isinstance(one, (np.ndarray, _core.DeviceArray)) for one in value)
    )  # fmt: skip


def shape_of(name: str, shape: Any, ndim: int = 2) -> tuple[int, ...]:
    """Returns the shape as a tuple of `ndim` integers."""
    try:
        lengths = tuple(map(operator.index, shapes.tuple_of_items(shape, "shape")))
    except TypeError:
        lengths = ()
    if len(lengths) != ndim:
        what = "two whole numbers" if ndim == 2 else "one whole number"
        raise ValueError(f"{name}: shape is {shape!r}: it must be {what}")
    if min(lengths) < 0:
        raise ValueError(f"{name}: shape is {shape!r}: a length is negative")
    return lengths


def is_transposition(axes: Any, ndim: int) -> bool:
    """Returns whether these axes transpose the array; raises ValueError if they are not a permutation."""
    if axes is None:
        return True
    order = shapes.tuple_of_integers(axes)
    if sorted(axis % ndim if -ndim <= axis < ndim else ndim for axis in order) != list(range(ndim)):
        raise ValueError(f"axes {axes!r} don't match a sparse array of {ndim} dimensions")
    return order[0] % ndim == ndim - 1


def as_vector(name: str, what: str, value: Any, dtype: Any = None) -> DeviceNDArray:
    """Returns the value as a contiguous 1-dimensional device array."""
    array = arguments.as_device_array(value, what)
    if array.ndim != 1:
        raise ValueError(f"{name}: {what} has shape {array.shape}: it must have one dimension")
    if dtype is not None and array.dtype != dtype:
        array = array.astype(dtype)
    return operands.contiguous_array(array)


def index_dtype(*arrays: Any) -> np.dtype:
    """Returns the common dtype of index arrays: int32, or int64 if one of the arrays has 64 bits."""
    for array in arrays:
        if array.dtype.kind not in "iu":
            raise TypeError(f"the indices of sparse arrays must be integers, not {array.dtype}")
    is_long = any(array.dtype.itemsize == 8 or array.dtype.char in "IL" for array in arrays)
    return np.dtype(np.int64 if is_long else np.int32)


def dtype_of_indices(largest: int) -> np.dtype:
    """Returns the dtype for indices up to `largest`."""
    return np.dtype(np.int64 if largest >= 2**31 else np.int32)


def check_compressed_arrays(name: str, given: tuple, dtype: Any) -> tuple[Any, Any, Any]:
    """Returns (data, indices, indptr) on the device."""
    with arguments.on_device_of(*given):
        data = as_vector(name, "data", given[0], dtype)
        indices, indptr = (
            as_vector(name, what, one) for what, one in zip(("indices", "indptr"), given[1:])
        )
        if not indices.size:
            indices = indices.astype(np.int32)
        kind = index_dtype(indices, indptr)
        stored_dtype(name, data.dtype)
        return data, indices.astype(kind, copy=False), indptr.astype(kind, copy=False)


def check_compressed(
    name: str, data: Any, indices: Any, indptr: Any, rows: int, columns: int
) -> None:
    """Raises ValueError for indices out of bounds. The check waits for the device, because it reads four
    bytes."""
    if indptr.size != rows + 1:
        raise ValueError(
            f"{name}: indptr has {indptr.size} elements: it must have {rows + 1} for {rows} rows or columns"
        )
    if data.size != indices.size:
        raise ValueError(f"{name}: data has {data.size} elements, indices has {indices.size}")
    bad = arguments.empty((1,), np.int32, data)
    bad.fill(0)
    kernels.check_compressed_rows.forall(max(rows, indices.size, 1))(indptr, indices, columns, bad)
    found = bad.item()
    if found == 1:
        raise ValueError(
            f"{name}: indptr must increase from 0 to the number of indices, {indices.size}"
        )
    if found == 2:
        raise ValueError(f"{name}: indices must be from 0 to {columns - 1}")


def indptr_of_counts(counts: Any) -> Any:
    """Converts counts, which begin at the second element, to an indptr by a cumulative sum."""
    counts[:1] = 0
    return cuda_ufunc_for(np.add).accumulate(counts, dtype=counts.dtype)


def from_dense(name: str, dense: Any, dtype: Any) -> tuple[Any, Any, Any, tuple]:
    """Returns (data, indices, indptr, shape) of the nonzero elements of a dense array. Waits."""
    dense = arguments.as_device_array(dense, "the dense array")
    if dense.ndim != 2:
        raise ValueError(
            f"{name}: the dense array has shape {dense.shape}: it must have two dimensions"
        )
    if dtype is not None and dense.dtype != dtype:
        dense = dense.astype(dtype)
    stored_dtype(name, dense.dtype)
    dense = arguments.convert_array(dense, dense.dtype)
    rows, _ = dense.shape
    places = np.flatnonzero(dense)
    data = arguments.empty(places.shape, dense.dtype, dense)
    indices = arguments.empty(places.shape, np.int32, dense)
    indptr = arguments.empty((rows + 1,), np.int32, dense)
    threads = max(places.size, rows + 1)
    kernels.split_flat_positions.forall(threads)(dense, places, indices, data, indptr)
    return data, indices, indptr, dense.shape
