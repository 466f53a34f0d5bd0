"""Implements element-wise operations of sparse arrays with numbers, dense and sparse arrays: arithmetic,
comparisons, ufuncs.

One kernel merges two sparse arrays row by row and stores no zeros. An operation whose result for two zeros is nonzero
returns a dense array or, as in SciPy, a sparse array that stores all elements, with a PerformanceWarning.
"""

from __future__ import annotations

import functools
import numbers
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.errors import PerformanceWarning, warn
from numbalite.functions import arguments
from numbalite.ndarray.arrays import DeviceNDArray
from numbalite.sparse import construct, kernels, products
from numbalite.sparse.construct import issparse
from numbalite.ufuncs import operands
from numbalite.ufuncs.protocols import cuda_ufunc_for

if TYPE_CHECKING:
    from typing import Any

_MERGES = {
    np.add: kernels.ADD,
    np.subtract: kernels.SUBTRACT,
    np.multiply: kernels.MULTIPLY,
    np.maximum: kernels.MAXIMUM,
    np.minimum: kernels.MINIMUM,
    np.not_equal: kernels.NOT_EQUAL,
    np.less: kernels.LESS,
    np.greater: kernels.GREATER,
}
_THREADS, _MERGED_BY_THREAD = 64, 8
"""Threads of a block that merges two arrays, and stored elements that a thread merges."""
_BY_DIAGONALS = np.add, np.subtract, np.multiply
_METHODS = {
    np.add: ("__add__", "__radd__"),
    np.subtract: ("__sub__", "__rsub__"),
    np.multiply: ("__mul__", "__rmul__"),
    np.true_divide: ("__truediv__", None),
    np.maximum: ("maximum", "maximum"),
    np.minimum: ("minimum", "minimum"),
    np.equal: ("__eq__", "__eq__"),
    np.not_equal: ("__ne__", "__ne__"),
    np.less: ("__lt__", "__gt__"),
    np.greater: ("__gt__", "__lt__"),
    np.less_equal: ("__le__", "__ge__"),
    np.greater_equal: ("__ge__", "__le__"),
}
"""The methods for a ufunc of a sparse array and something, and of something and a sparse array."""


def _is_number(value):
    if isinstance(value, (np.ndarray, _core.DeviceArray)):
        return value.ndim == 0
    return isinstance(value, (numbers.Number, np.generic))


def _is_dense(value):
    is_array = isinstance(value, (np.ndarray, list, tuple)) or operands.is_on_device(value)
    return is_array and not _is_number(value)


def _read_scalar(number: Any) -> Any:
    """Reads a scalar; waits for a scalar in device memory."""
    return number.item() if isinstance(number, DeviceNDArray) else number


def apply_to_stored(a: Any, function: Any) -> Any:
    """Applies a function to the stored values. The function may be nonlinear, because duplicates are summed
    first."""
    a.sum_duplicates()
    return a.map(function)


def scale_in_place(a: Any, number: Any, ufunc: Any) -> Any:
    """Computes a *= number or a /= number, in place. Returns NotImplemented for any other operand."""
    if not _is_number(number):
        return NotImplemented
    ufunc(a.data, number, out=a.data)
    return a


# ---------------------------------------------------------------------------------- with dense arrays


def add_to_dense(a: Any, dense: Any) -> None:
    """Adds a sparse array to a dense array of the same shape."""
    if a.ndim == 1:
        a, dense = a.reshape((1, -1)), np.expand_dims(dense, 0)
    if a.has_canonical_format:
        places = a.tocoo()
        if a.nnz:
            kernels.put_elements.forall(a.nnz)(places.data, *places.coords, dense)
        return
    if a.format == "csc":
        a, dense = a.T, dense.T
    rows = a.tocsr()
    kernels.add_to_dense_rows.forall(rows.shape[0])(rows.data, rows.indices, rows.indptr, dense)


def _sample_dense(a, dense):
    """Returns the elements of a dense array, broadcast to a's shape, at the indices of a's stored elements."""
    dense = np.broadcast_to(arguments.as_device_array(dense), a.shape)
    places = (a.reshape((1, -1)) if a.ndim == 1 else a).tocoo()
    dense = np.expand_dims(dense, 0) if a.ndim == 1 else dense
    made = arguments.empty((a.nnz,), dense.dtype, a.data)
    if a.nnz:
        kernels.copy_sampled_elements.forall(a.nnz)(dense, places.row, places.col, made)
    return made


def _apply_with_dense(a, b, ufunc):
    """Returns ufunc(a, b) for the stored elements of `a` and a dense `b`, for a ufunc that is linear in
    `a`."""
    with arguments.on_device_of(a.data):
        b = arguments.as_device_array(b, "b")
        rows = _broadcast_sparse(a._with_explicit_indices(), np.broadcast_shapes(a.shape, b.shape))
        made = rows.map(lambda data: ufunc(data, _sample_dense(rows, b)))
        return made.todia() if a.format == "dia" else made


def _broadcast_sparse(a, shape):
    """Broadcasts a sparse array to another shape by repeating a single row or column."""
    if len(shape) > 2:
        raise ValueError(f"a sparse array of shape {a.shape} does not fit shape {shape}")
    if a.shape == shape:
        return a
    if a.ndim < len(shape):
        a = a.reshape((1, -1))
    if a.shape[0] != shape[0]:
        a = a[np.zeros(shape[0], np.intp)]
    if a.ndim == 2 and a.shape[1] != shape[1]:
        a = a[:, np.zeros(shape[1], np.intp)]
    return a


# --------------------------------------------------------------------------------- two sparse arrays


def apply_binary(a: Any, b: Any, ufunc: Any) -> Any:
    """Returns ufunc(a, b) of two sparse arrays of equal shape, for the ufuncs of `_MERGES`; stores no zeros.
    Waits."""
    if a.shape != b.shape:
        raise ValueError(f"sparse arrays of shapes {a.shape} and {b.shape} do not fit")
    products.same_device(a, b)
    if a.ndim == 1:
        left, right = (one.reshape((1, -1)).tocsr() for one in (a, b))
        return apply_binary(left, right, ufunc).reshape(a.shape)
    if a.format == "dia":
        if b.format == "dia" and ufunc in _BY_DIAGONALS:
            return a._combine_diagonals(b, ufunc)
        a = a.tocsc() if b.format == "csc" and ufunc is np.add else a.tocsr()
    if a.format == "csc":
        return apply_binary(a.T, b.tocsc().T, ufunc).T
    dtype = np.result_type(a.dtype, b.dtype)
    if ufunc is np.subtract and dtype.kind == "b":
        raise TypeError("sparse arrays of booleans cannot be subtracted: use A != B")
    with arguments.on_device_of(a.data):
        left, right = (products.canonical_rows(one, dtype) for one in (a, b))
        made = _merge_patterns(*products.same_indices(left, right), _MERGES[ufunc])
    return made.astype(bool) if ufunc in _COMPARISONS else made


def _merge_patterns(left, right, operation):
    rows, kind = left.shape[0], left.indices.dtype
    stored = left.data.size + right.data.size
    data, indices = left.data[:0], left.indices[:0]
    indptr = arguments.empty((rows + 1,), kind, left.data)
    indptr.fill(0)
    if stored:
        args = (
            *left._component_arrays(),
            *right._component_arrays(),
            operation,
            left.dtype.type(0),
            _MERGED_BY_THREAD,
        )
        threads = -(-stored // _MERGED_BY_THREAD)
        merge = kernels.merge_rows.forall(threads, _THREADS)
        ends = arguments.empty((threads,), np.dtype(np.int64), left.data)
        merge(*args, False, indptr, ends, indices, data)
        indptr, ends = (
            cuda_ufunc_for(np.add).accumulate(one, dtype=one.dtype) for one in (indptr, ends)
        )
        count = ends[-1:].item()
        indices, data = (arguments.empty((count,), t, left.data) for t in (kind, left.dtype))
        merge(*args, True, indptr, ends, indices, data)
    return left._from_parts((data, indices, indptr), left.shape, True)


# ----------------------------------------------------------------------------------------- arithmetic


def add(a: Any, b: Any) -> Any:
    """Returns a + b, or NotImplemented for other operands."""
    return _add_or_subtract(a, construct.as_operand(b), np.add)


def subtract(a: Any, b: Any) -> Any:
    """Returns a - b, or NotImplemented for other operands."""
    return _add_or_subtract(a, construct.as_operand(b), np.subtract)


def _add_or_subtract(a, b, ufunc):
    if issparse(b):
        return apply_binary(a, b, ufunc)
    if _is_number(b):
        if _read_scalar(b) != 0:
            raise NotImplementedError(
                "the sum of a sparse array and a nonzero number is dense: use toarray()"
            )
        return a.copy()
    return ufunc(a.toarray(), arguments.as_device_array(b)) if _is_dense(b) else NotImplemented


def multiply(a: Any, b: Any) -> Any:
    """Returns a * b element by element, or NotImplemented for other operands."""
    b = construct.as_operand(b)
    if issparse(b):
        shape = np.broadcast_shapes(a.shape, b.shape)
        return apply_binary(_broadcast_sparse(a, shape), _broadcast_sparse(b, shape), np.multiply)
    if _is_number(b):
        return a.map(lambda data: np.multiply(data, b))
    return _apply_with_dense(a, b, np.multiply) if _is_dense(b) else NotImplemented


def divide(a: Any, b: Any) -> Any:
    """Returns a / b, or NotImplemented for other operands; the quotient of two sparse arrays is dense."""
    b = construct.as_operand(b)
    if issparse(b):
        dtype = np.result_type(_division_dtype(a), b.dtype)
        return np.true_divide(a.toarray(), b.toarray(), dtype=dtype)
    if _is_number(b):
        dtype = np.result_type(_division_dtype(a), _reciprocal_type(b))
        return a.map(lambda data: np.true_divide(data, b, dtype=dtype))
    if not _is_dense(b):
        return NotImplemented
    b = arguments.as_device_array(b)
    dtype = np.result_type(a.dtype, _reciprocal_type(b))
    return _apply_with_dense(a, b, functools.partial(np.true_divide, dtype=dtype))


def _division_dtype(a):
    """Returns the dtype in which SciPy divides the elements of a."""
    return np.dtype(np.float64) if np.can_cast(a.dtype, np.float64) else a.dtype


def _reciprocal_type(b):
    """Returns a number or dtype with the result dtype of 1.0 / b, because SciPy divides by multiplying by
    1.0 / b."""
    dtype = getattr(b, "dtype", None)
    if dtype is None:
        return 1j if isinstance(b, complex) else 1.0
    return _dtype_of_reciprocal(dtype)


@functools.cache
def _dtype_of_reciprocal(dtype):
    return np.true_divide(1.0, np.ones(1, dtype)).dtype


def power(a: Any, n: Any, dtype: Any) -> Any:
    """a ** n for a number n."""
    if not _is_number(n):
        raise NotImplementedError(
            "power: the exponent of a sparse array must be a number; for an array, use a.toarray() ** b"
        )
    n = _read_scalar(n)
    if not n:
        raise NotImplementedError("power: the power 0 is a dense array: use cuda.ones")
    a = a if dtype is None else a.astype(dtype, copy=False)
    return apply_to_stored(a, lambda data: data**n)


# ---------------------------------------------------------------------------------------- comparisons

_COMPARISONS = (
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal,
)  # fmt: skip


def _apply_to_dense_copies(a, ufunc, *both):
    """Computes a ufunc on dense copies of the operands, for results with few zeros, and returns a sparse
    array."""
    warn(
        f"{ufunc.__name__} is not 0 where nothing is stored: the result stores all elements",
        PerformanceWarning,
    )
    dense = ufunc(*(one.toarray() if issparse(one) else one for one in both))
    keeps_coo = a.ndim == 1 or ufunc in (np.maximum, np.minimum)
    kept = ("csc", "coo") if keeps_coo else ("csc",)
    return a.formats[a.format if a.format in kept else "csr"](dense)


def _is_zero(ufunc: Any, dtype: np.dtype, number: Any) -> bool:
    """Returns whether ufunc(0, number) is 0."""
    with np.errstate(all="ignore"):
        return not ufunc(dtype.type(0), number)


def compare(a: Any, b: Any, ufunc: Any) -> Any:
    """Returns a comparison as a boolean sparse array; with a dense operand, the result is dense.
    Waits."""
    b = construct.as_operand(b)
    if issparse(b):
        if a.shape != b.shape and ufunc in (np.equal, np.not_equal):
            return ufunc is np.not_equal
        return (
            apply_binary(a, b, ufunc)
            if ufunc in _MERGES
            else _apply_to_dense_copies(a, ufunc, a, b)
        )
    if _is_dense(b):
        return ufunc(a.toarray(), arguments.as_device_array(b))
    return _apply_with_number(a, b, ufunc) if _is_number(b) else NotImplemented


def apply_extreme(a: Any, b: Any, ufunc: Any) -> Any:
    """Returns the element-wise maximum or minimum of a sparse array and another operand."""
    b = construct.as_operand(b)
    if issparse(b):
        return apply_binary(a, b, ufunc)
    if _is_dense(b):
        return ufunc(a.toarray(), arguments.as_device_array(b))
    if not _is_number(b):
        raise TypeError(f"{ufunc.__name__}: a {type(b).__name__} is neither a number nor an array")
    return _apply_with_number(a, b, ufunc)


def _apply_with_number(a, number, ufunc):
    number = _read_scalar(number)
    if not _is_zero(ufunc, a.dtype, number):
        return _apply_to_dense_copies(a, ufunc, a, number)
    a = a._with_explicit_indices() if a.format != "coo" or a.ndim == 1 else a.tocsr()
    made = apply_to_stored(a, lambda data: ufunc(data, number))
    return made._filter_elements(np.not_equal(made.data, 0))


# --------------------------------------------------------------------------------------------- ufuncs


def apply_ufunc(a: Any, ufunc: Any, method: str, inputs: tuple, keywords: dict) -> Any:
    """Implements __array_ufunc__: a ufunc call with a sparse array among its operands."""
    if method != "__call__":
        raise TypeError(f"{ufunc}.{method} is not supported for sparse arrays")
    if ufunc in _METHODS and len(inputs) == 2 and not keywords:
        left, right = inputs
        name = _METHODS[ufunc][0 if issparse(left) else 1]
        one, other = (left, right) if issparse(left) else (right, left)
        return NotImplemented if name is None else getattr(one, name)(other)
    if ufunc is np.matmul:
        out = (keywords.pop("out", None) or (None,))[0]
        if not keywords:
            left, right = inputs
            multiplied = products.matmul if issparse(left) else products.rmatmul
            return multiplied(left, right, out)
    return _apply_to_values(a, ufunc, inputs, keywords)


def _apply_to_values(a, ufunc, inputs, keywords):
    others = tuple(one for one in inputs if one is not a)
    if len(others) != len(inputs) - 1 or any(issparse(one) or np.ndim(one) for one in others):
        raise TypeError(f"{ufunc} accepts one sparse array, and numbers")
    if keywords:
        raise TypeError(f"{ufunc} accepts one sparse array, numbers and no keywords")
    place = next(i for i, one in enumerate(inputs) if one is a)
    if not _keeps_zero(ufunc, a.dtype, place, others):
        raise TypeError(
            f"{ufunc} does not return 0 for 0, so its result is not sparse: a.map(f) applies it to the "
            "stored elements, f(a.toarray()) to all"
        )
    return apply_to_stored(a, lambda data: ufunc(*(data if one is a else one for one in inputs)))


@functools.lru_cache(256)
def _keeps_zero(ufunc, dtype, place, others):
    zeros = list(others)
    zeros.insert(place, dtype.type(0))
    with np.errstate(all="ignore"):
        return bool(np.all(np.asarray(ufunc(*zeros)) == 0))
