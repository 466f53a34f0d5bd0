"""Defines SparseArray, the base class of all formats; its methods call the functions of the other modules."""

from __future__ import annotations

import abc
import threading
from typing import TYPE_CHECKING

import numpy as np

from numbalite import _core
from numbalite.functions import arguments
from numbalite.sparse import (
    changes,
    construct,
    elementwise,
    indexing,
    kernels,
    products,
    reductions,
)
from numbalite.ufuncs import operands

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from numpy.typing import DTypeLike

    from numbalite.ndarray.arrays import DeviceNDArray


class SparseArray(construct.Sparse, abc.ABC):
    """The base class of sparse arrays in device memory."""

    __slots__ = ("_lock", "_plans", "_shape", "data")
    __array_priority__ = 200
    __hash__ = None  # type: ignore[assignment]

    data: DeviceNDArray
    """The values, one for each stored element."""

    def _initialize_data(self, data, shape):
        self.data = data
        self._shape = shape
        self._plans = {}
        self._lock = threading.Lock()

    @property
    def shape(self) -> tuple[int, ...]:
        return self._shape

    @property
    def ndim(self) -> int:
        return len(self._shape)

    @property
    def dtype(self) -> np.dtype:
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """The number of stored elements, including stored zeros."""
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

    def __bool__(self) -> bool:
        if self.shape != (1, 1):
            raise ValueError(
                "the truth value of a sparse array is ambiguous: use nnz or count_nonzero()"
            )
        return bool(self.count_nonzero())

    # ---- implemented by each format

    @abc.abstractmethod
    def sum_duplicates(self) -> None:
        """Sums duplicate elements and sorts the indices, unless the array is in canonical format."""

    @abc.abstractmethod
    def tocsr(self, copy: bool = False) -> Any:
        """Converts the array to a csr_array (stored by rows)."""

    @abc.abstractmethod
    def tocsc(self, copy: bool = False) -> Any:
        """Converts the array to a csc_array (stored by columns)."""

    @abc.abstractmethod
    def tocoo(self, copy: bool = False) -> Any:
        """Converts the array to a coo_array, with a row and a column for each element."""

    def todia(self, copy: bool = False) -> Any:
        """Returns the array as a dia_array (by diagonals). Waits. Issues a PerformanceWarning for more than
        100 diagonals, because their zeros are stored."""
        return self.formats["dia"](self)

    def _with_explicit_indices(self) -> Any:
        """Returns an array with explicit indices for each stored value: the array itself, except
        for a dia_array."""
        return self

    @abc.abstractmethod
    def _transposed_view(self) -> Any:
        """Returns the transposed array, which shares the memory of this array."""

    @abc.abstractmethod
    def copy(self) -> Any:
        """Returns a copy that shares no memory with the array."""

    @abc.abstractmethod
    def _with_data(self, data: Any) -> Any:
        """Returns an array with the same pattern of stored elements and other values."""

    @abc.abstractmethod
    def _component_arrays(self) -> tuple:
        """Returns the arrays that represent this array, as a tuple for SciPy's constructor."""

    @abc.abstractmethod
    def _replace_contents(self, other: Any) -> None:
        """Replaces the contents of the array, in place, by those of another array of this format."""

    @abc.abstractmethod
    def _grown_copy(self, shape: tuple[int, ...]) -> Any:
        """Returns the same elements in a larger shape: each length is at least the old length."""

    @abc.abstractmethod
    def _filter_elements(self, mask: Any) -> Any:
        """Returns an array of the stored elements for which a mask is true. Waits."""

    # ---- values

    def map(self, function: Any) -> Any:
        """Returns an array with the same indices and the values function(data), where `function` is a ufunc or
        another function of device arrays.

        Elements that are not stored remain zero."""
        data = function(self.data)
        if not isinstance(data, _core.DeviceArray) or data.shape != self.data.shape:
            raise ValueError(
                f"map: the function must return a device array of shape {self.data.shape}"
            )
        construct.stored_dtype("map", data.dtype)
        return self._with_data(data)

    def astype(self, dtype: DTypeLike, casting: Any = "unsafe", copy: bool = True) -> Any:
        """Returns an array with values converted to another dtype. Raises TypeError if `casting` does not
        allow the conversion."""
        dtype = construct.stored_dtype("astype", dtype)
        if not copy and dtype == self.dtype:
            return self
        return self._with_data(self.data.astype(dtype, casting=casting))

    def conj(self) -> Any:
        """Returns the complex conjugates; a real array is returned unchanged."""
        return self if self.dtype.kind != "c" else self._with_data(np.conjugate(self.data))

    conjugate = conj

    @property
    def real(self) -> Any:
        return self._with_data(self.data.real.copy())

    @property
    def imag(self) -> Any:
        return self._with_data(self.data.imag.copy())

    def eliminate_zeros(self) -> None:
        """Removes stored zeros. Waits for their number."""
        self._replace_contents(self._filter_elements(np.not_equal(self.data, 0)))

    def nonzero(self) -> tuple[DeviceNDArray, ...]:
        """Returns the rows and columns of the nonzero elements, row by row. Waits for their
        number."""
        self.sum_duplicates()
        a = self.tocsr().tocoo() if self.format == "csc" else self.tocoo()
        return a._filter_elements(np.not_equal(a.data, 0)).coords

    def setdiag(self, values: Any, k: int = 0) -> None:
        """Sets the elements of the k-th diagonal to a number or to the elements of a vector.

        The vector may be shorter than the diagonal. Values are converted to the array's dtype.
        Waits. Raises ValueError for a diagonal outside the array, for values with more dimensions
        and for 1-dimensional arrays.

        >>> from numbalite.cuda import sparse
        >>> a = sparse.csr_array((2, 3))
        >>> a.setdiag([1.0, 2.0], k=1)
        >>> a.toarray().copy_to_host()
        array([[0., 1., 0.],
               [0., 0., 2.]])
        """
        changes.set_diagonal(self, values, k)

    def resize(self, *shape: int) -> None:
        """Changes the shape in place: elements outside of the new shape are dropped, new elements are zero.
        Waits.

        Raises ValueError for a different number of dimensions.
        """
        changes.resize(self, shape[0] if len(shape) == 1 else shape)

    def __getitem__(self, key: Any) -> Any:
        """Selects rows, columns and elements, as in SciPy: A[i], A[i, j], A[i:j], A[rows], A[:, columns],
        A[mask].

        Slices and lists of rows or columns return an array of the same format, A[i] and A[:, j] a 1-dimensional
        coo_array, A[i, j] a number, A[rows, columns] and A[mask] a dense device array. Selecting rows is fast in a
        csr_array, selecting columns in a csc_array. The result shares no memory with A. Waits. Raises IndexError for
        indices out of bounds.
        """
        return indexing.get_items(self, key)

    def __setitem__(self, key: Any, value: Any) -> None:
        raise TypeError(
            "elements of a sparse array cannot be assigned: change A.data, use setdiag, or create another array, "
            "from (data, (row, col)) or by A + B and A.multiply(B)"
        )

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.shape[0]))

    # ---- conversions

    @property
    def T(self) -> Any:
        return self._transposed_view()

    @property
    def mT(self) -> Any:
        """The transposed matrix."""
        if self.ndim != 2:
            raise ValueError("mT requires a sparse array of two dimensions")
        return self._transposed_view()

    def transpose(self, axes: Any = None, copy: bool = False) -> Any:
        """Returns the transposed array, which shares memory with this array unless copy is true.

        A csr_array becomes a csc_array and vice versa. A 1-dimensional array is returned unchanged."""
        made = self._transposed_view() if construct.is_transposition(axes, self.ndim) else self
        return made.copy() if copy else made

    def asformat(self, format: str | None, copy: bool = False) -> Any:
        """Returns the array in the format "csr", "csc", "coo" or "dia"; None keeps the format."""
        name = self.format if format is None else format
        if name not in self.formats:
            raise ValueError(f"asformat: format {format!r} is unknown: use csr, csc, coo or dia")
        return getattr(self, f"to{name}")(copy)

    def reshape(self, *shape: Any, order: str = "C", copy: bool = False) -> Any:
        """Returns a coo_array with another shape of one or two dimensions; one length may be -1.

        Raises ValueError if the number of elements differs.
        """
        made = self.tocoo()._reshape_coo(shape[0] if len(shape) == 1 else shape, order)
        return made.copy() if copy else made

    def toarray(self, order: str | None = None, out: DeviceNDArray | None = None) -> DeviceNDArray:
        """Returns the array as a dense device array; duplicate elements are summed. `order` is C or
        F; `out` must have the shape and the dtype of the result."""
        if out is None:
            dense = arguments.empty(self.shape, self.dtype, self.data, order or "C")
        elif not hasattr(out, "__cuda_array_interface__"):
            raise TypeError(f"toarray: out must be a device array, not {type(out).__name__}")
        else:
            dense = operands.device_view(out)
            if (dense.shape, dense.dtype) != (self.shape, self.dtype):
                raise ValueError(
                    f"toarray: out must have shape {self.shape} and dtype {self.dtype}"
                )
        dense.fill(0)
        if self.nnz and self.shape[0]:
            with arguments.on_device_of(dense):
                elementwise.add_to_dense(self, dense)
        return dense if out is None else out

    todense = toarray

    def get(self) -> Any:
        """Copies the array to the host, as a SciPy array."""
        try:
            import scipy.sparse
        except ImportError:
            raise ImportError("get() returns an array of SciPy: pip install scipy") from None
        parts = tuple(part.copy_to_host() for part in self._component_arrays())
        given = (parts[0], parts[1:]) if self.format == "coo" else parts
        return getattr(scipy.sparse, f"{self.format}_array")(given, shape=self.shape)

    # ---- arithmetic

    def dot(self, other: Any, out: Any = None) -> Any:
        """Returns the matrix product with a vector, a dense or a sparse matrix; only a dense result can be written
        to `out`."""
        if np.ndim(other) == 0:
            return self.multiply(other)
        return products.matmul(self, other, out)

    def __matmul__(self, other: Any) -> Any:
        made = (
            products.multiply_by_plan(self, other) if isinstance(other, _core.DeviceArray) else None
        )
        return products.matmul(self, other, None) if made is None else made

    def __rmatmul__(self, other: Any) -> Any:
        return products.rmatmul(other, self, None)

    def multiply(self, other: Any) -> Any:
        """Returns the element-wise product with a number, a dense or a sparse array; shapes are
        broadcast.

        The result is sparse, in the same format; csr for a product of coo arrays. Raises ValueError
        if the shapes cannot be broadcast.
        """
        made = elementwise.multiply(self, other)
        if made is NotImplemented:
            raise TypeError(f"a {type(other).__name__} is neither a number nor an array")
        return made

    def __mul__(self, other: Any) -> Any:
        return elementwise.multiply(self, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        return elementwise.divide(self, other)

    def __imul__(self, other: Any) -> Any:
        return elementwise.scale_in_place(self, other, np.multiply)

    def __itruediv__(self, other: Any) -> Any:
        return elementwise.scale_in_place(self, other, np.true_divide)

    def __add__(self, other: Any) -> Any:
        return elementwise.add(self, other)

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return elementwise.subtract(self, other)

    def __rsub__(self, other: Any) -> Any:
        made = elementwise.subtract(self, other)
        return made if made is NotImplemented else -made

    def __neg__(self) -> Any:
        if self.dtype.kind == "b":
            raise NotImplementedError(
                "a sparse array of booleans has no negative: negate a.astype(int)"
            )
        return self._with_data(np.negative(self.data))

    def __abs__(self) -> Any:
        return elementwise.apply_to_stored(self, np.abs)

    def __round__(self, ndigits: int = 0) -> Any:
        return elementwise.apply_to_stored(self, lambda values: np.round(values, ndigits))

    def power(self, n: Any, dtype: DTypeLike | None = None) -> Any:
        """Returns the array with each element raised to the power n, a number; with `dtype`, the elements are
        converted first.

        Raises NotImplementedError for n = 0, whose result is dense.
        """
        return elementwise.power(self, n, dtype)

    def __pow__(self, n: Any) -> Any:
        return elementwise.power(self, n, None)

    def maximum(self, other: Any) -> Any:
        """Returns the element-wise maximum with a number or a sparse array; with a dense array, the
        result is dense.

        With a number above 0, all elements are stored, and a PerformanceWarning is issued.
        """
        return elementwise.apply_extreme(self, other, np.maximum)

    def minimum(self, other: Any) -> Any:
        """Returns the element-wise minimum; see `maximum`."""
        return elementwise.apply_extreme(self, other, np.minimum)

    def __eq__(self, other: Any) -> Any:
        return elementwise.compare(self, other, np.equal)

    def __ne__(self, other: Any) -> Any:
        return elementwise.compare(self, other, np.not_equal)

    def __lt__(self, other: Any) -> Any:
        return elementwise.compare(self, other, np.less)

    def __le__(self, other: Any) -> Any:
        return elementwise.compare(self, other, np.less_equal)

    def __gt__(self, other: Any) -> Any:
        return elementwise.compare(self, other, np.greater)

    def __ge__(self, other: Any) -> Any:
        return elementwise.compare(self, other, np.greater_equal)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **keywords: Any) -> Any:
        """Applies a ufunc of one sparse array and numbers to the stored values, if its result for 0 is 0."""
        return elementwise.apply_ufunc(self, ufunc, method, inputs, keywords)

    # ---- reductions

    def sum(self, axis: Any = None, dtype: DTypeLike | None = None, out: Any = None) -> Any:
        """Returns the sum of all elements, of each column (axis 0) or of each row (axis 1), as a
        dense device array.

        The default `dtype` is NumPy's: integers and booleans are summed in 64 bits. Raises
        ValueError for an invalid axis.

        >>> from numbalite.cuda import sparse
        >>> sparse.csr_array(np.eye(2)).sum(axis=0).copy_to_host()
        array([1., 1.])
        """
        return reductions.sum_axis(self, axis, dtype, out)

    def mean(self, axis: Any = None, dtype: DTypeLike | None = None, out: Any = None) -> Any:
        """Returns the mean of all elements, of each column (axis 0) or of each row (axis 1), as a
        dense device array; float64 for integers."""
        return reductions.mean(self, axis, dtype, out)

    def max(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Returns the largest element, as a 0-dimensional device array, or of each column (axis 0)
        or row (axis 1), as a 1-dimensional coo_array. NaN counts as the largest.

        Elements that are not stored count as 0, unless `explicit` is true. Raises ValueError for an array without
        elements, and if `out` is passed.
        """
        return reductions.reduce_extreme(self, np.maximum, axis, out, explicit)

    def min(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Returns the smallest element; see `max`."""
        return reductions.reduce_extreme(self, np.minimum, axis, out, explicit)

    def nanmax(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Returns the largest element that is not NaN; see `max`."""
        return reductions.reduce_extreme(self, np.fmax, axis, out, explicit)

    def nanmin(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Returns the smallest element that is not NaN; see `max`."""
        return reductions.reduce_extreme(self, np.fmin, axis, out, explicit)

    def argmax(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Returns the index of the first largest element, as numpy.argmax: an int64 device array,
        0-dimensional or with one index for each column (axis 0) or row (axis 1).

        Elements that are not stored count as 0, unless `explicit` is true; then the index is 0 for a row or column
        without stored elements. Raises ValueError for rows or columns of length 0, if `out` is passed, and (with
        `explicit`) for an array without stored elements.
        """
        return reductions.find_extreme(self, "argmax", axis, out, explicit)

    def argmin(self, axis: Any = None, out: Any = None, *, explicit: bool = False) -> Any:
        """Returns the index of the first smallest element; see `argmax`."""
        return reductions.find_extreme(self, "argmin", axis, out, explicit)

    def count_nonzero(self, axis: Any = None) -> Any:
        """Returns the number of nonzero elements of the array, of each column (axis 0) or of each
        row (axis 1)."""
        self.sum_duplicates()
        return reductions.sum_axis(
            self._with_data(np.not_equal(self.data, 0)), axis, np.int64, None
        )

    def trace(self, offset: int = 0) -> Any:
        """Returns the sum of a diagonal."""
        return self.diagonal(offset).sum()

    def diagonal(self, k: int = 0) -> DeviceNDArray:
        """Returns the k-th diagonal, as a dense device array. Raises ValueError for a 1-dimensional
        array."""
        if self.ndim != 2:
            raise ValueError("diagonal requires a sparse array of two dimensions")
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


def _ufunc_method(name: str) -> Callable[[Any], Any]:
    ufunc = getattr(np, name)

    def call_ufunc(self):
        return elementwise.apply_to_stored(self, ufunc)

    call_ufunc.__name__, call_ufunc.__doc__ = name, f"numpy.{name} of each element."
    return call_ufunc


for _name in (
    "sin tan arcsin arctan sinh tanh arcsinh arctanh rint sign expm1 log1p deg2rad rad2deg floor ceil "
    "trunc sqrt"
).split():  # fmt: skip
    setattr(SparseArray, _name, _ufunc_method(_name))
