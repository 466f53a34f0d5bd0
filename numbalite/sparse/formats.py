"""csr_array, csc_array and coo_array."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.cuda.arrayfunctions import arguments
from numbalite.sparse import construct, kernels, products
from numbalite.sparse.construct import issparse

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.cuda.arrays import DeviceNDArray


class SparseArray(construct.Sparse):
    """What the formats share."""

    __slots__ = ("_lock", "_plans", "_shape", "data")
    __array_priority__ = 200
    format = ""
    ndim = 2

    data: DeviceNDArray
    """The values, one for each stored element."""

    def _begin(self, data, shape):
        self.data = data
        self._shape = shape
        self._plans = {}
        self._lock = threading.Lock()

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """How many elements are stored; zeros among them count."""
        return self.data.size

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def device(self) -> int:
        return self.data.device

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(shape={self.shape}, dtype={self.dtype}, nnz={self.nnz}, "
            f"device={self.device})"
        )

    def __len__(self) -> int:
        raise TypeError("the length of a sparse array is ambiguous: use nnz or shape[0]")

    # ---- what each format says

    def sum_duplicates(self) -> None:
        """Adds up what is stored twice, and sorts; nothing where that is known not to be needed."""
        raise NotImplementedError

    def tocsr(self, copy: bool = False) -> Any:
        """The same by rows."""
        raise NotImplementedError

    def transpose(self, copy: bool = False) -> Any:
        """The transposed array."""
        raise NotImplementedError

    def _with(self, data: Any) -> Any:
        """The same pattern with other values."""
        raise NotImplementedError

    def _parts(self) -> tuple:
        """What is stored, as SciPy's constructors take it."""
        raise NotImplementedError

    # ---- values

    def map(self, function: Any) -> Any:
        """The same pattern with function(values): a ufunc, or any function of device arrays. Elements that
        are not stored stay zero."""
        data = function(self.data)
        if not isinstance(data, _core.DeviceArray) or data.shape != self.data.shape:
            raise ValueError(
                f"map: the function must give a device array of shape {self.data.shape}"
            )
        construct.value_dtype("map", data.dtype)
        return self._with(data)

    def astype(self, dtype: DTypeLike, copy: bool = True) -> Any:
        dtype = construct.value_dtype("astype", dtype)
        if not copy and dtype == self.dtype:
            return self
        return self._with(self.data.astype(dtype))

    def copy(self) -> Any:
        return self._with(self.data.copy())

    def conj(self) -> Any:
        """The conjugated values; real arrays are returned as they are."""
        return self if self.dtype.kind != "c" else self._with(np.conjugate(self.data))

    conjugate = conj

    def __neg__(self) -> Any:
        return self._with(np.negative(self.data))

    def __abs__(self) -> Any:
        self.sum_duplicates()
        return self._with(np.abs(self.data))

    @property
    def T(self) -> Any:
        return self.transpose()

    # ---- conversions

    def toarray(self) -> DeviceNDArray:
        """A dense device array; elements that are stored twice are added up."""
        rows = self.tocsr()
        dense = arguments.empty(self.shape, self.dtype, self.data)
        dense.fill(0)
        if self.nnz and self.shape[0]:
            args = rows.data, rows.indices, rows.indptr, dense
            with arguments.on_device_of(dense):
                kernels.put_dense.forall(self.shape[0])(*args)
        return dense

    todense = toarray

    def get(self) -> Any:
        """The same as one of SciPy's arrays, on the host."""
        try:
            import scipy.sparse
        except ImportError:
            raise ImportError("get() makes an array of SciPy's: pip install scipy") from None
        parts = tuple(part.copy_to_host() for part in self._parts())
        given = (parts[0], parts[1:]) if self.format == "coo" else parts
        return getattr(scipy.sparse, f"{self.format}_array")(given, shape=self.shape)

    # ---- arithmetic

    def dot(self, other: Any, out: Any = None) -> Any:
        """The matrix product with a vector, a dense or a sparse matrix; `out` for dense results."""
        return products.matmul(self, other, out)

    def __matmul__(self, other: Any) -> Any:
        made = products.warm(self, other) if isinstance(other, _core.DeviceArray) else None
        return products.matmul(self, other, None) if made is None else made

    def __rmatmul__(self, other: Any) -> Any:
        return products.rmatmul(other, self, None)

    def multiply(self, other: Any) -> Any:
        """Element by element: with a number, a dense or a sparse array of the same shape."""
        return products.multiply(self, other)

    __mul__ = __rmul__ = multiply

    def __truediv__(self, other: Any) -> Any:
        if np.ndim(other):
            raise TypeError("a sparse array is divided by numbers only")
        return self._with(np.true_divide(self.data, other))

    def __add__(self, other: Any) -> Any:
        return products.merged(self, other, kernels.ADD)

    def __radd__(self, other: Any) -> Any:
        return products.merged(self, other, kernels.ADD)

    def __sub__(self, other: Any) -> Any:
        return products.merged(self, other, kernels.SUBTRACT)

    def __rsub__(self, other: Any) -> Any:
        return -products.merged(self, other, kernels.SUBTRACT)

    def sum(self, axis: Any = None) -> Any:
        """The sum of all elements, of each column (axis 0) or of each row (axis 1)."""
        if axis is None:
            return np.sum(self.data)
        if axis not in (0, 1, -1, -2):
            raise ValueError(f"sum: axis is {axis!r}: it must be 0, 1 or None")
        over = axis % 2
        ones = arguments.empty((self.shape[over],), self.dtype, self.data)
        ones.fill(1)
        return self @ ones if over else ones @ self

    def diagonal(self, k: int = 0) -> DeviceNDArray:
        """The k-th diagonal."""
        rows = self.tocsr()
        first = max(-k, 0)
        count = max(min(self.shape[0] - first, self.shape[1] - max(k, 0)), 0)
        values = arguments.empty((count,), self.dtype, self.data)
        values.fill(0)
        if count:
            args = rows.data, rows.indices, rows.indptr, k, first, values
            with arguments.on_device_of(values):
                kernels.diagonal.forall(count)(*args)
        return values

    # ---- ufuncs

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """A ufunc of one sparse array and numbers is applied to the values if it gives 0 for 0."""
        if method != "__call__":
            raise TypeError(f"{ufunc}.{method} has no meaning for sparse arrays")
        operation = _OPERATIONS.get(ufunc)
        if operation is not None and len(inputs) == 2 and not keywords:
            return operation(*inputs)
        if ufunc is np.matmul:
            out = (keywords.pop("out", None) or (None,))[0]
            if not keywords:
                left, right = inputs
                if issparse(left):
                    return products.matmul(left, right, out)
                return products.rmatmul(left, right, out)
        others = [one for one in inputs if one is not self]
        if len(others) != len(inputs) - 1 or any(
            np.ndim(one) for one in others if not issparse(one)
        ):
            raise TypeError(f"{ufunc} takes one sparse array, and numbers beside it")
        if any(map(issparse, others)) or keywords:
            raise TypeError(f"{ufunc} takes one sparse array, numbers beside it and no keywords")
        place = next(i for i, one in enumerate(inputs) if one is self)
        if not _keeps_zero(ufunc, self.dtype, place, tuple(others)):
            raise TypeError(
                f"{ufunc} does not give 0 for 0, so its result is not sparse: a.map(f) applies it to the "
                "stored elements, f(a.toarray()) to all"
            )
        self.sum_duplicates()
        return self.map(lambda data: ufunc(*(data if one is self else one for one in inputs)))


@functools.lru_cache(256)
def _keeps_zero(ufunc, dtype, place, others):
    zeros = list(others)
    zeros.insert(place, dtype.type(0))
    with np.errstate(all="ignore"):
        return bool(np.all(np.asarray(ufunc(*zeros)) == 0))


_OPERATIONS = {
    np.multiply: lambda a, b: products.multiply(a, b) if issparse(a) else products.multiply(b, a),
    np.add: lambda a, b: a + b if issparse(a) else b.__radd__(a),
    np.subtract: lambda a, b: a - b if issparse(a) else b.__rsub__(a),
    np.true_divide: lambda a, b: a.__truediv__(b) if issparse(a) else NotImplemented,
}


class Compressed(SparseArray):
    """A csr or csc array: for each row (or column) the places and values of its elements."""

    __slots__ = ("_is_sorted", "_rows", "indices", "indptr")
    _by_rows = True

    indices: DeviceNDArray
    indptr: DeviceNDArray

    def __init__(
        self, arg1: Any, shape: Any = None, dtype: DTypeLike | None = None, copy: bool = False
    ) -> None:
        """arg1: another sparse array (SciPy's too), a dense array of two dimensions, a shape, the tuple
        (data, indices, indptr), or (data, (row, col)). Arrays on the device are used as they are unless
        copy is true. What is given as indices is checked, and that waits."""
        name = type(self).__name__
        if dtype is not None:
            dtype = construct.value_dtype(name, dtype)
        with construct.on_device_of(arg1):
            parts, found, is_sorted = self._read(name, arg1, shape, dtype)
        if shape is not None and construct.shape_of(name, shape) != found:
            raise ValueError(f"{name}: shape is {shape!r}, the array has shape {found}")
        if copy:
            parts = tuple(part.copy() for part in parts)
        self._set(parts, found, is_sorted)

    def _read(self, name, given, shape, dtype):
        if isinstance(given, SparseArray):
            same = given.tocsr() if self._by_rows else given.tocsc()
            same = same if dtype is None else same.astype(dtype, copy=False)
            return same._parts(), same.shape, same._is_sorted
        if hasattr(given, "tocsr") and hasattr(given, "nnz"):  # SciPy's
            other = given.tocsr() if self._by_rows else given.tocsc()
            parts = other.data, other.indices, other.indptr
            parts = construct.compressed(name, parts, dtype)
            return parts, tuple(map(int, other.shape)), bool(other.has_canonical_format)
        if construct.is_shape(given):
            found = construct.shape_of(name, given)
            lines = found[0] if self._by_rows else found[1]
            empty = (
                np.empty(0, dtype or float),
                np.empty(0, np.int32),
                np.zeros(lines + 1, np.int32),
            )
            return construct.compressed(name, empty, dtype), found, True
        if isinstance(given, tuple) and len(given) == 3:
            return self._read_parts(name, given, shape, dtype)
        if isinstance(given, tuple) and len(given) == 2:
            return self._read(name, coo_array(given, shape, dtype), None, None)
        if isinstance(given, tuple):
            raise TypeError(
                f"{name}: a tuple is (data, indices, indptr), (data, (row, col)) or a shape"
            )
        given = arguments.array(given, "the dense array")
        by_rows = given if self._by_rows or given.ndim != 2 else given.T
        data, indices, indptr, found = construct.from_dense(name, by_rows, dtype)
        return (data, indices, indptr), found if self._by_rows else found[::-1], True

    def _read_parts(self, name, given, shape, dtype):
        parts = data, indices, indptr = construct.compressed(name, given, dtype)
        lines = max(indptr.size - 1, 0)
        if shape is None:
            others = int(np.max(indices).item()) + 1 if indices.size else 0
            shape = (lines, others) if self._by_rows else (others, lines)
        found = construct.shape_of(name, shape)
        lines, others = found if self._by_rows else found[::-1]
        construct.check_compressed(name, data, indices, indptr, lines, others)
        return parts, found, False

    def _set(self, parts, shape, is_sorted):
        self.data, self.indices, self.indptr = parts
        self._is_sorted = is_sorted
        self._rows = None
        self._begin(self.data, shape)

    @classmethod
    def _made(cls, parts, shape, is_sorted):
        made = cls.__new__(cls)
        made._set(parts, shape, is_sorted)
        return made

    def _parts(self):
        return self.data, self.indices, self.indptr

    def _with(self, data):
        return self._made((data, self.indices, self.indptr), self.shape, self._is_sorted)

    def _lines(self):
        """(how many rows or columns are compressed, how long each is)"""
        return self.shape if self._by_rows else self.shape[::-1]

    def _as_rows(self):
        """The csr array over the same memory: of a csc array that of the transposed one."""
        if self._by_rows:
            return self
        if self._rows is None or self._rows.data is not self.data:
            self._rows = csr_array._made(self._parts(), self.shape[::-1], self._is_sorted)
        return self._rows

    def transpose(self, copy: bool = False) -> Any:
        """The transposed array in the other format, over the same memory."""
        other = csc_array if self._by_rows else csr_array
        made = other._made(self._parts(), self.shape[::-1], self._is_sorted)
        return made.copy() if copy else made

    def tocoo(self, copy: bool = True) -> Any:
        lines, _ = self._lines()
        numbers = arguments.empty((self.nnz,), self.indices.dtype, self.data)
        if self.nnz:
            with arguments.on_device_of(numbers):
                kernels.rows_of.forall(lines)(self.indptr, numbers)
        places = (numbers, self.indices) if self._by_rows else (self.indices, numbers)
        return coo_array._made(self.data, places, self.shape)

    def _turned(self):
        """The same elements, compressed the other way."""
        return products.turned(self)

    def sort_indices(self) -> None:
        """Sorts the indices of each row or column, and adds up what is stored twice: sum_duplicates()."""
        if not self._is_sorted:
            with self._lock:
                parts = products.canonical(self._parts(), *self._lines())
                self.data, self.indices, self.indptr = parts
                self._plans = {}
                self._is_sorted = True

    sum_duplicates = sort_indices

    @property
    def has_canonical_format(self) -> bool:
        """Are the indices known to be sorted, and each there once?"""
        return self._is_sorted


class csr_array(Compressed):
    """A sparse array by rows: `data`, `indices` (columns) and `indptr` (where each row begins)."""

    __slots__ = ()
    format = "csr"

    def tocsr(self, copy: bool = False) -> csr_array:
        return self.copy() if copy else self

    def tocsc(self, copy: bool = False) -> csc_array:
        return csc_array._made(self._turned(), self.shape, self._is_sorted)


class csc_array(Compressed):
    """A sparse array by columns: `data`, `indices` (rows) and `indptr` (where each column begins)."""

    __slots__ = ()
    format = "csc"
    _by_rows = False

    def tocsc(self, copy: bool = False) -> csc_array:
        return self.copy() if copy else self

    def tocsr(self, copy: bool = False) -> csr_array:
        return csr_array._made(self._turned(), self.shape, self._is_sorted)


class coo_array(SparseArray):
    """A sparse array as `data`, `row` and `col` of its elements, in any order."""

    __slots__ = ("_is_sorted", "col", "row")
    format = "coo"

    row: DeviceNDArray
    col: DeviceNDArray

    def __init__(
        self, arg1: Any, shape: Any = None, dtype: DTypeLike | None = None, copy: bool = False
    ) -> None:
        """arg1: (data, (row, col)), or anything that a csr_array is made from."""
        name = "coo_array"
        is_triplet = isinstance(arg1, tuple) and len(arg1) == 2 and not construct.is_shape(arg1)
        if not is_triplet:
            made = csr_array(arg1, shape, dtype).tocoo()
            parts, found = made._parts(), made.shape
        else:
            parts, found = self._read(name, arg1, shape, dtype)
        if copy:
            parts = tuple(part.copy() for part in parts)
        self._set(parts[0], parts[1:], found)

    def _read(self, name, given, shape, dtype):
        places = given[1]
        if not isinstance(places, (tuple, list)) or len(places) != 2:
            raise TypeError(f"{name}: a tuple is (data, (row, col)) or a shape")
        with arguments.on_device_of(given[0], *places):
            data = construct.vector(name, "data", given[0], dtype)
            construct.value_dtype(name, data.dtype)
            row = construct.vector(name, "row", places[0])
            col = construct.vector(name, "col", places[1])
        if not data.size:
            row, col = row.astype(np.int32), col.astype(np.int32)
        if not data.size == row.size == col.size:
            raise ValueError(
                f"{name}: data has {data.size} elements, row has {row.size}, col has {col.size}"
            )
        kind = construct.index_dtype(row, col)
        row, col = row.astype(kind, copy=False), col.astype(kind, copy=False)
        ends = [int(np.max(one).item()) + 1 if one.size else 0 for one in (row, col)]
        found = tuple(ends) if shape is None else construct.shape_of(name, shape)
        for what, one, end, length in zip(("row", "col"), (row, col), ends, found):
            if end > length or (one.size and np.min(one).item() < 0):
                raise ValueError(f"{name}: {what} must be from 0 to {length - 1}")
        return (data, row, col), found

    def _set(self, data, places, shape):
        self.row, self.col = places
        self._is_sorted = False
        self._begin(data, shape)

    @classmethod
    def _made(cls, data, places, shape):
        made = cls.__new__(cls)
        made._set(data, places, shape)
        return made

    def _parts(self):
        return self.data, self.row, self.col

    def _with(self, data):
        return self._made(data, (self.row, self.col), self.shape)

    def transpose(self, copy: bool = False) -> coo_array:
        made = self._made(self.data, (self.col, self.row), self.shape[::-1])
        return made.copy() if copy else made

    def tocoo(self, copy: bool = False) -> coo_array:
        return self.copy() if copy else self

    def tocsr(self, copy: bool = False) -> csr_array:
        """By rows; elements that are stored twice are added up. It sorts: keep the result for several products."""
        return csr_array._made(products.compressed(self), self.shape, True)

    def tocsc(self, copy: bool = False) -> csc_array:
        return self.T.tocsr(copy).T

    def sum_duplicates(self) -> None:
        """Adds up what is stored twice, and sorts by rows."""
        if self._is_sorted:
            return
        made = self.tocsr().tocoo()
        self._set(made.data, (made.row, made.col), self.shape)
        self._is_sorted = True

    def _as_rows(self):
        return self.tocsr()


def spsolve_triangular(A: Any, b: Any, lower: bool = True, unit_diagonal: bool = False) -> Any:
    """x of A x = b for a triangular A; only its lower (or upper) triangle is read. b is a vector or a matrix.

    LinAlgError for a zero on the diagonal; to see it, it waits.
    """
    if not issparse(A):
        A = csr_array(A)
    return products.solve_triangular(A, arguments.array(b, "b"), lower, unit_diagonal)
