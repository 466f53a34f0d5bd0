"""Defines the classes csr_array, csc_array and coo_array, and triangular solves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from numbalite.functions import arguments
from numbalite.runtime import shapes
from numbalite.sparse import construct, kernels, products
from numbalite.sparse.array import SparseArray
from numbalite.sparse.construct import issparse

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.ndarray.arrays import DeviceNDArray


class CompressedArray(SparseArray):
    """The base class of csr_array and csc_array: for each row (or column), the indices and values of its elements."""

    __slots__ = ("_is_sorted", "_rows", "indices", "indptr")
    _by_rows = True

    indices: DeviceNDArray
    indptr: DeviceNDArray

    def __init__(
        self, arg1: Any, shape: Any = None, dtype: DTypeLike | None = None, copy: bool = False
    ) -> None:
        """arg1: another sparse array (also of SciPy), a dense 2-dimensional array, a shape, the tuple
        (data, indices, indptr), or (data, (row, col)). Arrays on the device are used without a copy unless
        copy is true. Indices are checked, which waits."""
        name = type(self).__name__
        if dtype is not None:
            dtype = construct.stored_dtype(name, dtype)
        with construct.on_device_of(arg1):
            parts, found, is_sorted = self._read_arguments(name, arg1, shape, dtype)
        if shape is not None and construct.shape_of(name, shape) != found:
            raise ValueError(f"{name}: shape is {shape!r}, the array has shape {found}")
        if copy:
            parts = tuple(part.copy() for part in parts)
        self._set_arrays(parts, found, is_sorted)

    def _read_arguments(self, name, given, shape, dtype):
        if isinstance(given, SparseArray):
            same = given.tocsr() if self._by_rows else given.tocsc()
            same = same if dtype is None else same.astype(dtype, copy=False)
            return same._component_arrays(), same.shape, same._is_sorted
        if construct.is_scipy(given):
            other = given.tocsr() if self._by_rows else given.tocsc()
            parts = other.data, other.indices, other.indptr
            parts = construct.check_compressed_arrays(name, parts, dtype)
            return parts, tuple(map(int, other.shape)), bool(other.has_canonical_format)
        if construct.is_pair_of_integers(given):
            found = construct.shape_of(name, given)
            lines = found[0] if self._by_rows else found[1]
            empty = (
                np.empty(0, dtype or float),
                np.empty(0, np.int32),
                np.zeros(lines + 1, np.int32),
            )
            return construct.check_compressed_arrays(name, empty, dtype), found, True
        if isinstance(given, tuple) and len(given) == 3:
            return self._read_compressed(name, given, shape, dtype)
        if isinstance(given, tuple) and len(given) == 2:
            return self._read_arguments(name, coo_array(given, shape, dtype), None, None)
        if isinstance(given, tuple):
            raise TypeError(
                f"{name}: a tuple is (data, indices, indptr), (data, (row, col)) or a shape"
            )
        given = arguments.as_device_array(given, "the dense array")
        by_rows = given if self._by_rows or given.ndim != 2 else given.T
        data, indices, indptr, found = construct.from_dense(name, by_rows, dtype)
        return (data, indices, indptr), found if self._by_rows else found[::-1], True

    def _read_compressed(self, name, given, shape, dtype):
        parts = data, indices, indptr = construct.check_compressed_arrays(name, given, dtype)
        lines = max(indptr.size - 1, 0)
        if shape is None:
            if not indices.size:
                raise ValueError(f"{name}: an array without elements requires shape=")
            others = int(np.max(indices).item()) + 1
            shape = (lines, others) if self._by_rows else (others, lines)
        found = construct.shape_of(name, shape)
        lines, others = found if self._by_rows else found[::-1]
        construct.check_compressed(name, data, indices, indptr, lines, others)
        return parts, found, False

    def _set_arrays(self, parts, shape, is_sorted):
        self.data, self.indices, self.indptr = parts
        self._is_sorted = is_sorted
        self._rows = None
        self._initialize_data(self.data, shape)

    @classmethod
    def _from_parts(cls, parts, shape, is_sorted):
        made = cls.__new__(cls)
        made._set_arrays(parts, shape, is_sorted)
        return made

    def _component_arrays(self):
        return self.data, self.indices, self.indptr

    def __reduce__(self) -> Any:
        return self._from_parts, (self._component_arrays(), self.shape, self._is_sorted)

    def _with_data(self, data):
        return self._from_parts((data, self.indices, self.indptr), self.shape, self._is_sorted)

    def _replace_contents(self, other):
        with self._lock:
            self.data, self.indices, self.indptr = other._component_arrays()
            self._is_sorted = other._is_sorted
            self._shape = other.shape
            self._plans = {}

    def _grown_copy(self, shape):
        lines = shape[0] if self._by_rows else shape[1]
        more = np.broadcast_to(self.indptr[-1:], (lines + 1 - self.indptr.size,))
        indptr = np.concatenate([self.indptr, more]) if more.size else self.indptr
        return self._from_parts((self.data, self.indices, indptr), shape, self._is_sorted)

    def _filter_elements(self, mask):
        counts = arguments.empty((self.nnz + 1,), self.indices.dtype, self.data)
        counts[:1] = 0
        if self.nnz:
            np.cumsum(mask, dtype=counts.dtype, out=counts[1:])
        places = np.flatnonzero(mask)
        indptr = products.take_unchecked(counts, self.indptr)
        parts = (
            products.take_unchecked(self.data, places),
            products.take_unchecked(self.indices, places),
            indptr,
        )
        return self._from_parts(parts, self.shape, self._is_sorted)

    def copy(self) -> Any:
        parts = tuple(one.copy() for one in self._component_arrays())
        return self._from_parts(parts, self.shape, self._is_sorted)

    def _multiply_into(self, b, made):
        rows = self.tocsr()
        args = *rows._component_arrays(), b, self.dtype.type(0), made
        kernels.multiply_rows.forall(made.size)(*args)

    def _line_lengths(self):
        """Returns (number of compressed rows or columns, length of each)"""
        return self.shape if self._by_rows else self.shape[::-1]

    def _as_csr_array(self):
        """Returns a csr_array that shares this array's memory: the array itself, or the transpose of a csc_array."""
        if self._by_rows:
            return self
        if self._rows is None or self._rows.data is not self.data:
            self._rows = csr_array._from_parts(
                self._component_arrays(), self.shape[::-1], self._is_sorted
            )
        return self._rows

    def _transposed_view(self):
        other = csc_array if self._by_rows else csr_array
        return other._from_parts(self._component_arrays(), self.shape[::-1], self._is_sorted)

    def tocoo(self, copy: bool = False) -> Any:
        numbers = arguments.empty((self.nnz,), self.indices.dtype, self.data)
        if self.nnz:
            with arguments.on_device_of(numbers):
                kernels.store_row_numbers.forall(self.nnz)(self.indptr, numbers)
        places = (numbers, self.indices) if self._by_rows else (self.indices, numbers)
        made = coo_array._from_parts(
            self.data, places, self.shape, self._by_rows and self._is_sorted
        )
        return made.copy() if copy else made

    def _convert_csr_csc(self):
        """Returns the array converted between csr and csc."""
        return products.transposed(self)

    def sort_indices(self) -> None:
        """Sorts the indices of each row or column and sums duplicates, like sum_duplicates()."""
        if not self._is_sorted:
            with self._lock:
                parts = products.canonical_parts(self._component_arrays(), *self._line_lengths())
                self.data, self.indices, self.indptr = parts
                self._plans = {}
                self._is_sorted = True

    sum_duplicates = sort_indices

    def sorted_indices(self) -> Any:
        """Returns a copy with sorted indices and summed duplicates."""
        made = self.copy()
        made.sort_indices()
        return made

    @property
    def has_canonical_format(self) -> bool:
        """Returns whether the indices are recorded as sorted and unique. (The arrays are not checked.)"""
        return self._is_sorted

    has_sorted_indices = has_canonical_format


class csr_array(CompressedArray):
    """A sparse array stored by rows, as arrays `data`, `indices` (columns) and `indptr` (starts of the rows)."""

    __slots__ = ()
    format = "csr"

    def tocsr(self, copy: bool = False) -> csr_array:
        return self.copy() if copy else self

    def tocsc(self, copy: bool = False) -> csc_array:
        return csc_array._from_parts(self._convert_csr_csc(), self.shape, self._is_sorted)


class csc_array(CompressedArray):
    """A sparse array stored by columns, as arrays `data`, `indices` (rows) and `indptr` (starts of the columns)."""

    __slots__ = ()
    format = "csc"
    _by_rows = False

    def tocsc(self, copy: bool = False) -> csc_array:
        return self.copy() if copy else self

    def tocsr(self, copy: bool = False) -> csr_array:
        return csr_array._from_parts(self._convert_csr_csc(), self.shape, self._is_sorted)


class coo_array(SparseArray):
    """A sparse array stored as `data`, `row` and `col` of its elements, in any order.

    A 1-dimensional array has `data` and `col`."""

    __slots__ = ("_is_sorted", "coords")
    format = "coo"

    coords: tuple[DeviceNDArray, ...]
    """(row, col), or (col,) of an array of one dimension."""

    def __init__(
        self, arg1: Any, shape: Any = None, dtype: DTypeLike | None = None, copy: bool = False
    ) -> None:
        """arg1: (data, (row, col)), or any argument of csr_array; for one dimension, (data, (col,)) or a vector."""
        name = "coo_array"
        is_triplet = (
            isinstance(arg1, tuple) and len(arg1) == 2 and not construct.is_pair_of_integers(arg1)
        )
        if is_triplet:
            data, coords, found = self._read_arguments(name, arg1, shape, dtype)
        else:
            made = self._as_coo_array(arg1, shape, dtype)
            data, coords, found = made.data, made.coords, made.shape
        if copy:
            data, coords = data.copy(), tuple(one.copy() for one in coords)
        self._set_arrays(data, coords, found)

    @staticmethod
    def _as_coo_array(given, shape, dtype):
        """Returns a coo_array from a sparse array of any format, a dense array or a shape."""
        is_line = not isinstance(given, tuple) and np.ndim(given) == 1
        if is_line and issparse(given):
            return given if dtype is None else given.astype(dtype, copy=False)
        if is_line and construct.is_scipy(given):
            parts = given.tocoo()
            return coo_array((parts.data, parts.coords), parts.shape, dtype)
        if is_line:
            given = arguments.as_device_array(given, "the dense array")
            return csr_array(given.reshape(1, -1), None, dtype).tocoo().reshape(given.shape)
        return csr_array(given, shape, dtype).tocoo()

    def _read_arguments(self, name, given, shape, dtype):
        places = given[1]
        if getattr(places, "ndim", 0) == 2 and len(places) in (1, 2):
            places = tuple(places[i] for i in range(len(places)))
        if not isinstance(places, (tuple, list)) or len(places) not in (1, 2):
            raise TypeError(f"{name}: a tuple is (data, (row, col)), (data, (col,)) or a shape")
        names = ("row", "col")[-len(places) :]
        with arguments.on_device_of(given[0], *places):
            data = construct.as_vector(name, "data", given[0], dtype)
            construct.stored_dtype(name, data.dtype)
            coords = tuple(construct.as_vector(name, what, one) for what, one in zip(names, places))
        if not data.size:
            coords = tuple(one.astype(np.int32) for one in coords)
        for what, one in zip(names, coords):
            if one.size != data.size:
                raise ValueError(f"{name}: data has {data.size} elements, {what} has {one.size}")
        kind = construct.index_dtype(*coords)
        coords = tuple(one.astype(kind, copy=False) for one in coords)
        if shape is None and not data.size:
            raise ValueError(f"{name}: an array without elements requires shape=")
        ends = [int(np.max(one).item()) + 1 if one.size else 0 for one in coords]
        found = tuple(ends) if shape is None else construct.shape_of(name, shape, len(coords))
        for what, one, end, length in zip(names, coords, ends, found):
            if end > length or (one.size and np.min(one).item() < 0):
                raise ValueError(f"{name}: {what} must be from 0 to {length - 1}")
        return data, coords, found

    @property
    def row(self) -> DeviceNDArray:
        """The row of each element; zeros for a 1-dimensional array."""
        row = self.coords[0]
        return row if self.ndim == 2 else np.zeros_like(row)  # type: ignore[return-value]

    @property
    def col(self) -> DeviceNDArray:
        """The column of each element."""
        return self.coords[-1]

    @property
    def has_canonical_format(self) -> bool:
        """Returns whether the elements are recorded as sorted by rows and unique. (The arrays are not
        checked.)"""
        return self._is_sorted

    def _set_arrays(self, data, coords, shape, is_sorted=False):
        self.coords = tuple(coords)
        self._is_sorted = is_sorted
        self._initialize_data(data, shape)

    @classmethod
    def _from_parts(cls, data, coords, shape, is_sorted=False):
        made = cls.__new__(cls)
        made._set_arrays(data, coords, shape, is_sorted)
        return made

    def _component_arrays(self):
        return self.data, *self.coords

    def __reduce__(self) -> Any:
        return self._from_parts, (self.data, self.coords, self.shape, self._is_sorted)

    def _with_data(self, data):
        return self._from_parts(data, self.coords, self.shape, self._is_sorted)

    def copy(self) -> Any:
        data, *coords = (one.copy() for one in self._component_arrays())
        return self._from_parts(data, coords, self.shape, self._is_sorted)

    def _replace_contents(self, other):
        self._set_arrays(other.data, other.coords, other.shape, other._is_sorted)

    def _filter_elements(self, mask):
        places = np.flatnonzero(mask)
        data, *coords = (products.take_unchecked(one, places) for one in self._component_arrays())
        return self._from_parts(data, coords, self.shape, self._is_sorted)

    def _grown_copy(self, shape):
        return self._from_parts(self.data, self.coords, shape, self._is_sorted)

    def _reshape_coo(self, shape, order):
        """Returns the array with a new shape of one or two dimensions."""
        count = math.prod(self.shape)
        shape = shapes.new_shape_of(count, shape if isinstance(shape, tuple) else (shape,))
        if len(shape) > 2:
            raise ValueError(f"reshape: sparse arrays have one or two dimensions, {shape} has more")
        if order == "F":
            return self.T._reshape_coo(shape[::-1], "C").T
        if shape == self.shape:
            return self
        if self.ndim == 1:
            places = self.col
        elif 1 in self.shape:
            places = self.coords[self.shape[0] == 1]
        else:
            kind = np.dtype(np.int64 if count >= 2**31 else self.col.dtype)
            places = self.row.astype(kind) * self.shape[1] + self.col
        if len(shape) == 1:
            coords = (places,)
        elif shape[0] == 1:
            coords = np.zeros_like(places), places
        elif shape[1] == 1:
            coords = places, np.zeros_like(places)
        else:
            coords = np.divmod(places, max(shape[1], 1))
        return self._from_parts(self.data, coords, shape, self._is_sorted)

    def _transposed_view(self):
        return self._from_parts(self.data, self.coords[::-1], self.shape[::-1])

    def tocoo(self, copy: bool = False) -> coo_array:
        return self.copy() if copy else self

    def tocsr(self, copy: bool = False) -> csr_array:
        """Returns the array as a csr_array, with summed duplicates. The conversion sorts the elements: keep
        the result for several products.

        Raises ValueError for a 1-dimensional array.
        """
        if self.ndim != 2:
            raise ValueError("tocsr: the array has one dimension: reshape((1, -1)) returns a row")
        made = csr_array._from_parts(products.coo_as_csr_parts(self), self.shape, True)
        return made.copy() if copy else made

    def tocsc(self, copy: bool = False) -> csc_array:
        if self.ndim != 2:
            raise ValueError(
                "tocsc: the array has one dimension: reshape((-1, 1)) returns a column"
            )
        return self.T.tocsr(copy).T

    def sum_duplicates(self) -> None:
        """Sums duplicate elements and sorts by rows."""
        if not self._is_sorted:
            made = self.reshape((1, -1)) if self.ndim == 1 else self
            self._replace_contents(made.tocsr().tocoo().reshape(self.shape))

    def _multiply_into(self, b, made):
        self.tocsr()._multiply_into(b, made)

    def _as_csr_array(self):
        return self.tocsr()


def spsolve_triangular(A: Any, b: Any, lower: bool = True, unit_diagonal: bool = False) -> Any:
    """Solves A x = b for a triangular A.

    Waits for the device, to check the diagonal for zeros.

    Parameters
    ----------
    A : array
        The matrix, sparse or dense; only its lower (or upper) triangle is
        read.
    b : array
        A vector or a matrix.
    lower : bool
        Whether A is lower triangular or, if False, upper triangular.
    unit_diagonal : bool
        Whether all elements on the diagonal are assumed to be 1.

    Returns
    -------
    DeviceNDArray
        The solution x.

    Raises
    ------
    LinAlgError
        The diagonal has a zero.
    ValueError
        ``A`` is not square, or ``b`` has another number of rows.

    Examples
    --------
    >>> from numbalite.cuda import sparse
    >>> print(sparse.spsolve_triangular(np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([2.0, 3.0])))
    [1. 2.]
    """
    if not issparse(A):
        A = csr_array(A)
    return products.solve_triangular(A, arguments.as_device_array(b, "b"), lower, unit_diagonal)
